"""Every situation of the transition table, built by verbs alone, each in a database of its own.

A job that has started was lost once before: so there is an owner of an attempt before (`OLD`), the owner (`OWNER`) and
an instance that never had it (`OTHER`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

import psycopg

from kit.clock import Clock
from kit.database import Database
from laneway.states import Situation
from language import LEASE, Claim, Heart, Worker

KEY = "key"
IDEMPOTENCY = "call-1"
NEVER = UUID("00000000-0000-7000-8000-00000000dead")
# an attempt that nobody was given
NOBODYS_ATTEMPT = 7


@dataclass(slots=True)
class Stage:
    """A database in which one job is in one situation."""

    database: Database
    heart: Heart
    clock: Clock
    tenant: UUID
    rival: UUID
    def_id: int
    old: Worker
    owner: Worker
    other: Worker
    job: UUID = NEVER
    attempt: int = NOBODYS_ATTEMPT
    speaker: psycopg.Connection = field(init=False)
    holder: psycopg.Connection = field(init=False)

    def __post_init__(self) -> None:
        self.speaker = self.database.connect(autocommit=False)
        # whoever waits for a row breaks the promise that nobody does
        self.speaker.execute("set lock_timeout = '2s'")
        self.speaker.commit()
        self.holder = self.database.connect(autocommit=False)

    @property
    def is_absent(self) -> bool:
        return self.job == NEVER

    def put(self, **options: object) -> None:
        """The job: it holds a dedupe key and an idempotency key."""
        keys = {"dedupe_key": KEY, "idempotency_key": IDEMPOTENCY, "max_attempts": 3}
        self.job = self.heart.job(self.tenant, **(keys | options))

    def start(self, **options: object) -> Claim:
        """The job on its second attempt, two seconds old."""
        self.put(**options)
        self.heart.claim_one(self.old)
        self.clock.move(LEASE + 1)
        assert self.heart.sweep().swept == 1
        assert self.heart.run_now_one(self.tenant, self.job).answer == "queued"
        claim = self.heart.claim_one(self.owner)
        self.attempt = claim.attempt
        self.clock.move(2)
        return claim


def absent(stage: Stage) -> None:
    stage.clock.move(2)


def queued(stage: Stage) -> None:
    stage.put()


def paused(stage: Stage) -> None:
    stage.put()
    stage.heart.pause_queue()


def expired(stage: Stage) -> None:
    stage.put(expires_seconds=1)


def scheduled(stage: Stage) -> None:
    stage.put(delay_seconds=3600)


def due(stage: Stage) -> None:
    stage.put(delay_seconds=1)


def waiting(stage: Stage) -> None:
    behind_twin(stage)


def freed(stage: Stage) -> None:
    stage.heart.complete_one(behind_twin(stage))


def behind_twin(stage: Stage) -> Claim:
    stage.heart.job(stage.tenant, dedupe_key=KEY)
    twin = stage.heart.claim_one(stage.old)
    stage.put(dedupe="requeue")
    stage.heart.promote()
    return twin


def retrying(stage: Stage) -> None:
    stage.heart.fail_one(stage.start())


def running(stage: Stage) -> None:
    stage.start()


def cancel_requested(stage: Stage) -> None:
    stage.start()
    stage.heart.cancel_one(stage.tenant, stage.job)


def lease_over(stage: Stage) -> None:
    stage.start()
    stage.clock.move(LEASE)


def deadline_over(stage: Stage) -> None:
    stage.start(timeout_seconds=3)
    stage.clock.move(LEASE)


def swept(stage: Stage) -> None:
    deadline_over(stage)
    assert stage.heart.sweep().timed_out == 1


def forced(stage: Stage) -> None:
    stage.start()
    stage.heart.force_cancel_one(stage.tenant, stage.job)


def succeeded(stage: Stage) -> None:
    stage.heart.complete_one(stage.start())


def failed(stage: Stage) -> None:
    stage.heart.fail_one(stage.start(), permanent=True)


def dead_letter(stage: Stage) -> None:
    stage.heart.fail_one(stage.start(max_attempts=2))


def canceled(stage: Stage) -> None:
    stage.heart.cancel_attempt([stage.start()])


def canceled_unstarted(stage: Stage) -> None:
    stage.put()
    stage.heart.cancel_one(stage.tenant, stage.job)


BUILDERS: dict[Situation, Callable[[Stage], None]] = {
    Situation.ABSENT: absent,
    Situation.QUEUED: queued,
    Situation.PAUSED: paused,
    Situation.EXPIRED: expired,
    Situation.SCHEDULED: scheduled,
    Situation.DUE: due,
    Situation.RETRYING: retrying,
    Situation.SWEPT: swept,
    Situation.WAITING: waiting,
    Situation.FREED: freed,
    Situation.RUNNING: running,
    Situation.CANCEL_REQUESTED: cancel_requested,
    Situation.LEASE_OVER: lease_over,
    Situation.DEADLINE_OVER: deadline_over,
    Situation.SUCCEEDED: succeeded,
    Situation.FAILED: failed,
    Situation.DEAD_LETTER: dead_letter,
    Situation.CANCELED: canceled,
    Situation.FORCED: forced,
    Situation.CANCELED_UNSTARTED: canceled_unstarted,
}


def build(database: Database, situation: Situation) -> Stage:
    """The situation, two seconds after its last verb: so that a time that is set anew is seen to be."""
    heart = Heart(database)
    def_id = heart.define("echo", backoff_kind="fixed", backoff_base_seconds=3600, backoff_jitter=0)
    stage = Stage(
        database=database,
        heart=heart,
        clock=Clock(heart.conn),
        tenant=heart.tenant("acme"),
        rival=heart.tenant("rival"),
        def_id=def_id,
        old=heart.worker(),
        owner=heart.worker(),
        other=heart.worker(),
    )
    BUILDERS[situation](stage)
    stage.clock.move(2)
    return stage
