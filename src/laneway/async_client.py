"""The verbs of a tenant's side, to be awaited. `client` has the same, blocking; a test compares the two.

Each method is one call of one SQL function: on a connection of the pool, in a transaction of its own, or with `conn=`
in the caller's transaction.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from laneway.bulk import Bulk, OnProgress, chunks_of
from laneway.database import borrowed
from laneway.database.call import Call
from laneway.database.calls import enqueue as enqueue_calls
from laneway.database.calls import operate, read
from laneway.database.calls.read import JobFilter
from laneway.database.session import AsyncSession, Door
from laneway.model.enqueued import Enqueued
from laneway.model.item import Item
from laneway.model.job import Attempt, Job, JobAnswer, JobPage, JobRow

__all__ = ["AsyncClient"]

T = TypeVar("T")


class AsyncClient:
    """Awaits the database's answer. Belongs to the event loop that used it first."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._session = AsyncSession(door)

    async def enqueue(self, item: Item, *, tenant: UUID, conn: object = None) -> Enqueued:
        """Puts one job in, or answers why not."""
        return await self.run(enqueue_calls.enqueue(tenant, item), conn=conn)

    async def enqueue_many(self, items: Sequence[Item], *, tenant: UUID, conn: object = None) -> list[Enqueued]:
        """Puts up to 10,000 jobs in, all in one transaction; an answer per item, in their order."""
        return await self.run(enqueue_calls.enqueue_many(tenant, items), conn=conn)

    async def enqueue_stream(
        self, items: Iterable[Item], *, tenant: UUID, on_progress: OnProgress | None = None
    ) -> AsyncIterator[Enqueued]:
        """Puts any number of jobs in, a thousand to a transaction, in bounded memory; answers as they come."""
        bulk = Bulk(on_progress)
        for chunk in chunks_of(items):
            with bulk.sending(chunk):
                answers = await self.run(enqueue_calls.enqueue_many(tenant, chunk))
            for answer in bulk.took(answers):
                yield answer

    async def get_job(self, job: UUID, *, tenant: UUID, conn: object = None) -> Job | None:
        """All that is known of a job; None: this tenant has none of that id."""
        return await self.run(read.get_job(tenant, job), conn=conn)

    async def list_jobs(
        self,
        jobs: JobFilter | None = None,
        *,
        tenant: UUID,
        before: UUID | None = None,
        limit: int = 50,
        conn: object = None,
    ) -> JobPage:
        """A page of jobs, newest first."""
        return await self.run(read.list_jobs(tenant, jobs or JobFilter(), before=before, limit=limit), conn=conn)

    async def jobs(self, jobs: JobFilter | None = None, *, tenant: UUID, conn: object = None) -> AsyncIterator[JobRow]:
        """All jobs of a filter, newest first, page by page."""
        page = await self.list_jobs(jobs, tenant=tenant, limit=200, conn=conn)
        for job in page.jobs:
            yield job
        while page.next_before is not None:
            page = await self.list_jobs(jobs, tenant=tenant, before=page.next_before, limit=200, conn=conn)
            for job in page.jobs:
                yield job

    async def list_attempts(self, job: UUID, *, tenant: UUID, conn: object = None) -> list[Attempt]:
        """The last attempts of a job, newest first."""
        return await self.run(read.list_attempts(tenant, job), conn=conn)

    async def cancel(
        self, jobs: Sequence[UUID], *, tenant: UUID, reason: str | None = None, conn: object = None
    ) -> list[JobAnswer]:
        """Cancels queued jobs and asks the workers of running ones to stop."""
        return await self.run(operate.cancel(tenant, jobs, reason=reason), conn=conn)

    async def retry(
        self, jobs: Sequence[UUID], *, tenant: UUID, reason: str | None = None, conn: object = None
    ) -> list[JobAnswer]:
        """Puts jobs that ended badly back into their queue."""
        return await self.run(operate.retry(tenant, jobs, reason=reason), conn=conn)

    async def run_again(
        self,
        job: UUID,
        *,
        tenant: UUID,
        payload: str | None = None,
        reason: str | None = None,
        conn: object = None,
    ) -> Enqueued:
        """A new job from an old one, with its payload or another."""
        return await self.run(operate.run_again(tenant, job, payload=payload, reason=reason), conn=conn)

    async def run_now(
        self, jobs: Sequence[UUID], *, tenant: UUID, reason: str | None = None, conn: object = None
    ) -> list[JobAnswer]:
        """Makes queued jobs due at once."""
        return await self.run(operate.run_now(tenant, jobs, reason=reason), conn=conn)

    async def reschedule(
        self,
        jobs: Sequence[UUID],
        *,
        tenant: UUID,
        run_at: datetime | None = None,
        delay_seconds: float | None = None,
        reason: str | None = None,
        conn: object = None,
    ) -> list[JobAnswer]:
        """Makes queued jobs due at another time."""
        call = operate.reschedule(tenant, jobs, run_at=run_at, delay_seconds=delay_seconds, reason=reason)
        return await self.run(call, conn=conn)

    async def run(self, call: Call[T], *, conn: object = None) -> T:
        """Makes one call, on a connection of the pool or on the one given."""
        return await (self._session.run(call) if conn is None else borrowed.run_async(conn, call, self._door))

    async def close(self) -> None:
        """Closes the connections of the pool."""
        await self._session.close()
