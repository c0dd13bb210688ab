"""A verb said by a caller, on the stage's speaking connection, under the database role whose right it is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
from situations import IDEMPOTENCY, KEY, Stage

from kit.speaker import typed
from laneway.states import Answer, Caller, Kind, Verb
from language import Heart

ROLES = {
    Kind.ENQUEUE: "laneway_app",
    Kind.CLAIM: "laneway_worker",
    Kind.OWNER: "laneway_worker",
    Kind.UPKEEP: "laneway_worker",
    Kind.OPERATOR: "laneway_app",
    Kind.SUPER_ADMIN: "laneway_admin",
}
# a role that may enqueue and operate reports nothing, and one that reports neither enqueues nor operates
WRONG_ROLES = {kind: "laneway_worker" if role != "laneway_worker" else "laneway_app" for kind, role in ROLES.items()}
UNREGISTERED = UUID("00000000-0000-4000-8000-00000000feed")

OWNER_ANSWERS = (Answer.STALE, Answer.ACCEPTED, Answer.DUPLICATE, Answer.BUSY, Answer.REFUSED)
EXTEND_ANSWERS = (Answer.STALE, Answer.OK, Answer.CANCEL, Answer.BUSY)
DEDUPE = {
    Verb.ENQUEUE: {},
    Verb.ENQUEUE_SKIP: {"dedupe_key": KEY, "dedupe": "skip"},
    Verb.ENQUEUE_REPLACE: {"dedupe_key": KEY, "dedupe": "replace"},
    Verb.ENQUEUE_REQUEUE: {"dedupe_key": KEY, "dedupe": "requeue"},
    Verb.ENQUEUE_ERROR: {"dedupe_key": KEY, "dedupe": "error"},
    Verb.ENQUEUE_AGAIN: {"idempotency_key": IDEMPOTENCY},
}


@dataclass(frozen=True, slots=True)
class Said:
    """The answer about the job, and the job it is about where an enqueue made it."""

    answer: Answer
    made: UUID | None = None


@dataclass(frozen=True, slots=True)
class Speech:
    """Who says what about which job."""

    stage: Stage
    verb: Verb
    caller: Caller

    @property
    def tenant(self) -> UUID:
        return self.stage.rival if self.caller is Caller.OTHER_TENANT else self.stage.tenant

    @property
    def attempt(self) -> int:
        return self.stage.attempt - (self.caller is Caller.SUPERSEDED)

    @property
    def worker(self) -> UUID:
        match self.caller:
            case Caller.SUPERSEDED:
                return self.stage.old.id
            case Caller.OTHER_INSTANCE:
                return UNREGISTERED if self.verb is Verb.CLAIM else self.stage.other.id
            case _:
                return self.stage.owner.id

    @property
    def role(self) -> str:
        return (WRONG_ROLES if self.caller is Caller.NO_RIGHT else ROLES)[self.verb.kind]


def say(speech: Speech) -> Said:
    """Says it once, within the transaction of the speaker."""
    conn = speech.stage.speaker
    heart = Heart(conn)
    if speech.verb.kind in {Kind.ENQUEUE, Kind.OPERATOR}:
        heart.rows("select enter_tenant(%s, 'o', 'tester')", [speech.tenant])
    try:
        with conn.transaction():
            heart.rows(f"set local role {speech.role}")
            said = SPEAKERS[speech.verb.kind](heart, speech)
            heart.rows("reset role")
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.NoDataFound) as error:
        return Said(Answer(error.sqlstate))
    return said


def enqueue(heart: Heart, speech: Speech) -> Said:
    ((job, created, refusal),) = heart.call(
        "enqueue", "job_id", "created", "refusal", tenant=speech.tenant, definition="echo", **DEDUPE[speech.verb]
    )
    if refusal is not None:
        return Said(Answer(refusal))
    if not created:
        return Said(Answer.EXISTING)
    return Said(Answer.CREATED, job if speech.tenant == speech.stage.tenant else None)


def claim(heart: Heart, speech: Speech) -> Said:
    rows = heart.call("claim", "job_id", worker=speech.worker, queue="default", jobs=10)
    return Said(Answer.CLAIMED if (speech.stage.job,) in rows else Answer.NOTHING)


def report(heart: Heart, speech: Speech) -> Said:
    fence: dict[str, Any] = {
        "worker": speech.worker,
        "tenants": [speech.tenant],
        "jobs": [speech.stage.job],
        "attempts": typed([speech.attempt], "int[]"),
    }
    if speech.verb is Verb.FINISH_AND_CLAIM:
        return finish_and_claim(heart, speech, fence)
    answers = heart.value(speech.verb.function, **fence, **OPTIONS.get(speech.verb, {}))
    codes = EXTEND_ANSWERS if speech.verb is Verb.EXTEND else OWNER_ANSWERS
    return Said(codes[answers[0]])


def finish_and_claim(heart: Heart, speech: Speech, fence: Mapping[str, Any]) -> Said:
    rows = heart.call(
        "finish_and_claim",
        "answers",
        **fence,
        queue="default",
        results=typed([None], "jsonb[]"),
        lane_tenants=[speech.tenant],
        lane_defs=typed([speech.stage.def_id], "int[]"),
        quotas=typed([5], "int[]"),
    )
    return Said(OWNER_ANSWERS[rows[-1][0][0]])


OPTIONS: Mapping[Verb, Mapping[str, Any]] = {
    Verb.FAIL_PERMANENT: {"permanent": [True]},
    Verb.SNOOZE: {"delays_seconds": typed([60], "float8[]")},
    Verb.RESCHEDULE: {"delay_seconds": 7200},
    Verb.FORCE_CANCEL: {"reason": "test"},
}


def make_a_pass(heart: Heart, speech: Speech) -> Said:
    match speech.verb:
        case Verb.SWEEP:
            done, answer = heart.sweep().swept, Answer.SWEPT
        case Verb.PROMOTE:
            promoted = heart.promote()
            done, answer = promoted.promoted + promoted.handed_over, Answer.PROMOTED
        case _:
            done, answer = heart.expire(), Answer.EXPIRED
    return Said(answer if done else Answer.NOTHING)


def operate(heart: Heart, speech: Speech) -> Said:
    if speech.verb is Verb.RUN_AGAIN:
        ((refusal,),) = heart.call("run_again", "refusal", tenant=speech.tenant, job=speech.stage.job)
        return Said(Answer(refusal or Answer.CREATED))
    ((answer,),) = heart.call(
        speech.verb.function,
        "answer",
        tenant=speech.tenant,
        jobs=[speech.stage.job],
        **OPTIONS.get(speech.verb, {}),
    )
    return Said(Answer(answer))


SPEAKERS: Mapping[Kind, Callable[[Heart, Speech], Said]] = {
    Kind.ENQUEUE: enqueue,
    Kind.CLAIM: claim,
    Kind.OWNER: report,
    Kind.UPKEEP: make_a_pass,
    Kind.OPERATOR: operate,
    Kind.SUPER_ADMIN: operate,
}
