"""What the right caller of each verb is answered, and what changes: the part of the table that no rule gives.

A situation that a verb does not name here is one that it has nothing to do with: see `table.right`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from laneway.states.words import Answer, Situation, Verb

__all__ = [
    "BEGINS",
    "LATER",
    "LIVE",
    "NEW",
    "NEW_KEYED",
    "PARTICULARS",
    "REPLACED_NEW",
    "REPLACED_SUCCESSOR",
    "RUNNING",
    "SUCCESSOR",
    "Transition",
]


@dataclass(frozen=True, slots=True)
class Transition:
    """One cell: what the verb answers about the job, what the job becomes, what changes."""

    answer: Answer
    becomes: Situation
    changes: frozenset[str] = frozenset()


Rows = Mapping[Situation, Transition]

S = Situation
A = Answer
LIVE = (S.QUEUED, S.PAUSED, S.EXPIRED)
LATER = (S.SCHEDULED, S.DUE, S.RETRYING, S.SWEPT)
BEHIND = (S.WAITING, S.FREED)
RUNNING = (S.RUNNING, S.CANCEL_REQUESTED, S.LEASE_OVER, S.DEADLINE_OVER)
REVIVABLE = (S.FAILED, S.DEAD_LETTER, S.CANCELED, S.FORCED, S.CANCELED_UNSTARTED)
ENDED = (S.SUCCEEDED, *REVIVABLE)
# the dedupe key is taken: by the job itself, or by the twin that it waits for
KEY_TAKEN = (*LIVE, *LATER, *RUNNING, S.WAITING)

NEW = frozenset({"job+", "live+"})
NEW_KEYED = NEW | {"job_key+"}
REPLACED = frozenset({"job+", "attempt+", "job_key.job_id"})
REPLACED_NEW = REPLACED | {"live+", "live-"}
REPLACED_SUCCESSOR = REPLACED | {"waiting+", "waiting-", "handover+"}
SUCCESSOR = frozenset({"job+", "waiting+", "job_key+", "handover+"})
BEGINS = frozenset(
    {"live.state", "live.attempt", "live.worker_id", "live.started_at", "live.until", "live.deadline"},
)
GOES_ON = frozenset({"live-", "later+", "attempt+"})
ENDS = frozenset({"live-", "attempt+", "job_key-"})
HANDED_BACK = frozenset(
    {
        *("attempt+", "live.state", "live.worker_id", "live.started_at", "live.until", "live.deadline"),
        *("live.ready_at", "live.releases", "live.max_attempts"),
    }
)
AUDITED = frozenset({"audit+"})


def rows(
    situations: Iterable[Situation],
    answer: Answer,
    changes: frozenset[str] = frozenset(),
    *,
    to: Situation | None = None,
) -> dict[Situation, Transition]:
    """The same row for several situations; without `to` the job stays as it is."""
    return {each: Transition(answer, to or each, changes) for each in situations}


ENQUEUES: Mapping[Verb, Rows] = {
    Verb.ENQUEUE: {},
    Verb.ENQUEUE_SKIP: rows(KEY_TAKEN, A.EXISTING),
    Verb.ENQUEUE_ERROR: rows(KEY_TAKEN, A.DUPLICATE),
    Verb.ENQUEUE_REQUEUE: rows(KEY_TAKEN, A.EXISTING) | rows(RUNNING, A.CREATED, SUCCESSOR),
    Verb.ENQUEUE_REPLACE: (
        rows(LIVE, A.CREATED, REPLACED_NEW, to=S.CANCELED_UNSTARTED)
        | rows(LATER, A.CREATED, REPLACED | {"live+", "later-"}, to=S.CANCELED_UNSTARTED)
        | rows([S.WAITING], A.CREATED, REPLACED_SUCCESSOR, to=S.CANCELED_UNSTARTED)
        | rows(RUNNING, A.CREATED, SUCCESSOR)
    ),
    Verb.ENQUEUE_AGAIN: rows(set(Situation) - {S.ABSENT}, A.EXISTING),
}

CLAIMS: Mapping[Verb, Rows] = {Verb.CLAIM: rows([S.QUEUED], A.CLAIMED, BEGINS, to=S.RUNNING)}

# A cancel that was asked for wins over every word but success. What the owner had ended by the same word before is a
# duplicate; what a sweep or a forced cancel ended in its place is none, whatever the outcome.
OBEYS = rows([S.CANCEL_REQUESTED], A.ACCEPTED, ENDS, to=S.CANCELED)
FAILED_BEFORE = rows((S.RETRYING, S.FAILED, S.DEAD_LETTER), A.DUPLICATE)
COMPLETED = rows(RUNNING, A.ACCEPTED, ENDS, to=S.SUCCEEDED) | rows([S.SUCCEEDED], A.DUPLICATE)
EXTENDED = frozenset({"live.until", "worker.seen_at"})
REPORTS: Mapping[Verb, Rows] = {
    Verb.EXTEND: (
        rows([S.RUNNING, S.LEASE_OVER], A.OK, EXTENDED, to=S.RUNNING)
        | rows([S.CANCEL_REQUESTED], A.CANCEL, EXTENDED)
        # never past the deadline and its grace
        | rows([S.DEADLINE_OVER], A.OK, frozenset({"worker.seen_at"}))
    ),
    Verb.COMPLETE: COMPLETED,
    Verb.FINISH_AND_CLAIM: COMPLETED | rows([S.QUEUED], A.STALE, BEGINS, to=S.RUNNING),
    Verb.FAIL: rows(RUNNING, A.ACCEPTED, GOES_ON, to=S.RETRYING) | OBEYS | FAILED_BEFORE,
    Verb.FAIL_PERMANENT: rows(RUNNING, A.ACCEPTED, ENDS, to=S.FAILED) | OBEYS | FAILED_BEFORE,
    Verb.SNOOZE: rows(RUNNING, A.ACCEPTED, GOES_ON, to=S.RETRYING) | OBEYS,
    Verb.CANCEL_ATTEMPT: rows(RUNNING, A.ACCEPTED, ENDS, to=S.CANCELED) | rows([S.CANCELED], A.DUPLICATE),
    Verb.RELEASE: rows(RUNNING, A.ACCEPTED, HANDED_BACK, to=S.QUEUED) | OBEYS,
}

PASSES: Mapping[Verb, Rows] = {
    Verb.SWEEP: rows([S.LEASE_OVER, S.DEADLINE_OVER], A.SWEPT, GOES_ON, to=S.SWEPT),
    Verb.PROMOTE: (
        rows([S.DUE], A.PROMOTED, frozenset({"later-", "live+"}), to=S.QUEUED)
        # due for the next pass
        | rows(
            [S.FREED],
            A.PROMOTED,
            frozenset({"waiting-", "later+", "job_key-", "job_key+", "handover-"}),
            to=S.DUE,
        )
    ),
    Verb.EXPIRE: rows([S.EXPIRED], A.EXPIRED, ENDS, to=S.FAILED),
}

CANCELED = (
    rows([S.ABSENT], A.NOT_FOUND)
    | rows(LIVE, A.CANCELED, ENDS | AUDITED, to=S.CANCELED_UNSTARTED)
    | rows(LATER, A.CANCELED, ENDS - {"live-"} | {"later-"} | AUDITED, to=S.CANCELED_UNSTARTED)
    | rows(BEHIND, A.CANCELED, ENDS - {"live-"} | {"waiting-"} | AUDITED, to=S.CANCELED_UNSTARTED)
    | rows(ENDED, A.ENDED)
)
UNMOVED = rows([S.ABSENT], A.NOT_FOUND) | rows(RUNNING, A.RUNNING) | rows(ENDED, A.ENDED)
# What people do: every situation is named, and each change is written down.
OPERATIONS: Mapping[Verb, Rows] = {
    Verb.CANCEL: (
        CANCELED
        | rows(RUNNING, A.REQUESTED, AUDITED | {"live.is_cancel_requested"}, to=S.CANCEL_REQUESTED)
        | rows([S.CANCEL_REQUESTED], A.REQUESTED)
    ),
    Verb.FORCE_CANCEL: CANCELED | rows(RUNNING, A.CANCELED, ENDS | AUDITED, to=S.FORCED),
    Verb.RETRY: (
        rows([S.ABSENT], A.NOT_FOUND)
        | rows((*LIVE, *LATER, *BEHIND, *RUNNING), A.ACTIVE)
        | rows([S.SUCCEEDED], A.SUCCEEDED)
        | rows(REVIVABLE, A.QUEUED, frozenset({"live+", "job_key+"}) | AUDITED, to=S.QUEUED)
        | rows([S.CANCELED_UNSTARTED], A.QUEUED, frozenset({"live+", "job_key+", "attempt-"}) | AUDITED, to=S.QUEUED)
    ),
    Verb.RUN_AGAIN: rows(Situation, A.CREATED, NEW | AUDITED) | rows([S.ABSENT], A.UNKNOWN),
    Verb.RESCHEDULE: (
        UNMOVED
        | rows(LIVE, A.QUEUED, frozenset({"live-", "later+"}) | AUDITED, to=S.SCHEDULED)
        | rows(LATER, A.QUEUED, frozenset({"later.due_at"}) | AUDITED, to=S.SCHEDULED)
        | rows(BEHIND, A.QUEUED, frozenset({"waiting.run_at"}) | AUDITED)
    ),
    Verb.RUN_NOW: (
        UNMOVED
        # what is ready keeps its place, and nothing was changed
        | rows(LIVE, A.QUEUED)
        | rows(LATER, A.QUEUED, frozenset({"later-", "live+"}) | AUDITED, to=S.QUEUED)
        | rows(BEHIND, A.QUEUED, frozenset({"waiting.run_at"}) | AUDITED)
    ),
}

PARTICULARS: Mapping[Verb, Rows] = ENQUEUES | CLAIMS | REPORTS | PASSES | OPERATIONS
