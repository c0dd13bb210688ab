"""The transition table. What is particular to a verb is in `particulars`; refusals and repeats follow by rules.

`changes` names what a verb writes, exactly: `live+` a row inserted, `live-` a row deleted, `live.until` a column that
gets another value in a row that stays. What is not named does not change.
"""

from collections.abc import Iterator

from laneway.states.particulars import (
    BEGINS,
    LATER,
    LIVE,
    NEW,
    NEW_KEYED,
    PARTICULARS,
    REPLACED_NEW,
    REPLACED_SUCCESSOR,
    RUNNING,
    SUCCESSOR,
    Transition,
)
from laneway.states.words import Answer, Caller, Kind, Situation, Verb

__all__ = ["callers_of", "transition", "transitions"]

OF_TENANTS = (Caller.RIGHT, Caller.REPEATING, Caller.OTHER_TENANT, Caller.NO_RIGHT, Caller.BESIDE)
CALLERS = {
    Kind.ENQUEUE: OF_TENANTS,
    Kind.CLAIM: (Caller.RIGHT, Caller.REPEATING, Caller.OTHER_INSTANCE, Caller.NO_RIGHT, Caller.BESIDE),
    Kind.OWNER: tuple(Caller),
    Kind.UPKEEP: (Caller.RIGHT, Caller.REPEATING, Caller.NO_RIGHT, Caller.BESIDE),
    Kind.OPERATOR: OF_TENANTS,
    Kind.SUPER_ADMIN: OF_TENANTS,
}


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
            return Transition(Answer.FORBIDDEN, situation)
        case Caller.SUPERSEDED | Caller.OTHER_INSTANCE | Caller.OTHER_TENANT:
            return foreign(situation, verb, caller)


def right(situation: Situation, verb: Verb) -> Transition:
    """The verb said once by whom it is for."""
    found = PARTICULARS[verb].get(situation)
    if found is not None:
        return found
    match verb.kind:
        case Kind.ENQUEUE:
            return made_anew(situation, verb)
        case Kind.OWNER:
            return stale(situation, verb)
        case Kind.CLAIM | Kind.UPKEEP | Kind.OPERATOR | Kind.SUPER_ADMIN:
            return Transition(Answer.NOTHING, situation)


def made_anew(situation: Situation, verb: Verb) -> Transition:
    """The key is free, or there is none: a new job, and the one there was stays as it is."""
    becomes = Situation.QUEUED if situation is Situation.ABSENT else situation
    return Transition(Answer.CREATED, becomes, NEW if verb is Verb.ENQUEUE else NEW_KEYED)


def stale(situation: Situation, verb: Verb) -> Transition:
    """Refused, and nothing changes; an extension shows that its worker lives all the same."""
    return Transition(Answer.STALE, situation, frozenset({"worker.seen_at"} if verb is Verb.EXTEND else ()))


def repeated(situation: Situation, verb: Verb) -> Transition:
    """The same word again, as after a cut: what was done is not done twice."""
    first = right(situation, verb)
    if verb.kind is Kind.ENQUEUE:
        return made_again(situation, verb)
    if first.answer is Answer.ACCEPTED:
        return Transition(Answer.DUPLICATE, first.becomes)
    if verb is Verb.FINISH_AND_CLAIM:
        return Transition(first.answer, first.becomes)
    again = right(first.becomes, verb)
    # what was set is as it was set
    return Transition(again.answer, again.becomes, frozenset(each for each in again.changes if "." not in each))


def made_again(situation: Situation, verb: Verb) -> Transition:
    """What the second of two equal enqueues meets is the job of the first."""
    first = right(situation, verb)
    match verb:
        case Verb.ENQUEUE:
            return first
        case Verb.ENQUEUE_ERROR:
            return Transition(Answer.DUPLICATE, first.becomes)
        case Verb.ENQUEUE_REPLACE if "waiting+" in first.changes:
            return Transition(Answer.CREATED, first.becomes, REPLACED_SUCCESSOR)
        case Verb.ENQUEUE_REPLACE if situation is Situation.FREED:
            # it stands behind the job of the first, and is older than the second
            changes = REPLACED_NEW | {"waiting-", "job_key-", "handover+"}
            return Transition(Answer.CREATED, Situation.CANCELED_UNSTARTED, changes)
        case Verb.ENQUEUE_REPLACE:
            becomes = Situation.CANCELED_UNSTARTED if situation is Situation.ABSENT else first.becomes
            return Transition(Answer.CREATED, becomes, REPLACED_NEW)
        case _:
            return Transition(Answer.EXISTING, first.becomes)


def foreign(situation: Situation, verb: Verb, caller: Caller) -> Transition:
    """Another attempt, another instance, another tenant: for them the job is not there, and its keys are not taken."""
    match verb.kind:
        case Kind.ENQUEUE:
            return Transition(Answer.CREATED, situation, made_anew(situation, verb).changes)
        case Kind.CLAIM:
            return Transition(Answer.UNREGISTERED, situation)
        case Kind.OWNER if verb is Verb.FINISH_AND_CLAIM and caller is not Caller.OTHER_TENANT:
            # the stale report does not stop the claim
            return right(situation, verb) if situation is Situation.QUEUED else stale(situation, verb)
        case Kind.OWNER | Kind.UPKEEP:
            return stale(situation, verb)
        case Kind.OPERATOR | Kind.SUPER_ADMIN:
            return Transition(Answer.UNKNOWN if verb is Verb.RUN_AGAIN else Answer.NOT_FOUND, situation)


def beside(situation: Situation, verb: Verb) -> Transition:
    """Another session holds the job's row (the row that carries its end, where it has ended). Nobody waits for it."""
    said = right(situation, verb)
    match verb.kind:
        case Kind.ENQUEUE:
            return made_beside(situation, verb)
        case Kind.CLAIM:
            return Transition(Answer.NOTHING, situation)
        case Kind.UPKEEP:
            # put back at the end of the line
            again = {"handover-", "handover+"} if "handover-" in said.changes else frozenset[str]()
            return Transition(Answer.NOTHING, situation, frozenset(again))
        case Kind.OWNER if situation in RUNNING:
            return Transition(Answer.BUSY, situation, stale(situation, verb).changes)
        case Kind.OWNER:
            return Transition(said.answer, situation, said.changes - BEGINS)
        case Kind.OPERATOR | Kind.SUPER_ADMIN:
            return operated_beside(situation, verb)


def operated_beside(situation: Situation, verb: Verb) -> Transition:
    said = right(situation, verb)
    if verb is Verb.RUN_AGAIN or said.answer in {Answer.NOT_FOUND, Answer.ACTIVE, Answer.RUNNING, Answer.ENDED}:
        return said
    return Transition(Answer.BUSY, situation)


def made_beside(situation: Situation, verb: Verb) -> Transition:
    """A twin that cannot be looked at may be running: the new job takes a place behind it."""
    if verb in {Verb.ENQUEUE_REPLACE, Verb.ENQUEUE_REQUEUE}:
        if situation is Situation.WAITING:
            return Transition(Answer.BUSY, situation)
        if situation in (*LIVE, *LATER):
            return Transition(Answer.CREATED, situation, SUCCESSOR)
    return right(situation, verb)
