"""Keys: who is first, who is behind whom, and the hand-over from a twin that ends to its successor."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from scene import Gate, Once, Scene, Transaction
from stage import Stage
from words import Word, claim, enqueue, expire, operator, owner, promote

from language import Heart

OPEN = Transaction()
LEVELS = ("read committed", "repeatable read", "serializable")
POLICIES = ("requeue", "replace")


def twin_at_work(stage: Stage) -> None:
    stage.claimed("twin", dedupe_key="k")


def twin_at_work_with_a_successor(stage: Stage) -> None:
    twin_at_work(stage)
    stage.job("first", dedupe_key="k", dedupe="requeue")


def twin_ready(stage: Stage) -> None:
    stage.job("twin", dedupe_key="k")


def twin_due(stage: Stage) -> None:
    stage.job("twin", dedupe_key="k", delay_seconds=10)
    stage.clock.move(10)


def twin_of_yesterday(stage: Stage) -> None:
    """It ended, and so did its window; the key is still there."""
    stage.heart.complete_one(stage.claimed("twin", dedupe_key="k", dedupe_window_seconds=10))
    stage.clock.move(10)


def nothing(_: Stage) -> None:
    pass


def handed_over(stage: Stage) -> None:
    """Two passes: what the first makes due, the second makes ready. Then nobody waits whose twin has ended."""
    for _ in range(2):
        stage.heart.promote()
    waiting = stage.heart.rows(
        "select w.job_id from waiting w where w.tenant_id = %s and not exists (select from job_key k"
        " where k.tenant_id = w.tenant_id and k.kind = 0 and k.key = 'k' and not k.is_ended)",
        [stage.tenant],
    )
    assert waiting == [], "a successor waits for nobody"


def is_behind_a_held_twin(answers: Mapping[str, Any], left: Sequence[tuple[Any, ...]], _: Any) -> bool:
    """A queued twin that somebody holds is taken for one that runs: the new job comes when it has ended."""
    new = next((row for row in left if row[0] == "next"), None)
    return answers["a"] == "created" and new is not None and new[3] in (["0 k f"], ["1 k f"])


def behind(policy: str, name: str = "next") -> Word:
    return enqueue(name, dedupe_key="k", dedupe=policy)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("stage", "level"),
    [*((twin_at_work, level) for level in LEVELS[:2]), (twin_at_work_with_a_successor, LEVELS[0])],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_no_hand_over_is_lost_beside_the_end_of_the_twin_and_promote(lab, house, stage, policy, level):
    scene = Scene(lab, house, stage, settle=handed_over)
    played = scene.play_all(
        a=(behind(policy), Transaction(isolation=level)), b=(owner("complete", "twin"), OPEN), c=(promote(), OPEN)
    )
    # an enqueue that waits for the end of the key, or for its successor in hand, cannot commit before it
    assert played in (75, 78)


@pytest.mark.parametrize("policy", POLICIES)
def test_no_hand_over_is_lost_where_the_twin_is_canceled(lab, house, policy):
    scene = Scene(lab, house, twin_due, settle=handed_over, allows=is_behind_a_held_twin)
    played = scene.play_all(a=(behind(policy), OPEN), b=(operator("cancel", "twin"), OPEN), c=(promote(), OPEN))
    assert played == 79


@pytest.mark.parametrize("end", ["live.delete.after", "handover.insert.before"])
def test_no_hand_over_is_lost_while_the_twin_gives_up_its_key(lab, house, end):
    """Between the end of the twin and that of its key; the pass stands with the successor in hand."""
    stage = twin_at_work_with_a_successor
    scene = Scene(lab, house, stage, settle=handed_over)
    played = scene.play_all(
        a=(behind("requeue"), OPEN),
        b=(owner("complete", "twin"), Gate(end)),
        c=(promote(), Gate("handover.delete.before")),
    )
    assert played == 90


@pytest.mark.parametrize("level", LEVELS[1:])
@pytest.mark.parametrize("policy", POLICIES)
def test_no_hand_over_is_lost_where_the_enqueue_has_an_old_snapshot(lab, house, policy, level):
    scene = Scene(lab, house, twin_at_work, settle=handed_over)
    old = Transaction(isolation=level, early=True)
    assert scene.play_all(a=(behind(policy), old), b=(owner("complete", "twin"), OPEN)) == 8


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("stage", [twin_ready, twin_due], ids=lambda stage: stage.__name__)
def test_a_twin_that_begins_or_becomes_due_meanwhile(lab, house, stage, policy):
    scene = Scene(lab, house, stage, settle=handed_over, allows=is_behind_a_held_twin)
    beside = claim() if stage is twin_ready else promote()
    held = Gate("live.update.before" if stage is twin_ready else "later.delete.before")
    # the key is taken, and the twin not yet looked at
    looked = Gate("clock")
    played = sum(
        scene.play_all(a=(behind(policy), cut), b=(beside, other))
        for cut, other in product((OPEN, looked), (OPEN, held, Gate("clock")))
    )
    assert played == 36


@pytest.mark.parametrize("policy", POLICIES)
def test_a_twin_that_is_changed_while_it_is_queued_does_not_begin_before_the_change_is_seen(lab, house, policy):
    """Whoever answers that the twin will do may rely on it: it is claimed after the commit, or the new job follows."""
    scene = Scene(lab, house, twin_ready, settle=handed_over)
    early = Transaction(isolation="repeatable read", early=True)
    assert scene.play_all(a=(behind(policy), early), b=(claim(), OPEN)) == 10


def test_a_successor_that_is_answered_does_not_begin_before_the_change_is_seen(lab, house):
    scene = Scene(lab, house, twin_at_work_with_a_successor, settle=handed_over)
    one = claim()

    def promote_and_claim(heart: Heart, stage: Stage) -> list[str]:
        heart.promote()
        heart.promote()
        return one.say(heart, stage)

    beside = replace(one, say=promote_and_claim, pauses=True)
    played = scene.play_all(a=(behind("requeue"), OPEN), b=(owner("complete", "twin"), Once()), c=(beside, Once()))
    assert played == 12


@pytest.mark.parametrize("policy", ["skip", "requeue", "replace", "error"])
@pytest.mark.parametrize("stage", [nothing, twin_of_yesterday], ids=lambda stage: stage.__name__)
def test_two_enqueues_of_one_dedupe_key(lab, house, stage, policy):
    scene = Scene(lab, house, stage, settle=handed_over)
    first, second = behind(policy, "one"), behind(policy, "two")
    for ends, level in product(("commit", "rollback"), LEVELS):
        played = scene.play_all(a=(first, Transaction(ends, level)), b=(second, Transaction(isolation=level)))
        # whoever comes second waits for the first, so that only four of six orders can happen
        assert played == 4


def test_two_enqueues_of_one_idempotency_key(lab, house):
    scene = Scene(lab, house, nothing)
    first, second = (enqueue(name, idempotency_key="i") for name in ("one", "two"))
    for ends, level in product(("commit", "rollback"), LEVELS):
        played = scene.play_all(a=(first, Transaction(ends, level)), b=(second, Transaction(isolation=level)))
        assert played == 4


def test_three_enqueues_of_one_key(lab, house):
    scene = Scene(lab, house, nothing)
    # one after another, or two that wait for the first: which of them is next is not ours to say
    assert scene.play_all(**{name: (behind("skip", name), OPEN) for name in ("a", "b", "c")}) == 48


def test_an_enqueue_that_takes_a_key_over_and_the_pass_that_forgets_it(lab, house):
    scene = Scene(lab, house, twin_of_yesterday)
    played = sum(
        scene.play_all(a=(behind("skip"), OPEN), b=(expire(), cut)) for cut in (OPEN, Gate("job_key.delete.before"))
    )
    assert played == 10


PERMUTATIONS = 6 * 75 + 2 * 79 + 2 * 90 + 4 * 8 + 4 * 36 + 2 * 10 + 12 + 9 * 6 * 4 + 48 + 10
