"""A worker that arms the bell, looks once more and sleeps is rung by every verb that is said after it armed.

It is a hint: what was said before the worker armed and is committed after it looked is found by the next poll, and by
nothing else; the only order in which neither look nor bell tells of a job.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from stage import Stage

from kit.lab import Lab
from kit.orders import interleavings
from language import Heart

Say = Callable[[Heart, Stage], object]


def nothing(_: Stage) -> None:
    pass


def ready(stage: Stage) -> None:
    stage.job("j")


def paused(pause: Say) -> Callable[[Stage], None]:
    def set_stage(stage: Stage) -> None:
        ready(stage)
        pause(stage.heart, stage)

    return set_stage


def due(stage: Stage) -> None:
    stage.job("j", delay_seconds=10)
    stage.clock.move(10)


def parked(stage: Stage) -> None:
    stage.job("j", delay_seconds=1000)


def running(stage: Stage) -> None:
    stage.claimed("j")


def failed(stage: Stage) -> None:
    stage.heart.fail([stage.claimed("j")], permanent=[True])


def item(name: str) -> dict[str, Any]:
    return {"payload": {"name": name}}


RINGERS: dict[str, tuple[Callable[[Stage], None], Say]] = {
    "enqueue": (nothing, lambda heart, stage: heart.enqueue(stage.tenant, payload={"name": "j"})),
    "enqueue with options": (nothing, lambda heart, stage: heart.job(stage.tenant, dedupe_key="k")),
    "enqueue many": (nothing, lambda heart, stage: heart.enqueue_many(stage.tenant, [item("j"), item("k")])),
    "run again": (failed, lambda heart, stage: heart.run_again(stage.tenant, stage.jobs["j"])),
    "retry": (failed, lambda heart, stage: heart.retry_one(stage.tenant, stage.jobs["j"])),
    "run now": (parked, lambda heart, stage: heart.run_now_one(stage.tenant, stage.jobs["j"])),
    "promote": (due, lambda heart, _: heart.promote()),
    "release": (running, lambda heart, stage: heart.release_one(stage.claims["j"])),
    "fail, again at once": (running, lambda heart, stage: heart.fail([stage.claims["j"]], retry_in_seconds=[0])),
    "resume queue": (paused(lambda heart, _: heart.pause_queue()), lambda heart, _: heart.resume_queue()),
    "resume definition": (
        paused(lambda heart, _: heart.pause_definition()),
        lambda heart, _: heart.resume_definition(),
    ),
    "resume tenant": (
        paused(lambda heart, stage: heart.pause_tenant(stage.tenant)),
        lambda heart, stage: heart.resume_tenant(stage.tenant),
    ),
    "resume lane": (
        paused(lambda heart, stage: heart.pause_lane(stage.tenant)),
        lambda heart, stage: heart.resume_lane(stage.tenant),
    ),
    "unsuspend": (
        paused(lambda heart, stage: heart.suspend_tenant(stage.tenant)),
        lambda heart, stage: heart.unsuspend_tenant(stage.tenant),
    ),
    "switch on": (
        paused(lambda heart, _: heart.override("echo", is_enabled=False)),
        lambda heart, _: heart.override("echo", is_enabled=None),
    ),
}


class Sleeper:
    """The listening connection of a worker."""

    def __init__(self, lab: Lab, name: str) -> None:
        self.lab = lab
        self.name = name
        self.heard: list[str] = []
        self.message = ""
        self.conn = lab.heart_of(name).conn
        self.conn.add_notify_handler(self._hear)

    def _hear(self, notify: Any) -> None:
        self.heard.append(notify.payload)

    def arm(self) -> bool:
        ((armed, channel, self.message),) = self.lab(self.name, "select armed, channel, message from arm('default')")
        self.lab(self.name, f"listen {channel}")
        return armed

    def was_rung(self) -> bool:
        """What was sent before now has come by the answer of this."""
        self.lab(self.name, "select 1")
        return self.message in self.heard

    def wake(self) -> None:
        self.lab(self.name, "select disarm('default')")
        self.lab(self.name, "unlisten *")
        self.heard.clear()


@pytest.fixture
def sleeper(lab) -> Iterator[Sleeper]:
    sleeper = Sleeper(lab, "b")
    yield sleeper
    sleeper.conn.remove_notify_handler(sleeper._hear)


def tell(lab: Lab, stage: Stage, say: Say) -> None:
    lab.begin("a")
    lab("a", lambda heart: say(heart, stage))


@pytest.mark.parametrize(
    ("ringer", "end"),
    [*((ringer, "commit ") for ringer in RINGERS), ("enqueue", "rollback "), ("promote", "rollback ")],
)
def test_no_hint_is_lost(lab, house, sleeper, ringer, end):
    set_stage, say = RINGERS[ringer]
    for order in interleavings(a=["say", "end"], b=["arm", "look"]):
        stage = house.stage()
        set_stage(stage)
        found = False
        steps = [step for _, step in order]
        for step in steps:
            match step:
                case "say":
                    tell(lab, stage, say)
                case "end":
                    lab("a", end)
                case "arm":
                    assert sleeper.arm()
                case _:
                    found = bool(stage.heart.claim(stage.worker))
        is_done = end == "commit "
        assert found == (is_done and steps.index("end") < steps.index("look")), steps
        assert sleeper.was_rung() == (is_done and steps.index("arm") < steps.index("say")), steps
        sleeper.wake()
        lab.heart.resume_queue()
        lab.heart.resume_definition()
        lab.heart.override("echo", is_enabled=None)
        lab.verify()
        stage.strike()


def test_nobody_is_rung_who_does_not_sleep(lab, house, sleeper):
    stage = house.stage()
    assert sleeper.arm()
    lab("b", "select disarm('default')")
    stage.job("j")
    assert not sleeper.was_rung()
    sleeper.wake()
    stage.strike()


def test_a_stranger_at_the_bell_costs_a_notification_and_holds_up_nobody(lab, house, sleeper):
    stage = house.stage()
    key = "'live'::regclass::oid::bigint::bit(32)::integer, %s"
    lab("c", f"select pg_advisory_lock({key})", [lab.heart.queue_id()])
    assert not sleeper.arm()
    stage.job("j")
    assert sleeper.was_rung()
    lab("c", f"select pg_advisory_unlock({key})", [lab.heart.queue_id()])
    sleeper.wake()
    stage.strike()


PERMUTATIONS = 17 * 6
