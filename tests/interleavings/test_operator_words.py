"""What operators do to a job while its owner, the sweep or promote have it in hand."""

from itertools import product

import pytest
from scene import Gate, Scene, Transaction
from stage import Stage
from words import Word, enqueue, operator, owner, promote, sweep

from language import LEASE

OPEN = Transaction()
HELD = Gate("live.%.before")
CUTS = (OPEN, Gate("clock"), HELD)


def over(stage: Stage) -> None:
    stage.claimed("j")
    stage.clock.move(LEASE)


def running(stage: Stage) -> None:
    stage.claimed("j")


def due(stage: Stage) -> None:
    """Parked, and due by now: promote moves it from later to live."""
    stage.job("j", delay_seconds=10)
    stage.clock.move(10)


def failed(stage: Stage) -> None:
    """Ended, and its dedupe key is free."""
    stage.heart.fail([stage.claimed("j", dedupe_key="k")], permanent=[True])


def failed_in_its_window(stage: Stage) -> None:
    stage.heart.fail([stage.claimed("j", dedupe_key="k", dedupe_window_seconds=3600)], permanent=[True])


@pytest.mark.parametrize("cut", [OPEN, HELD], ids=str)
def test_cancel_and_complete_and_sweep(lab, house, cut):
    scene = Scene(lab, house, over)
    assert scene.play_all(a=(operator("cancel"), OPEN), b=(owner("complete"), cut), c=(sweep(), cut)) == 90


@pytest.mark.parametrize("verb", ["complete", "fail"])
@pytest.mark.parametrize("by", ["cancel", "force_cancel"])
def test_a_cancel_and_the_word_of_the_owner(lab, house, by, verb):
    scene = Scene(lab, house, running)
    played = sum(scene.play_all(a=(operator(by), cut), b=(owner(verb), other)) for cut, other in product(CUTS, CUTS))
    assert played == 54


FINDERS = {
    "cancel": operator("cancel"),
    "retry": operator("retry"),
    "reschedule": operator("reschedule", delay_seconds=100),
    "run_now": operator("run_now"),
}


@pytest.mark.parametrize("finder", FINDERS)
def test_a_job_that_promote_moves_between_tables_is_found(lab, house, finder):
    scene = Scene(lab, house, due)
    cuts = product((OPEN, Gate("clock")), (OPEN, Gate("later.delete.before"), Gate("live.insert.before")))
    played = sum(scene.play_all(a=(FINDERS[finder], cut), b=(promote(), other)) for cut, other in cuts)
    assert played == 36


@pytest.mark.parametrize("finder", ["cancel", "reschedule", "run_now"])
def test_a_job_that_an_operator_moves_is_found_by_promote(lab, house, finder):
    scene = Scene(lab, house, due)
    played = scene.play_all(a=(FINDERS[finder], Gate("later.%.before")), b=(promote(), OPEN))
    assert played == 6


@pytest.mark.parametrize("finder", FINDERS)
def test_a_job_that_fail_moves_between_tables_is_found(lab, house, finder):
    scene = Scene(lab, house, running)
    cuts = product((OPEN, Gate("clock")), (OPEN, Gate("live.delete.before"), Gate("later.insert.before")))
    played = sum(scene.play_all(a=(FINDERS[finder], cut), b=(owner("fail"), other)) for cut, other in cuts)
    assert played == 36


def test_a_job_that_moves_twice_is_found(lab, house):
    scene = Scene(lab, house, due)
    played = scene.play_all(a=(operator("cancel"), OPEN), b=(promote(), OPEN), c=(FINDERS["reschedule"], OPEN))
    assert played == 90


@pytest.mark.parametrize("ends", ["commit", "rollback"])
@pytest.mark.parametrize("stage", [failed, failed_in_its_window], ids=lambda stage: stage.__name__)
def test_a_retry_and_an_enqueue_of_its_twin(lab, house, stage, ends):
    scene = Scene(lab, house, stage)
    retry = operator("retry", pauses=True)
    twin = enqueue("twin", dedupe_key="k")
    played = sum(
        scene.play_all(a=(retry, cut), b=(twin, Transaction(ends)))
        for cut in (OPEN, Gate("clock"), Gate("live.insert.before"))
    )
    # an enqueue that waits for the retry's commit cannot end before it
    assert played == 16


def test_two_retries(lab, house):
    scene = Scene(lab, house, failed)
    cuts = (OPEN, Transaction("rollback"), Gate("live.insert.before"))
    played = sum(scene.play_all(a=(retry(), cut), b=(retry(), other)) for cut, other in product(cuts, cuts))
    assert played == 54


def retry() -> Word:
    return operator("retry", pauses=True)


PERMUTATIONS = 2 * 90 + 4 * 54 + 4 * 36 + 3 * 6 + 4 * 36 + 90 + 4 * 16 + 54
