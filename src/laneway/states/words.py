"""The words of a job's life: states, outcomes, answers; situations, verbs and callers of the transition table."""

from enum import IntEnum, StrEnum

__all__ = ["Answer", "AttemptState", "Caller", "JobState", "Kind", "Outcome", "Situation", "Verb"]


class JobState(StrEnum):
    """Where a job is. `scheduled`, `retrying` and `waiting` are filters over `queued`."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    DEAD_LETTER = "dead_letter"
    CANCELED = "canceled"

    @property
    def is_terminal(self) -> bool:
        return self not in {JobState.QUEUED, JobState.RUNNING}


class Outcome(IntEnum):
    """How an attempt ended, by the number that the table `attempt` stores."""

    SUCCEEDED = 1
    FAILED = 2
    TIMEOUT = 3
    CANCELED = 4
    LOST = 5
    RELEASED = 6
    SNOOZED = 7


class AttemptState(StrEnum):
    """An attempt runs, or it has ended with an outcome."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMEOUT = "timeout"
    CANCELED = "canceled"
    LOST = "lost"
    RELEASED = "released"
    SNOOZED = "snoozed"

    @classmethod
    def of(cls, outcome: Outcome) -> "AttemptState":
        return cls[outcome.name]


class Answer(StrEnum):
    """What a verb says about one job. The two that are SQLSTATEs refuse the whole call."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    STALE = "stale"
    BUSY = "busy"
    REFUSED = "refused"
    OK = "ok"
    CANCEL = "cancel"
    CREATED = "created"
    EXISTING = "existing"
    UNKNOWN = "unknown"
    CLAIMED = "claimed"
    SWEPT = "swept"
    PROMOTED = "promoted"
    EXPIRED = "expired"
    NOTHING = "nothing"
    CANCELED = "canceled"
    REQUESTED = "requested"
    QUEUED = "queued"
    ACTIVE = "active"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    ENDED = "ended"
    CONFLICT = "conflict"
    NOT_FOUND = "not_found"
    FORBIDDEN = "42501"
    UNREGISTERED = "P0002"

    @property
    def is_raised(self) -> bool:
        """Whether it refuses the call, as an error with this SQLSTATE."""
        return self in {Answer.FORBIDDEN, Answer.UNREGISTERED}


class Situation(StrEnum):
    """A state with what else decides about a verb."""

    ABSENT = "absent"
    QUEUED = "queued"
    PAUSED = "paused"
    EXPIRED = "expired"
    SCHEDULED = "scheduled"
    DUE = "scheduled, now due"
    RETRYING = "retrying"
    SWEPT = "retrying, swept"
    WAITING = "waiting"
    FREED = "waiting, twin ended"
    RUNNING = "running"
    CANCEL_REQUESTED = "running, cancel requested"
    LEASE_OVER = "running, lease over"
    DEADLINE_OVER = "running, deadline over"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    DEAD_LETTER = "dead_letter"
    CANCELED = "canceled"
    FORCED = "canceled by force"
    CANCELED_UNSTARTED = "canceled while queued"

    @property
    def state(self) -> JobState | None:
        """The state that readers see; None where there is no job."""
        return STATES[self]


STATES = {
    Situation.ABSENT: None,
    Situation.QUEUED: JobState.QUEUED,
    Situation.PAUSED: JobState.QUEUED,
    Situation.EXPIRED: JobState.QUEUED,
    Situation.SCHEDULED: JobState.QUEUED,
    Situation.DUE: JobState.QUEUED,
    Situation.RETRYING: JobState.QUEUED,
    Situation.SWEPT: JobState.QUEUED,
    Situation.WAITING: JobState.QUEUED,
    Situation.FREED: JobState.QUEUED,
    Situation.RUNNING: JobState.RUNNING,
    Situation.CANCEL_REQUESTED: JobState.RUNNING,
    Situation.LEASE_OVER: JobState.RUNNING,
    Situation.DEADLINE_OVER: JobState.RUNNING,
    Situation.SUCCEEDED: JobState.SUCCEEDED,
    Situation.FAILED: JobState.FAILED,
    Situation.DEAD_LETTER: JobState.DEAD_LETTER,
    Situation.CANCELED: JobState.CANCELED,
    Situation.FORCED: JobState.CANCELED,
    Situation.CANCELED_UNSTARTED: JobState.CANCELED,
}


class Kind(StrEnum):
    """Who may say a verb: this decides which callers the table knows for it."""

    ENQUEUE = "enqueue"
    CLAIM = "claim"
    OWNER = "owner"
    UPKEEP = "upkeep"
    OPERATOR = "operator"
    SUPER_ADMIN = "super-admin"


class Verb(StrEnum):
    """What can be said about a job. The forms of one SQL function that decide differently are verbs of their own."""

    ENQUEUE = "enqueue"
    ENQUEUE_SKIP = "enqueue, dedupe skip"
    ENQUEUE_REPLACE = "enqueue, dedupe replace"
    ENQUEUE_REQUEUE = "enqueue, dedupe requeue"
    ENQUEUE_ERROR = "enqueue, dedupe error"
    ENQUEUE_AGAIN = "enqueue, same idempotency key"
    CLAIM = "claim"
    FINISH_AND_CLAIM = "finish_and_claim"
    EXTEND = "extend"
    COMPLETE = "complete"
    FAIL = "fail"
    FAIL_PERMANENT = "fail, permanent"
    SNOOZE = "snooze"
    CANCEL_ATTEMPT = "cancel_attempt"
    RELEASE = "release"
    SWEEP = "sweep"
    PROMOTE = "promote"
    EXPIRE = "expire"
    CANCEL = "cancel"
    RETRY = "retry"
    RUN_AGAIN = "run_again"
    RESCHEDULE = "reschedule"
    RUN_NOW = "run_now"
    FORCE_CANCEL = "force_cancel"

    @property
    def kind(self) -> Kind:
        return KINDS[self]

    @property
    def function(self) -> str:
        """The SQL function behind it."""
        return self.value.partition(",")[0]


KINDS = (
    {verb: Kind.ENQUEUE for verb in Verb if verb.function == "enqueue"}
    | {verb: Kind.OWNER for verb in Verb if verb.function in {"finish_and_claim", "extend", "complete", "fail"}}
    | dict.fromkeys((Verb.SNOOZE, Verb.CANCEL_ATTEMPT, Verb.RELEASE), Kind.OWNER)
    | dict.fromkeys((Verb.SWEEP, Verb.PROMOTE, Verb.EXPIRE), Kind.UPKEEP)
    | dict.fromkeys((Verb.CANCEL, Verb.RETRY, Verb.RUN_AGAIN, Verb.RESCHEDULE, Verb.RUN_NOW), Kind.OPERATOR)
    | {Verb.CLAIM: Kind.CLAIM, Verb.FORCE_CANCEL: Kind.SUPER_ADMIN}
)


class Caller(StrEnum):
    """Who says it, and under which circumstances."""

    RIGHT = "the right caller"
    REPEATING = "the right caller, again"
    SUPERSEDED = "the owner of an attempt before"
    OTHER_INSTANCE = "another worker instance"
    OTHER_TENANT = "another tenant"
    NO_RIGHT = "a role without the right"
    BESIDE = "the right caller, row held by another session"
