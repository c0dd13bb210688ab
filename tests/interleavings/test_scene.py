"""A judge that never found anybody guilty proves nothing: each kind of wrong order is seen."""

import pytest
from scene import Gate, Once, Scene, Transaction
from stage import House, Stage
from words import enqueue, operator, owner, promote, sweep

from kit.lab import Lab, LabError
from language import LEASE

OPEN = Transaction()


@pytest.fixture
def lab(database):
    """One of its own: its functions are spoiled."""
    with Lab(database, "a", "b", "c") as lab:
        yield lab
        lab.reset()


@pytest.fixture
def house(lab):
    return House(lab.heart, lab.clock)


def spoil(lab: Lab, function: str, right: str, wrong: str) -> None:
    """Puts another text in the place of one that is there once."""
    (text,) = lab.heart.one("select pg_get_functiondef(%s::regproc)", [function])
    assert text.count(right) == 1, text
    lab.heart.conn.execute(text.replace(right, wrong).encode())


def over(stage: Stage) -> None:
    stage.claimed("j")
    stage.clock.move(LEASE)


def test_a_word_that_waits_for_a_row_is_seen(lab, house):
    spoil(lab, "hold_attempts", "for update skip locked", "for update")
    scene = Scene(lab, house, over)
    with pytest.raises((LabError, AssertionError), match="waits"):
        scene.play_all(a=(owner("extend"), OPEN), b=(owner("release"), OPEN))


def test_an_owner_that_is_refused_although_it_is_one_is_seen(lab, house):
    spoil(lab, "judge_words", "select 3::smallint from live", "select 0::smallint from live")
    scene = Scene(lab, house, over)
    with pytest.raises(AssertionError, match="no serial order gives these answers"):
        scene.play_all(a=(owner("extend"), OPEN), b=(owner("complete"), OPEN))


def test_a_sweep_that_ends_a_lease_before_it_is_over_is_seen(lab, house):
    """Serially it is as wrong as in any order: what always holds tells."""
    spoil(lab, "sweep", "l.state = 1 and l.until <= v_now", "l.state = 1")
    scene = Scene(lab, house, lambda stage: stage.claimed("j"))
    with pytest.raises(AssertionError, match="was lost while its lease ran"):
        scene.play_all(a=(owner("extend"), Once()), b=(sweep(), OPEN))


def test_a_successor_that_nobody_will_wake_is_seen(lab, house):
    spoil(lab, "end_keys", "where h.kind = 0 and (", "where false and (")
    scene = Scene(lab, house, lambda stage: stage.claimed("twin", dedupe_key="k"))
    with pytest.raises(AssertionError, match="waits, and nothing will wake it"):
        scene.play_all(
            a=(enqueue("next", dedupe_key="k", dedupe="requeue"), Once()),
            b=(promote(), Once()),
            c=(owner("complete", "twin"), Once()),
        )


def test_a_cancel_that_does_not_look_again_is_seen(lab, house):
    spoil(lab, "is_active", "exists (select from later l", "false and exists (select from later l")
    spoil(
        lab, "explain_unchanged", "when state in ('queued', 'running') then 'busy'", "when state = 'none' then 'busy'"
    )
    scene = Scene(lab, house, lambda stage: (stage.job("j", delay_seconds=10), stage.clock.move(10)))
    with pytest.raises(AssertionError, match="no serial order gives these answers"):
        scene.play_all(a=(operator("cancel"), OPEN), b=(promote(), OPEN))


def test_a_gate_that_nobody_passes_is_seen(lab, house):
    scene = Scene(lab, house, over)
    with pytest.raises(AssertionError, match="nobody ever stood at"):
        scene.play_all(a=(owner("complete"), Gate("waiting.insert.before")), b=(sweep(), Once()))
