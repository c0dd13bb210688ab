"""A busy history: jobs in every state, reached by every verb, and what was done to tenants, queues and workers."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from kit.clock import Clock
from language import LEASE, Answer, Heart


@dataclass(frozen=True, slots=True)
class History:
    """Names for what was made, as parameters of statements."""

    ids: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.ids[name]


class Writer:
    """Makes the history, a job of each kind at a time."""

    def __init__(self, heart: Heart, clock: Clock) -> None:
        self.heart = heart
        self.clock = clock
        self.ids: dict[str, Any] = {}
        heart.define("echo", max_attempts=3)
        heart.define("mail", max_attempts=3, priority=50)
        heart.define("held", queue="held")
        self.acme = heart.tenant("acme")
        self.globex = heart.tenant("globex", weight=3)
        self.worker = heart.worker(slots=100)
        self.ids |= {"acme": self.acme, "globex": self.globex, "worker": self.worker.id}
        self.ids |= {key: heart.def_id(key) for key in ("echo", "mail")}

    def job(self, name: str, **options: Any) -> UUID:
        self.ids[name] = self.heart.job(self.acme, **options)
        return self.ids[name]

    def claimed(self, name: str, **options: Any) -> Any:
        self.job(name, **options)
        return self.claim(name)

    def claim(self, name: str) -> Any:
        (claim,) = self.worker.claim(1)
        assert claim.job_id == self.ids[name]
        return claim

    def ended(self) -> None:
        """Jobs that ended, each in another way."""
        assert self.worker.complete_one(self.claimed("done")) == Answer.ACCEPTED
        self.claimed("lost_then_done")
        self.clock.move(LEASE)
        assert self.heart.sweep().lost == 1
        self.clock.move(1)
        self.heart.promote()
        self.worker.complete_one(self.claim("lost_then_done"))
        self.worker.fail([self.claimed("failed")], permanent=[True])
        self.worker.fail_one(self.claimed("dead", max_attempts=1))
        self.worker.fail_one(self.claimed("retried", max_attempts=1))
        assert self.heart.retry_one(self.acme, self["retried"]).answer == "queued"
        self.worker.complete_one(self.claim("retried"))
        self.claimed("timed_out", timeout_seconds=10, max_attempts=1)
        self.clock.move(LEASE)
        assert self.heart.sweep().timed_out == 1
        self.job("expired", delay_seconds=60, expires_seconds=10)
        self.clock.move(10)
        assert self.heart.expire() == 1

    def canceled(self) -> None:
        """Jobs that were canceled, in every way, once retried after it."""
        self.job("canceled")
        self.heart.cancel_one(self.acme, self["canceled"], reason="not wanted")
        claim = self.claimed("canceled_at_work")
        self.heart.cancel_one(self.acme, claim.job_id)
        self.worker.cancel_attempt_one(claim)
        claim = self.claimed("canceled_at_failure")
        self.heart.cancel_one(self.acme, claim.job_id)
        self.worker.fail_one(claim)
        claim = self.claimed("forced")
        assert self.heart.force_cancel_one(self.acme, claim.job_id).answer == "canceled"
        self.job("canceled_and_retried")
        for _ in range(2):
            self.heart.cancel_one(self.acme, self["canceled_and_retried"])
            self.heart.retry_one(self.acme, self["canceled_and_retried"])
        self.worker.complete_one(self.claim("canceled_and_retried"))

    def keyed(self) -> None:
        """Twins: one after another, one behind another, one in place of another, a window that runs."""
        for name in ("first_twin", "second_twin"):
            self.worker.complete_one(self.claimed(name, dedupe_key="k4"))
            self.clock.move(1)
        self.worker.complete_one(self.claimed("windowed", dedupe_key="k5", dedupe_window_seconds=3600))
        self.job("replaced", dedupe_key="k6")
        self.job("replacing", dedupe_key="k6", dedupe="replace")
        self.worker.complete_one(self.claim("replacing"))
        self.claimed("twin_at_work", dedupe_key="k2")
        self.job("waiting", dedupe_key="k2", dedupe="requeue")
        assert self.heart.promote().handed_over == 1
        claim = self.claimed("twin_that_ended", dedupe_key="k3")
        self.job("to_be_woken", dedupe_key="k3", dedupe="requeue")
        self.worker.complete_one(claim)
        self.job("keyed", dedupe_key="k1", delay_seconds=3600)
        self.job("once", idempotency_key="i1", delay_seconds=3600)

    def put_back(self) -> None:
        """Attempts that cost nothing, more releases than are free, a failure before its next attempt."""
        self.job("worn", max_attempts=4)
        for _ in range(12):
            self.worker.release_one(self.claim("worn"))
        self.worker.snooze_one(self.claim("worn"), 3600)
        self.worker.fail_one(self.claimed("retrying"))
        self.job("parked", delay_seconds=3600)
        self.heart.reschedule_one(self.acme, self["parked"], delay_seconds=7200)

    def open(self) -> None:
        """What runs and what is ready, the last of all."""
        self.claimed("running", timeout_seconds=100)
        claim = self.claimed("asked", timeout_seconds=100)
        self.heart.cancel_one(self.acme, claim.job_id)
        self.job("ready")
        self.ids["rerun"] = self.heart.run_again(self.acme, self["done"]).job_id
        self.ids["foreign"] = self.heart.job(self.globex)

    def operated(self) -> None:
        """What was done to others than jobs."""
        self.heart.pause_queue("held")
        self.heart.pause_definition("held")
        self.heart.pause_tenant(self.globex)
        self.heart.suspend_tenant(self.globex)
        self.heart.set_weight(self.globex, 5)
        self.heart.pause_lane(self.acme, "held")
        self.heart.override("mail", priority=60)
        self.heart.rows("select map_login('someone', %s)", [self.globex])
        drained = self.heart.worker()
        self.heart.drain_worker(drained)
        self.ids["drained"] = drained.id

    def __getitem__(self, name: str) -> Any:
        return self.ids[name]


def write_history(heart: Heart, clock: Clock) -> History:
    writer = Writer(heart, clock)
    writer.ended()
    writer.canceled()
    writer.keyed()
    writer.put_back()
    writer.open()
    writer.operated()
    return History(writer.ids)
