"""A job as readers see it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from laneway.states import JobState

__all__ = ["Attempt", "Job", "JobAnswer", "JobPage", "JobRow"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """A line of a list."""

    job_id: UUID
    definition: str
    queue: str
    state: JobState
    attempt: int
    max_attempts: int
    priority: int
    source: str
    scheduled_for: datetime
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    worker_id: UUID | None
    reason: str | None
    labels: dict[str, str] | None
    correlation_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPage:
    """Newest first. Filters look back over a bounded stretch: a page may be short, or empty, and not be the last."""

    jobs: list[JobRow]
    next_before: UUID | None
    """Where the next page begins; None: there is none."""
    looked_back_to: datetime | None
    """How far this page has looked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(JobRow):
    """All that is known of one."""

    source_ref: str | None
    created_by: str | None
    expires_at: datetime | None
    lease_until: datetime | None
    deadline: datetime | None
    is_cancel_requested: bool
    rerun_of: UUID | None
    parent_id: UUID | None
    trace_id: str | None
    dedupe_key: str | None
    idempotency_key: str | None
    payload: Any
    result: Any
    error: dict[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try of a job: it runs, or it has ended in some way."""

    attempt: int
    outcome: str
    final_state: JobState | None
    """What the job became, where this attempt was its last."""
    ready_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    worker_id: UUID | None
    reason: str | None
    error: dict[str, Any] | None
    result: Any


@dataclass(frozen=True, slots=True)
class JobAnswer:
    """What an operator's verb did to one job: `answer` as in docs/concepts/states.md, and the state it is in now."""

    job_id: UUID
    answer: str
    state: JobState | None
    active_twin: UUID | None = None
    """The active job whose dedupe key stands in the way of a retry."""
