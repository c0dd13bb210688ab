"""What an enqueue gives back: the job's id, whether it is new, and a way to wait for its end.

A handle has the colour of the call that made it: `enqueue` gives one that blocks, `aenqueue` one to be awaited. They
share what decides; they differ in who sleeps.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar
from uuid import UUID

from laneway.async_client import AsyncClient
from laneway.client import Client
from laneway.durations import Duration, seconds_of
from laneway.errors import JobCanceled, JobFailed, NotFound, Refused, ResultTimeout, refusal
from laneway.model.enqueued import Enqueued, Refusal
from laneway.model.job import Job
from laneway.states import JobState

__all__ = ["AsyncJobHandle", "JobHandle", "refused_of"]

T_co = TypeVar("T_co", covariant=True)

ReadResult = Callable[[Any], T_co]

# One poll or less per second; the first come sooner, for jobs that end at once.
_FIRST_POLL, _LONGEST_POLL = 0.1, 1.0
# Handlers of a few milliseconds would else wait a tenth of a second.
_SLOWER = 2.0


def refused_of(said: Refusal) -> Refused:
    return refusal(said.code, field=said.field, value=said.value, hint=said.hint)


class _Handle(Generic[T_co]):
    """What both kinds know."""

    def __init__(self, answer: Enqueued, tenant: UUID, read_result: "ReadResult[T_co]") -> None:
        self._answer = answer
        self._read_result = read_result
        self.tenant = tenant

    @property
    def id(self) -> UUID:
        """The job's id: a new one, or that of the earlier job which stands for it."""
        if self._answer.job_id is None:
            raise refused_of(self._refusal())
        return self._answer.job_id

    @property
    def created(self) -> bool:
        return self._answer.created

    @property
    def refused(self) -> Refusal | None:
        """Why it was not taken, where the caller asked for an answer instead of an error."""
        return self._answer.refusal

    def __repr__(self) -> str:
        return f"<job {self._answer.job_id}, created={self.created}>"

    def _refusal(self) -> Refusal:
        return self._answer.refusal or Refusal("busy", "job", None, "Enqueue again.")

    def _ended(self, job: Job | None) -> Job | None:
        """The job, if it has ended; an error where waiting would never end."""
        if job is None:
            raise NotFound(
                f"job {self.id} is not there",
                code="unknown",
                field="job_id",
                value=str(self.id),
                hint="Commit the transaction that enqueued it before you wait for it; rolled back, it never was.",
            )
        return job if job.state.is_terminal else None

    def _result(self, job: Job) -> T_co:
        if job.state is JobState.CANCELED:
            raise JobCanceled(f"job {job.job_id} of {job.definition} was canceled: {job.reason or 'no reason given'}")
        if job.state is not JobState.SUCCEEDED:
            raise JobFailed(
                f"job {job.job_id} of {job.definition} is {job.state}: {job.reason or 'no reason given'}",
                error=job.error,
                attempts=job.attempt,
            )
        return self._read_result(job.result)

    def _too_late(self, seconds: float) -> ResultTimeout:
        return ResultTimeout(f"job {self.id} has not ended within {seconds:g} s", hint="It goes on; wait again.")


class JobHandle(_Handle[T_co]):
    """Blocks while it waits."""

    def __init__(self, answer: Enqueued, tenant: UUID, read_result: "ReadResult[T_co]", client: Client) -> None:
        super().__init__(answer, tenant, read_result)
        self._client = client

    def wait(self, timeout: Duration) -> Job:
        """The job when it has ended, however it did."""
        seconds = seconds_of(timeout)
        deadline = time.monotonic() + seconds
        pause = _FIRST_POLL
        while (job := self._ended(self._client.get_job(self.id, tenant=self.tenant))) is None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise self._too_late(seconds)
            time.sleep(min(pause, left))
            pause = min(pause * _SLOWER, _LONGEST_POLL)
        return job

    def result(self, timeout: Duration) -> T_co:
        """What the handler gave back; JobFailed, JobCanceled or ResultTimeout where there is nothing."""
        return self._result(self.wait(timeout))


class AsyncJobHandle(_Handle[T_co]):
    """Awaits."""

    def __init__(self, answer: Enqueued, tenant: UUID, read_result: "ReadResult[T_co]", client: AsyncClient) -> None:
        super().__init__(answer, tenant, read_result)
        self._client = client

    async def wait(self, timeout: Duration) -> Job:  # noqa: ASYNC109 (of the job, as in the blocking form)
        """The job when it has ended, however it did."""
        seconds = seconds_of(timeout)
        deadline = time.monotonic() + seconds
        pause = _FIRST_POLL
        while (job := self._ended(await self._client.get_job(self.id, tenant=self.tenant))) is None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise self._too_late(seconds)
            await asyncio.sleep(min(pause, left))
            pause = min(pause * _SLOWER, _LONGEST_POLL)
        return job

    async def result(self, timeout: Duration) -> T_co:  # noqa: ASYNC109 (as above)
        """What the handler gave back; JobFailed, JobCanceled or ResultTimeout where there is nothing."""
        return self._result(await self.wait(timeout))
