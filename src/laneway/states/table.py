"""The transition table. What is particular to a verb is written down; refusals and repeats follow by rules.

`changes` names what a verb writes, exactly: `live+` a row inserted, `live-` a row deleted, `live.until` a column that
gets another value in a row that stays. What is not named does not change.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from laneway.states.words import Answer, Caller, Kind, Situation, Verb

__all__ = ["Transition", "callers_of", "transition", "transitions"]


@dataclass(frozen=True, slots=True)
class Transition:
    """One cell: what the verb answers about the job, what the job becomes, what changes."""

    answer: Answer
    becomes: Situation
    changes: frozenset[str] = frozenset()


CALLERS = {
    Kind.ENQUEUE: (Caller.RIGHT, Caller.REPEATING, Caller.OTHER_TENANT, Caller.NO_RIGHT, Caller.BESIDE),
    Kind.CLAIM: (Caller.RIGHT, Caller.REPEATING, Caller.OTHER_INSTANCE, Caller.NO_RIGHT, Caller.BESIDE),
    Kind.OWNER: tuple(Caller),
    Kind.PASS: (Caller.RIGHT, Caller.REPEATING, Caller.NO_RIGHT, Caller.BESIDE),
    Kind.OPERATOR: (Caller.RIGHT, Caller.REPEATING, Caller.OTHER_TENANT, Caller.NO_RIGHT, Caller.BESIDE),
    Kind.SUPER_ADMIN: (Caller.RIGHT, Caller.REPEATING, Caller.OTHER_TENANT, Caller.NO_RIGHT, Caller.BESIDE),
}

S = Situation
A = Answer
LIVE = (S.QUEUED, S.PAUSED, S.EXPIRED)
LATER = (S.SCHEDULED, S.DUE, S.RETRYING)
BEHIND = (S.WAITING, S.FREED)
QUEUED = (*LIVE, *LATER, *BEHIND)
RUNNING = (S.RUNNING, S.CANCEL_REQUESTED, S.LEASE_OVER, S.DEADLINE_OVER)
REVIVABLE = (S.FAILED, S.DEAD_LETTER, S.CANCELED, S.CANCELED_UNSTARTED)
ENDED = (S.SUCCEEDED, *REVIVABLE)
# who answers to the dedupe key of a job in this situation: that job itself, its running twin, nobody
HOLDING = (*LIVE, *LATER, *RUNNING)

NEW = "job+ live+"
NEW_KEYED = "job+ live+ job_key+"
SUCCESSOR = "job+ waiting+ job_key+ handover+"
ATTEMPT_BEGINS = "live.state live.attempt live.worker_id live.started_at live.until live.deadline"
ATTEMPT_ENDS = "live- attempt+"
ENDS_FOR_GOOD = "live- attempt+ job_key-"
HANDED_BACK = (
    "attempt+ live.state live.worker_id live.started_at live.until live.deadline live.ready_at live.releases"
    " live.max_attempts"
)


def callers_of(verb: Verb) -> tuple[Caller, ...]:
    """The callers between whom a verb can tell."""
    return CALLERS[verb.kind]


def transitions() -> Iterator[tuple[Situation, Verb, Caller, Transition]]:
    """Every cell."""
    for verb in Verb:
        for caller in callers_of(verb):
            for situation in Situation:
                yield situation, verb, caller, transition(situation, verb, caller)


def transition(situation: Situation, verb: Verb, caller: Caller) -> Transition:
    """One cell."""
    match caller:
        case Caller.RIGHT:
            return right(situation, verb)
        case Caller.REPEATING:
            return repeated(situation, verb)
        case Caller.BESIDE:
            return beside(situation, verb)
        case Caller.NO_RIGHT:
            return Transition(A.FORBIDDEN, situation)
        case Caller.SUPERSEDED | Caller.OTHER_INSTANCE | Caller.OTHER_TENANT:
            return foreign(situation, verb, caller)


def right(situation: Situation, verb: Verb) -> Transition:
    """The verb said once by whom it is for."""
    match verb.kind:
        case Kind.ENQUEUE:
            return enqueued(verb).get(situation) or enqueued_anew(situation, verb)
        case Kind.CLAIM:
            return claimed().get(situation) or Transition(A.NOTHING, situation)
        case Kind.OWNER:
            return reported(verb).get(situation) or stale(situation, verb)
        case Kind.PASS:
            return passed(verb).get(situation) or Transition(A.NOTHING, situation)
        case Kind.OPERATOR | Kind.SUPER_ADMIN:
            return operated(verb)[situation]


def rows(
    situations: Iterable[Situation], answer: Answer, changes: str = "", *, to: Situation | None = None
) -> dict[Situation, Transition]:
    """The same row for several situations; without `to` the job stays as it is."""
    return {each: Transition(answer, to or each, frozenset(changes.split())) for each in situations}


def enqueued_anew(situation: Situation, verb: Verb) -> Transition:
    """The key is free, or there is none: a new job, and the one there was stays as it is."""
    becomes = S.QUEUED if situation is S.ABSENT else situation
    return Transition(A.CREATED, becomes, frozenset((NEW if verb is Verb.ENQUEUE else NEW_KEYED).split()))


def enqueued(verb: Verb) -> Mapping[Situation, Transition]:
    """What a key that is taken makes of an enqueue."""
    met = (*HOLDING, S.WAITING)
    match verb:
        case Verb.ENQUEUE_SKIP:
            return rows(met, A.EXISTING)
        case Verb.ENQUEUE_ERROR:
            return rows(met, A.DUPLICATE)
        case Verb.ENQUEUE_REQUEUE:
            return rows(met, A.EXISTING) | rows(RUNNING, A.CREATED, SUCCESSOR)
        case Verb.ENQUEUE_REPLACE:
            return (
                rows(LIVE, A.CREATED, "job+ live+ live- attempt+ job_key.job_id", to=S.CANCELED_UNSTARTED)
                | rows(LATER, A.CREATED, "job+ live+ later- attempt+ job_key.job_id", to=S.CANCELED_UNSTARTED)
                | rows([S.WAITING], A.CREATED, REPLACED_SUCCESSOR, to=S.CANCELED_UNSTARTED)
                | rows(RUNNING, A.CREATED, SUCCESSOR)
            )
        case Verb.ENQUEUE_AGAIN:
            return rows(set(Situation) - {S.ABSENT}, A.EXISTING)
        case _:
            return {}


REPLACED_SUCCESSOR = "job+ waiting+ waiting- attempt+ job_key.job_id handover+"


def claimed() -> Mapping[Situation, Transition]:
    return rows([S.QUEUED], A.CLAIMED, ATTEMPT_BEGINS, to=S.RUNNING)


def reported(verb: Verb) -> Mapping[Situation, Transition]:
    """The words of the owner: what it had ended by the same word before is a duplicate, the rest is stale."""
    failed = (S.RETRYING, S.FAILED, S.DEAD_LETTER)
    canceled = rows([S.CANCEL_REQUESTED], A.ACCEPTED, ENDS_FOR_GOOD, to=S.CANCELED)
    match verb:
        case Verb.EXTEND:
            return (
                rows([S.RUNNING], A.OK, "live.until worker.seen_at")
                | rows([S.LEASE_OVER], A.OK, "live.until worker.seen_at", to=S.RUNNING)
                | rows([S.CANCEL_REQUESTED], A.CANCEL, "live.until worker.seen_at")
                # never past the deadline and its grace
                | rows([S.DEADLINE_OVER], A.OK, "worker.seen_at")
            )
        case Verb.COMPLETE:
            return rows(RUNNING, A.ACCEPTED, ENDS_FOR_GOOD, to=S.SUCCEEDED) | rows([S.SUCCEEDED], A.DUPLICATE)
        case Verb.FINISH_AND_CLAIM:
            # the stale report does not stop the claim
            return dict(reported(Verb.COMPLETE)) | rows([S.QUEUED], A.STALE, ATTEMPT_BEGINS, to=S.RUNNING)
        case Verb.FAIL:
            return (
                rows(RUNNING, A.ACCEPTED, "live- later+ attempt+", to=S.RETRYING) | canceled | rows(failed, A.DUPLICATE)
            )
        case Verb.FAIL_PERMANENT:
            return rows(RUNNING, A.ACCEPTED, ENDS_FOR_GOOD, to=S.FAILED) | canceled | rows(failed, A.DUPLICATE)
        case Verb.SNOOZE:
            return rows(RUNNING, A.ACCEPTED, "live- later+ attempt+", to=S.RETRYING) | canceled
        case Verb.CANCEL_ATTEMPT:
            return rows(RUNNING, A.ACCEPTED, ENDS_FOR_GOOD, to=S.CANCELED) | rows([S.CANCELED], A.DUPLICATE)
        case Verb.RELEASE:
            return rows(RUNNING, A.ACCEPTED, HANDED_BACK, to=S.QUEUED) | canceled
        case _:
            return {}


def passed(verb: Verb) -> Mapping[Situation, Transition]:
    """What the passes find to do."""
    match verb:
        case Verb.SWEEP:
            return rows([S.LEASE_OVER, S.DEADLINE_OVER], A.SWEPT, "live- later+ attempt+", to=S.RETRYING)
        case Verb.PROMOTE:
            return rows([S.DUE], A.PROMOTED, "later- live+", to=S.QUEUED) | rows(
                [S.FREED], A.PROMOTED, "waiting- live+ job_key- job_key+ handover-", to=S.QUEUED
            )
        case Verb.EXPIRE:
            return rows([S.EXPIRED], A.EXPIRED, ENDS_FOR_GOOD, to=S.FAILED)
        case _:
            return {}


def operated(verb: Verb) -> Mapping[Situation, Transition]:
    """The verbs of people: every situation is written, the audit row with each change."""
    match verb:
        case Verb.CANCEL | Verb.FORCE_CANCEL:
            return canceled_by(verb)
        case Verb.RETRY:
            return (
                rows([S.ABSENT], A.NOT_FOUND)
                | rows((*QUEUED, *RUNNING), A.ACTIVE)
                | rows([S.SUCCEEDED], A.SUCCEEDED)
                | rows(REVIVABLE, A.QUEUED, "live+ job_key+ audit+", to=S.QUEUED)
                | rows([S.CANCELED_UNSTARTED], A.QUEUED, "live+ job_key+ attempt- audit+", to=S.QUEUED)
            )
        case Verb.RUN_AGAIN:
            return rows(Situation, A.CREATED, "job+ live+ audit+") | rows([S.ABSENT], A.UNKNOWN)
        case Verb.RESCHEDULE:
            return moved() | (
                rows(LIVE, A.QUEUED, "live- later+ audit+", to=S.SCHEDULED)
                | rows(LATER, A.QUEUED, "later.due_at audit+", to=S.SCHEDULED)
                | rows(BEHIND, A.QUEUED, "waiting.run_at audit+")
            )
        case Verb.RUN_NOW:
            return moved() | (
                # what is ready keeps its place
                rows(LIVE, A.QUEUED, "audit+")
                | rows(LATER, A.QUEUED, "later- live+ audit+", to=S.QUEUED)
                | rows(BEHIND, A.QUEUED, "waiting.run_at audit+")
            )
        case _:
            return {}


def canceled_by(verb: Verb) -> Mapping[Situation, Transition]:
    running = (
        rows(RUNNING, A.CANCELED, f"{ENDS_FOR_GOOD} audit+", to=S.CANCELED)
        if verb is Verb.FORCE_CANCEL
        else rows(RUNNING, A.REQUESTED, "live.is_cancel_requested audit+", to=S.CANCEL_REQUESTED)
        | rows([S.CANCEL_REQUESTED], A.REQUESTED, "audit+")
    )
    return (
        rows([S.ABSENT], A.NOT_FOUND)
        | rows(LIVE, A.CANCELED, "live- attempt+ job_key- audit+", to=S.CANCELED_UNSTARTED)
        | rows(LATER, A.CANCELED, "later- attempt+ job_key- audit+", to=S.CANCELED_UNSTARTED)
        | rows(BEHIND, A.CANCELED, "waiting- attempt+ job_key- audit+", to=S.CANCELED_UNSTARTED)
        | running
        | rows(ENDED, A.ENDED)
    )


def moved() -> dict[Situation, Transition]:
    """What reschedule and run_now leave alone."""
    return rows([S.ABSENT], A.NOT_FOUND) | rows(RUNNING, A.RUNNING) | rows(ENDED, A.ENDED)


def stale(situation: Situation, verb: Verb) -> Transition:
    """Refused, and nothing changes; an extension shows that its worker lives all the same."""
    return Transition(A.STALE, situation, frozenset({"worker.seen_at"} if verb is Verb.EXTEND else ()))


def repeated(situation: Situation, verb: Verb) -> Transition:
    """The same word again, as after a cut: what was done is not done twice."""
    first = right(situation, verb)
    if verb.kind is Kind.ENQUEUE:
        return enqueued_again(first, verb)
    if first.answer is A.ACCEPTED:
        return Transition(A.DUPLICATE, first.becomes)
    if verb is Verb.FINISH_AND_CLAIM:
        return Transition(first.answer, first.becomes)
    again = right(first.becomes, verb)
    if verb is Verb.RUN_AGAIN:
        return again
    return Transition(again.answer, again.becomes, frozenset(each for each in again.changes if "." not in each))


def enqueued_again(first: Transition, verb: Verb) -> Transition:
    """What the second of two equal enqueues meets is the job of the first."""
    match verb:
        case Verb.ENQUEUE:
            return first
        case Verb.ENQUEUE_ERROR:
            return Transition(A.DUPLICATE, first.becomes)
        case Verb.ENQUEUE_REPLACE:
            behind = "waiting+" in first.changes
            changes = REPLACED_SUCCESSOR if behind else "job+ live+ live- attempt+ job_key.job_id"
            becomes = S.CANCELED_UNSTARTED if first.becomes is S.QUEUED else first.becomes
            return Transition(A.CREATED, becomes, frozenset(changes.split()))
        case _:
            return Transition(A.EXISTING, first.becomes)


def foreign(situation: Situation, verb: Verb, caller: Caller) -> Transition:
    """Another attempt, another instance, another tenant: for them the job is not there, and its keys are not taken."""
    match verb.kind:
        case Kind.ENQUEUE:
            return Transition(A.CREATED, situation, enqueued_anew(situation, verb).changes)
        case Kind.CLAIM:
            return Transition(A.UNREGISTERED, situation)
        case Kind.OWNER if verb is Verb.FINISH_AND_CLAIM and caller is not Caller.OTHER_TENANT:
            claims = claimed().get(situation)
            return Transition(A.STALE, claims.becomes, claims.changes) if claims else stale(situation, verb)
        case Kind.OWNER | Kind.PASS:
            return stale(situation, verb)
        case Kind.OPERATOR | Kind.SUPER_ADMIN:
            return Transition(A.UNKNOWN if verb is Verb.RUN_AGAIN else A.NOT_FOUND, situation)


def beside(situation: Situation, verb: Verb) -> Transition:
    """Another session holds the job's row (the row that carries its end, where it has ended). Nobody waits for it."""
    said = right(situation, verb)
    match verb.kind:
        case Kind.ENQUEUE:
            return enqueued_beside(situation, verb)
        case Kind.CLAIM | Kind.PASS:
            return Transition(A.NOTHING, situation)
        case Kind.OWNER:
            if situation in RUNNING:
                return Transition(A.BUSY, situation, stale(situation, verb).changes)
            return Transition(said.answer, situation, stale(situation, verb).changes & said.changes)
        case Kind.OPERATOR | Kind.SUPER_ADMIN:
            if verb is Verb.RETRY:
                return Transition(A.BUSY, situation) if situation in ENDED else said
            return said if verb is Verb.RUN_AGAIN or not said.changes else Transition(A.BUSY, situation)


def enqueued_beside(situation: Situation, verb: Verb) -> Transition:
    """A twin that cannot be looked at may be running: the new job takes a place behind it."""
    if verb is Verb.ENQUEUE_REPLACE and situation is S.WAITING:
        return Transition(A.BUSY, situation)
    if verb in {Verb.ENQUEUE_REPLACE, Verb.ENQUEUE_REQUEUE} and situation in (*LIVE, *LATER):
        return Transition(A.CREATED, situation, frozenset(SUCCESSOR.split()))
    return right(situation, verb)
