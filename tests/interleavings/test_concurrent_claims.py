"""Claims beside pauses, switches, other claims, the sweep and the passes."""

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from scene import Gate, Once, Scene, Transaction
from stage import Stage
from words import Word, claim, effect, enqueue, expire, is_busy, owner, promote, sweep, united

from language import LEASE, Answer, Heart

OPEN = Transaction()
UNDONE = Transaction("rollback")
PICKED = Gate("live.update.before")
BEFORE = Gate("clock")


def one_ready(stage: Stage) -> None:
    stage.job("j")


def two_alike(stage: Stage) -> None:
    """Which of them a claim gets is not promised: they bear one name."""
    stage.job("j")
    stage.job("j")


def four_in_two_lanes(stage: Stage) -> None:
    for definition in ("echo", "mail"):
        for _ in range(2):
            stage.job("j", definition=definition)


def two_due(stage: Stage) -> None:
    stage.job("j", delay_seconds=10)
    stage.job("j", delay_seconds=10)
    stage.clock.move(10)


def two_over(stage: Stage) -> None:
    for _ in range(2):
        stage.claimed("j")
    stage.clock.move(LEASE)


SWITCHES: dict[str, tuple[Callable[[Heart, Stage], object], Callable[[Stage], object]]] = {
    "queue": (lambda heart, _: heart.pause_queue(), lambda stage: stage.heart.resume_queue()),
    "definition": (
        lambda heart, _: heart.pause_definition("echo"),
        lambda stage: stage.heart.resume_definition("echo"),
    ),
    "tenant": (lambda heart, stage: heart.pause_tenant(stage.tenant), lambda _: None),
    "lane": (lambda heart, stage: heart.pause_lane(stage.tenant, "echo"), lambda _: None),
    "suspended tenant": (lambda heart, stage: heart.suspend_tenant(stage.tenant), lambda _: None),
    "definition switched off": (
        lambda heart, _: heart.override("echo", is_enabled=False),
        lambda stage: stage.heart.override("echo", is_enabled=None),
    ),
}


@pytest.mark.parametrize("switch", SWITCHES)
def test_a_claim_and_a_switch(lab, house, switch):
    act, undo = SWITCHES[switch]
    scene = Scene(lab, house, one_ready, undo=undo)
    played = sum(
        scene.play_all(a=(claim(), cut), b=(effect(switch, act), other))
        for cut, other in product((OPEN, PICKED), (OPEN, UNDONE, Once()))
    )
    assert played == 30


def test_an_enqueue_and_the_suspension_of_its_tenant(lab, house):
    act, undo = SWITCHES["suspended tenant"]
    scene = Scene(lab, house, one_ready, undo=undo)
    played = sum(
        scene.play_all(a=(enqueue("new", priority=priority), cut), b=(effect("suspend", act), other))
        for priority in (None, 5)
        for cut, other in product((BEFORE, Gate("job.insert.before")), (OPEN, UNDONE, Once()))
    )
    assert played == 60


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("stage", [two_alike, four_in_two_lanes], ids=lambda stage: stage.__name__)
def test_two_claims(lab, house, stage, n):
    """No job is given twice, and none is left that somebody wanted and nobody held."""
    scene = Scene(lab, house, stage)
    cuts = (OPEN, UNDONE, PICKED)
    played = sum(scene.play_all(a=(claim(n), cut), b=(claim(n), other)) for cut, other in product(cuts, (OPEN, PICKED)))
    assert played == 36


def test_three_claims(lab, house):
    scene = Scene(lab, house, two_alike)
    assert scene.play_all(a=(claim(), OPEN), b=(claim(), UNDONE), c=(claim(), OPEN)) == 90


def test_a_claim_and_the_expiry_of_its_job(lab, house):
    def late(heart: Heart, stage: Stage) -> tuple[int, ...]:
        stage.clock.move(10)
        return (heart.expire(),)

    scene = Scene(lab, house, lambda stage: stage.job("j", expires_seconds=10))
    word = Word("expire", late, quiet=expire().quiet, combine=expire().combine)
    played = sum(
        scene.play_all(a=(claim(), cut), b=(word, other))
        for cut, other in product((OPEN, UNDONE, PICKED), (OPEN, Gate("live.delete.before")))
    )
    assert played == 36


PASSES = {
    "promote": (promote(), two_due, "later.delete.before"),
    "sweep": (sweep(), two_over, "live.delete.before"),
}


@pytest.mark.parametrize("name", PASSES)
def test_two_passes(lab, house, name):
    word, stage, point = PASSES[name]
    scene = Scene(lab, house, stage)
    played = sum(
        scene.play_all(a=(word, cut), b=(word, other))
        for cut, other in product((OPEN, UNDONE, Gate(point)), (OPEN, Gate(point)))
    )
    assert played == 36


def test_a_claim_and_the_pass_that_makes_its_job_ready(lab, house):
    scene = Scene(lab, house, two_due)
    played = sum(
        scene.play_all(a=(claim(2), OPEN), b=(promote(), cut)) for cut in (OPEN, UNDONE, Gate("live.insert.after"))
    )
    assert played == 18


def finish_and_claim() -> Word:
    """Reports the job that runs and takes the one that is ready."""

    def say(heart: Heart, stage: Stage) -> tuple[Any, list[str]]:
        running = stage.claims["j"]
        answers, claims = heart.finish_and_claim(
            stage.worker, [running], lanes=[(stage.tenant, running.def_id)], quotas=[1]
        )
        return answers[0], [str(claim.payload["name"]) for claim in claims]

    def combined(first: Any, again: Any) -> tuple[Any, list[str]]:
        return (again[0] if first[0] == Answer.BUSY else first[0]), united(first[1], again[1])

    return Word(
        "finish_and_claim",
        say,
        quiet=lambda answer: is_busy(answer) if not isinstance(answer, tuple) else answer[0] == Answer.BUSY,
        combine=combined,
    )


def running_and_ready(stage: Stage) -> None:
    stage.claimed("j")
    stage.clock.move(LEASE)
    stage.job("next")


@pytest.mark.parametrize("cut", [OPEN, Gate("live.delete.after")], ids=str)
def test_finish_and_claim_and_the_sweep_and_complete(lab, house, cut):
    scene = Scene(lab, house, running_and_ready)
    assert scene.play_all(a=(finish_and_claim(), cut), b=(sweep(), OPEN), c=(owner("complete"), OPEN)) == 90


PERMUTATIONS = 6 * 30 + 60 + 4 * 36 + 90 + 36 + 2 * 36 + 18 + 2 * 90
