"""`functions/finish.sql`: the owner of attempts says how they ended. Each answers per item, in the order given."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from laneway.database.call import Argument, Call, Reads
from laneway.model.claim import AttemptRef, ReportAnswer

__all__ = ["ReportBatch", "cancel_attempt", "complete", "fail", "release", "snooze"]


@dataclass(frozen=True, slots=True)
class ReportBatch:
    """Successes, as the parallel arrays that SQL takes."""

    tenants: list[UUID]
    jobs: list[UUID]
    attempts: list[int]
    results: list[str | None]
    """As JSON text."""

    @classmethod
    def of(cls, refs: Sequence[AttemptRef], results: Sequence[str | None]) -> "ReportBatch":
        return cls(
            [ref.tenant for ref in refs], [ref.job for ref in refs], [ref.attempt for ref in refs], list(results)
        )


Answers = Call[list[ReportAnswer]]


def complete(worker: UUID, reports: ReportBatch) -> Answers:
    return Call(
        function="complete",
        arguments={
            "worker": Argument(worker, "uuid"),
            "tenants": Argument(reports.tenants, "uuid[]"),
            "jobs": Argument(reports.jobs, "uuid[]"),
            "attempts": Argument(reports.attempts, "integer[]"),
            "results": Argument(reports.results, "text[]::jsonb[]"),
        },
        columns=("complete",),
        read=_answers,
    )


def fail(
    worker: UUID,
    refs: Sequence[AttemptRef],
    *,
    errors: Sequence[str | None],
    permanent: Sequence[bool],
    retry_in_seconds: Sequence[float | None],
    timed_out: Sequence[bool],
    reasons: Sequence[str | None],
) -> Answers:
    call = _owner_verb("fail", worker, refs, reasons)
    call = call.with_argument("errors", Argument(list(errors), "text[]::jsonb[]"))
    call = call.with_argument("permanent", Argument(list(permanent), "boolean[]"))
    call = call.with_argument("retry_in_seconds", Argument(list(retry_in_seconds), "float8[]"))
    return call.with_argument("timed_out", Argument(list(timed_out), "boolean[]"))


def snooze(
    worker: UUID, refs: Sequence[AttemptRef], *, delays_seconds: Sequence[float], reasons: Sequence[str | None]
) -> Answers:
    call = _owner_verb("snooze", worker, refs, reasons)
    return call.with_argument("delays_seconds", Argument(list(delays_seconds), "float8[]"))


def release(worker: UUID, refs: Sequence[AttemptRef], *, reasons: Sequence[str | None]) -> Answers:
    return _owner_verb("release", worker, refs, reasons)


def cancel_attempt(worker: UUID, refs: Sequence[AttemptRef], *, reasons: Sequence[str | None]) -> Answers:
    return _owner_verb("cancel_attempt", worker, refs, reasons)


def _owner_verb(function: str, worker: UUID, refs: Sequence[AttemptRef], reasons: Sequence[str | None]) -> Answers:
    return Call(
        function=function,
        arguments={
            "worker": Argument(worker, "uuid"),
            "tenants": Argument([ref.tenant for ref in refs], "uuid[]"),
            "jobs": Argument([ref.job for ref in refs], "uuid[]"),
            "attempts": Argument([ref.attempt for ref in refs], "integer[]"),
            "reasons": Argument(list(reasons), "text[]"),
        },
        columns=(function,),
        read=_answers,
    )


_answers: Reads[list[ReportAnswer]] = lambda rows: [ReportAnswer(answer) for answer in rows[0][0]]  # noqa: E731
