"""`functions/claim.sql` and `finish_and_claim.sql`: jobs come out."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from laneway.database.call import Argument, Call, Row
from laneway.database.calls.finish import ReportBatch
from laneway.model.claim import Claim, ReportAnswer
from laneway.turns import Found, Share

__all__ = ["ClaimAnswer", "Cursor", "FinishAnswer", "claim", "finish_and_claim"]

# As many as one claim may look at: a worker that knows more lanes makes fewer full claims.
MAX_LANES = 256

_JOB = (
    "tenant_id",
    "job_id",
    "def_id",
    "attempt",
    "max_attempts",
    "priority",
    "rank",
    "timeout_seconds",
    "run_at",
    "correlation_id",
    "trace_id",
    "payload::text",
)
_TRAILER = (
    "next_after",
    "next_left",
    "next_def",
    "has_more",
    "is_ring",
    "lane_tenants",
    "lane_defs",
    "lane_weights",
    "lane_floors",
)


@dataclass(frozen=True, slots=True)
class ClaimAnswer:
    """What a full claim brought home: jobs, the lanes it saw, and whether more may be there."""

    claims: list[Claim]
    found: Found
    has_more: bool


@dataclass(frozen=True, slots=True)
class FinishAnswer:
    """What a fused call brought home: jobs, and the answers to the reports in their order."""

    claims: list[Claim]
    answers: list[ReportAnswer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """Where the ring of tenants goes on."""

    after: UUID | None
    left: int
    after_definition: int | None


def claim(
    worker: UUID, queue: str, jobs: int, cursor: Cursor, *, quantum: int, look: int, lease_seconds: int
) -> Call[ClaimAnswer]:
    return Call(
        function="claim",
        arguments={
            "worker": Argument(worker, "uuid"),
            "queue": Argument(queue, "text"),
            "jobs": Argument(jobs, "integer"),
            "after": Argument(cursor.after, "uuid", is_always_sent=True),
            "left": Argument(cursor.left, "integer"),
            "quantum": Argument(quantum, "integer"),
            "lease_seconds": Argument(lease_seconds, "integer"),
            "max_lanes": Argument(MAX_LANES, "integer"),
            "look": Argument(look, "integer"),
            "after_def": Argument(cursor.after_definition, "integer", is_always_sent=True),
        },
        columns=(*_JOB, *_TRAILER),
        read=_claimed,
    )


def finish_and_claim(
    worker: UUID, queue: str, reports: ReportBatch, share: Share, *, lease_seconds: int
) -> Call[FinishAnswer]:
    return Call(
        function="finish_and_claim",
        arguments={
            "worker": Argument(worker, "uuid"),
            "queue": Argument(queue, "text"),
            "tenants": Argument(reports.tenants, "uuid[]"),
            "jobs": Argument(reports.jobs, "uuid[]"),
            "attempts": Argument(reports.attempts, "integer[]"),
            "results": Argument(reports.results, "text[]::jsonb[]"),
            "lane_tenants": Argument(share.tenants, "uuid[]"),
            "lane_defs": Argument(share.definitions, "integer[]"),
            "quotas": Argument(share.quotas, "integer[]"),
            "floors": Argument(share.floors, "timestamptz[]"),
            "lease_seconds": Argument(lease_seconds, "integer"),
        },
        columns=(*_JOB, "answers"),
        read=_finished,
    )


def _claimed(rows: Sequence[Row]) -> ClaimAnswer:
    *jobs, last = rows
    after, left, after_definition, has_more, is_ring, tenants, definitions, weights, floors = last[len(_JOB) :]
    found = Found(
        after=after,
        left=left,
        after_definition=after_definition,
        tenants=tenants,
        definitions=definitions,
        weights=weights,
        floors=floors,
        is_ring=is_ring,
    )
    return ClaimAnswer([Claim(*row[: len(_JOB)]) for row in jobs], found, has_more)


def _finished(rows: Sequence[Row]) -> FinishAnswer:
    *jobs, last = rows
    return FinishAnswer([Claim(*row[: len(_JOB)]) for row in jobs], [ReportAnswer(answer) for answer in last[-1]])
