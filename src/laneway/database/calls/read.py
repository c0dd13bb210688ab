"""`functions/read.sql`: lists and details of a tenant's jobs."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from laneway.database.call import Argument, Call, Row, Scope
from laneway.database.calls.columns import columns_of, read_one, reader
from laneway.model.job import Attempt, Job, JobPage, JobRow
from laneway.states import JobState

__all__ = ["JobFilter", "get_job", "list_attempts", "list_jobs"]

_job = reader(Job, state=JobState)
_row = reader(JobRow, state=JobState)
_attempt = reader(Attempt, final_state=JobState)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Which jobs of a tenant are listed."""

    state: str | None = None
    """A state, or a part of `queued`: scheduled, retrying, waiting."""
    definition: str | None = None
    queue: str | None = None


def get_job(tenant: UUID, job: UUID) -> Call[Job | None]:
    return Call(
        function="get_job",
        arguments={"tenant": Argument(tenant, "uuid"), "job": Argument(job, "uuid")},
        columns=columns_of(Job),
        read=read_one(_job),
        tenant=tenant,
        scope=Scope.READ,
    )


def list_jobs(tenant: UUID, jobs: JobFilter, *, before: UUID | None = None, limit: int = 50) -> Call[JobPage]:
    return Call(
        function="list_jobs",
        arguments={
            "tenant": Argument(tenant, "uuid"),
            "state": Argument(jobs.state, "text"),
            "definition": Argument(jobs.definition, "text"),
            "queue": Argument(jobs.queue, "text"),
            "before": Argument(before, "uuid"),
            "limit": Argument(limit, "integer"),
        },
        columns=[*columns_of(JobRow), "next_before", "looked_back_to"],
        read=_page,
        tenant=tenant,
        scope=Scope.READ,
    )


def list_attempts(tenant: UUID, job: UUID, *, before: int | None = None, limit: int = 50) -> Call[list[Attempt]]:
    """Newest first."""
    return Call(
        function="list_attempts",
        arguments={
            "tenant": Argument(tenant, "uuid"),
            "job": Argument(job, "uuid"),
            "before": Argument(before, "integer"),
            "limit": Argument(limit, "integer"),
        },
        columns=columns_of(Attempt),
        read=lambda rows: [_attempt(row) for row in rows],
        tenant=tenant,
        scope=Scope.READ,
    )


def _page(rows: Sequence[Row]) -> JobPage:
    # where more may follow, the last row is no job: it says where the next page begins
    more = rows[-1] if rows and rows[-1][0] is None else None
    jobs = [_row(row) for row in rows if row[0] is not None]
    if more is None:
        return JobPage(jobs=jobs, next_before=None, looked_back_to=None)
    return JobPage(jobs=jobs, next_before=more[-2], looked_back_to=more[-1])
