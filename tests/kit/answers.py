"""What the verbs answer, as values."""

from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Any
from uuid import UUID


class Answer(IntEnum):
    """To a word of an owner about its attempt."""

    STALE = 0
    ACCEPTED = 1
    DUPLICATE = 2
    BUSY = 3
    REFUSED = 4


class ExtendAnswer(IntEnum):
    STALE = 0
    OK = 1
    CANCEL = 2
    BUSY = 3


@dataclass(frozen=True, slots=True)
class EnqueueAnswer:
    job_id: UUID | None
    created: bool
    refusal: str | None
    field: str | None
    value: str | None
    hint: str | None


@dataclass(frozen=True, slots=True)
class Claim:
    """One job as it was handed to a worker, and to which: together the fence."""

    tenant_id: UUID
    job_id: UUID
    def_id: int
    attempt: int
    max_attempts: int
    priority: int
    rank: datetime
    timeout_seconds: int
    run_at: datetime
    correlation_id: str | None
    trace_id: str | None
    payload: Any
    worker_id: UUID


@dataclass(frozen=True, slots=True)
class Trailer:
    """The last row of a claim: where the next one goes on, and the lanes that were found."""

    next_after: UUID | None
    next_left: int
    has_more: bool
    lane_tenants: list[UUID]
    lane_defs: list[int]
    lane_weights: list[int]
    lane_floors: list[datetime]


@dataclass(frozen=True, slots=True)
class JobAnswer:
    """What an operator's verb did to one job, or what forbade it."""

    job_id: UUID
    answer: str
    state: str | None
    active_twin: UUID | None = None


@dataclass(frozen=True, slots=True)
class Swept:
    swept: int
    lost: int
    timed_out: int
    failed: int


@dataclass(frozen=True, slots=True)
class Promoted:
    promoted: int
    handed_over: int
    next_due_at: datetime | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One row of the history of a job."""

    attempt: int
    outcome: str
    final_state: str | None
    ready_at: datetime | None
    started_at: datetime | None
    ended_at: datetime
    worker_id: UUID | None
    reason: str | None
    error: Any
    result: Any
