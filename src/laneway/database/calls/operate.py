"""`functions/operate.sql`, `retry.sql` and `reschedule.sql`: what an operator of a tenant does to its jobs."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from laneway.database.call import Argument, Call, Row
from laneway.database.calls.enqueue import ANSWER, read_answer
from laneway.model.enqueued import Enqueued
from laneway.model.job import JobAnswer
from laneway.states import JobState

__all__ = ["cancel", "reschedule", "retry", "run_again", "run_now"]

_COLUMNS = ("job_id", "answer", "state")


def cancel(tenant: UUID, jobs: Sequence[UUID], *, reason: str | None = None) -> Call[list[JobAnswer]]:
    return _verb("cancel", tenant, jobs, reason)


def retry(tenant: UUID, jobs: Sequence[UUID], *, reason: str | None = None) -> Call[list[JobAnswer]]:
    return _verb("retry", tenant, jobs, reason, columns=(*_COLUMNS, "active_twin"))


def run_now(tenant: UUID, jobs: Sequence[UUID], *, reason: str | None = None) -> Call[list[JobAnswer]]:
    return _verb("run_now", tenant, jobs, reason)


def reschedule(
    tenant: UUID,
    jobs: Sequence[UUID],
    *,
    run_at: datetime | None = None,
    delay_seconds: float | None = None,
    reason: str | None = None,
) -> Call[list[JobAnswer]]:
    call = _verb("reschedule", tenant, jobs, reason)
    call = call.with_argument("run_at", Argument(run_at, "timestamptz"))
    return call.with_argument("delay_seconds", Argument(delay_seconds, "float8"))


def run_again(tenant: UUID, job: UUID, *, payload: str | None = None, reason: str | None = None) -> Call[Enqueued]:
    return Call(
        function="run_again",
        arguments={
            "tenant": Argument(tenant, "uuid"),
            "job": Argument(job, "uuid"),
            "payload": Argument(payload, "text::jsonb"),
            "reason": Argument(reason, "text"),
        },
        columns=ANSWER,
        read=read_answer,
        tenant=tenant,
    )


def _verb(
    function: str, tenant: UUID, jobs: Sequence[UUID], reason: str | None, *, columns: Sequence[str] = _COLUMNS
) -> Call[list[JobAnswer]]:
    return Call(
        function=function,
        arguments={
            "tenant": Argument(tenant, "uuid"),
            "jobs": Argument(list(jobs), "uuid[]"),
            "reason": Argument(reason, "text"),
        },
        columns=columns,
        read=lambda rows: [_answer(row) for row in rows],
        tenant=tenant,
    )


def _answer(row: Row) -> JobAnswer:
    job_id, answer, state, *twin = row
    return JobAnswer(job_id, answer, None if state is None else JobState(state), *twin)
