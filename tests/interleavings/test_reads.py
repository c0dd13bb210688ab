"""A reader sees each job in exactly one state, whoever moves it, and one that some serial order gives."""

import pytest
from scene import Gate, Once, Scene, Transaction
from stage import Stage
from words import Word, claim, operator, owner, promote, sweep

from language import LEASE, Heart

OPEN = Transaction()
STATES = ("queued", "running", "succeeded", "failed", "dead_letter", "canceled")


def read() -> Word:
    """What the details, the list of all and the lists by state say; each is one statement."""

    def say(heart: Heart, stage: Stage) -> tuple[object, ...]:
        job = stage.jobs["j"]
        with heart.transaction():
            heart.rows("select enter_tenant(%s, 'r', 'reader')", [stage.tenant])
            details = heart.rows("select state, attempt from get_job(%s, %s)", [stage.tenant, job])
            listed = heart.rows("select state from list_jobs(%s) where job_id = %s", [stage.tenant, job])
            by_state = heart.rows(
                "select s, l.state from unnest(%s::text[]) s cross join lateral list_jobs(%s, p_state => s) l"
                " where l.job_id = %s",
                [list(STATES), stage.tenant, job],
            )
            counted = heart.rows("select sum(jobs)::int from count_jobs(%s)", [stage.tenant])
        ((state, attempt),) = details
        assert state in STATES, state
        assert listed == [(state,)]
        assert by_state == [(state, state)]
        assert counted == [(1 if state in ("queued", "running") else None,)]
        return state, attempt

    return Word("read", say)


def ready(stage: Stage) -> None:
    stage.job("j")


def due(stage: Stage) -> None:
    stage.job("j", delay_seconds=10)
    stage.clock.move(10)


def running(stage: Stage) -> None:
    stage.claimed("j", max_attempts=1)


def over(stage: Stage) -> None:
    stage.claimed("j")
    stage.clock.move(LEASE)


def failed(stage: Stage) -> None:
    stage.heart.fail([stage.claimed("j")], permanent=[True])


def canceled(stage: Stage) -> None:
    stage.heart.cancel_one(stage.tenant, stage.job("j"))


def behind_a_twin(stage: Stage) -> None:
    claimed = stage.claimed("twin", dedupe_key="k")
    stage.job("j", dedupe_key="k", dedupe="requeue")
    stage.heart.complete_one(claimed)


MOVES = {
    "claim": (ready, claim(), "live.update.before"),
    "promote": (due, promote(), "live.insert.before"),
    "hand over": (behind_a_twin, promote(), "later.insert.before"),
    "complete": (running, owner("complete"), "attempt.insert.before"),
    "fail for good": (running, owner("fail"), "attempt.insert.before"),
    "fail": (over, owner("fail"), "later.insert.before"),
    "release": (running, owner("release"), "live.insert.before"),
    "sweep": (over, sweep(), "later.insert.before"),
    "cancel": (ready, operator("cancel"), "live.delete.after"),
    "cancel parked": (due, operator("cancel"), "later.delete.after"),
    "reschedule": (ready, operator("reschedule", delay_seconds=100), "later.insert.before"),
    "run now": (due, operator("run_now"), "live.insert.before"),
    "retry": (failed, operator("retry"), "live.insert.before"),
    "retry canceled": (canceled, operator("retry"), "attempt.delete.after"),
}


@pytest.mark.parametrize("move", MOVES)
def test_a_job_is_never_nowhere(lab, house, move):
    stage, word, point = MOVES[move]
    scene = Scene(lab, house, stage)
    old = Transaction(isolation="repeatable read", early=True)
    pairs = ((OPEN, Once()), (Gate(point), Once()), (OPEN, old))
    played = sum(scene.play_all(a=(word, cut), b=(read(), reader)) for cut, reader in pairs)
    assert played == 16


PERMUTATIONS = 14 * 16
