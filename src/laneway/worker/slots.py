"""Room for attempts: who runs now, who waits behind, who is told to stop.

Jobs are claimed a little ahead only while handlers are short, so that a slot never idles for a round trip; one that sat
too long is handed back. A handler's time begins when it begins. What is not stopped by a cancel keeps its slot.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from laneway.tenancy import inside
from laneway.worker.attempt import Why, run_attempt
from laneway.worker.context import Context, SyncContext
from laneway.worker.holding import Held
from laneway.worker.options import WorkerOptions
from laneway.worker.outcome import Failed, Outcome, Released
from laneway.worker.runnable import Runnable

__all__ = ["Slots"]

log = logging.getLogger("laneway.worker")

OnEnd = Callable[[Held, Outcome], None]

# A buffer is worth it while it empties within this time; what sat longer is handed back.
_AHEAD_SECONDS = 0.25
_LONGEST_WAIT = 2.0
_WEIGHT_OF_LAST = 0.1


class Running:
    """One attempt in its slot."""

    __slots__ = ("deadline", "has_begun", "held", "started_at", "task", "why")

    def __init__(self, held: Held, now: float) -> None:
        self.held = held
        self.started_at = now
        self.deadline = now + held.claim.timeout_seconds
        self.task: asyncio.Task[None] | None = None
        self.why: Why | None = None
        self.has_begun = False


class Slots:
    """The slots of one worker."""

    def __init__(
        self,
        jobs: Mapping[int, Runnable],
        options: WorkerOptions,
        *,
        now: Callable[[], float],
        on_end: OnEnd,
        on_gone: Callable[[Held], None],
    ) -> None:
        self._jobs = jobs
        self._options = options
        self._now = now
        self._on_end = on_end
        self._on_gone = on_gone
        self._running: dict[Held, Running] = {}
        self._buffer: deque[tuple[Held, float]] = deque()
        self._threads = ThreadPoolExecutor(options.concurrency, thread_name_prefix="laneway-handler")
        self._seconds_per_job: float | None = None

    @property
    def running(self) -> int:
        return len(self._running)

    @property
    def waiting(self) -> int:
        return len(self._buffer)

    @property
    def is_idle(self) -> bool:
        return not self._running and not self._buffer

    def room(self) -> int:
        """How many jobs may be claimed now."""
        return max(0, self._options.concurrency + self._ahead() - len(self._running) - len(self._buffer))

    def put(self, held: Sequence[Held]) -> None:
        now = self._now()
        self._buffer.extend((one, now) for one in held)
        self._fill()

    def stop_one(self, held: Held, why: Why) -> None:
        """Tells the handler; what has not begun ends at once."""
        running = self._running.get(held)
        if running is not None:
            self._tell(running, why)

    def look_round(self) -> None:
        """Deadlines, and what sat too long: called several times a second."""
        now = self._now()
        for running in list(self._running.values()):
            if running.why is None and now >= running.deadline:
                self._tell(running, Why.TIMEOUT)
        while self._buffer and (now - self._buffer[0][1] > _LONGEST_WAIT or self._buffer[0][0].is_lost):
            held, _ = self._buffer.popleft()
            self._hand_back(held, "it waited too long for a slot")

    def hand_back_waiting(self) -> None:
        """Nothing begins any more."""
        while self._buffer:
            self._hand_back(self._buffer.popleft()[0], Why.SHUTDOWN.value)

    def stop_all(self) -> None:
        for running in list(self._running.values()):
            self._tell(running, Why.SHUTDOWN)

    async def ended(self, seconds: float) -> bool:
        """Waits until every handler has ended, at most so long."""
        tasks = [running.task for running in self._running.values() if running.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
        return not self._running

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _ahead(self) -> int:
        extra = self._options.room - self._options.concurrency
        if self._seconds_per_job is None:
            return 0
        wait = self._seconds_per_job * extra / self._options.concurrency
        return extra if wait < _AHEAD_SECONDS else 0

    def _fill(self) -> None:
        while self._buffer and len(self._running) < self._options.concurrency:
            held, _ = self._buffer.popleft()
            if held.is_lost:
                self._on_gone(held)
            else:
                self._start(held)

    def _start(self, held: Held) -> None:
        job = self._jobs.get(held.claim.definition)
        if job is None:
            # never claimed by a worker that cannot run it: this one was told otherwise
            unknown = f"definition {held.claim.definition} is not one of this worker's"
            self._on_end(held, Failed(error='{"kind": "UnknownDefinition"}', reason=unknown, is_permanent=True))
            return
        running = Running(held, self._now())
        self._running[held] = running
        running.task = asyncio.create_task(self._run(running, job), name=f"laneway {job.key} {held.ref.job}")
        if held.is_cancel_requested:
            self._tell(running, Why.CANCELED)

    async def _run(self, running: Running, job: Runnable) -> None:
        held = running.held
        running.has_begun = True
        inside(held.claim.tenant)
        kind = Context if job.is_async else SyncContext
        context = kind(held, job.key, deadline=running.deadline, now=self._now)
        outcome = await run_attempt(job, held.claim.payload, context, threads=self._threads, why=lambda: running.why)
        del self._running[held]
        self._learn(self._now() - running.started_at)
        if outcome is None or held.is_lost:
            self._on_gone(held)
        else:
            self._on_end(held, outcome)
        self._fill()

    def _tell(self, running: Running, why: Why) -> None:
        if running.why is None:
            running.why = why
            # a task that is canceled before its first step never takes it, and would keep its slot
            if running.has_begun and running.task is not None:
                running.task.cancel()

    def _hand_back(self, held: Held, reason: str) -> None:
        if held.is_lost:
            self._on_gone(held)
        else:
            self._on_end(held, Released(reason))

    def _learn(self, seconds: float) -> None:
        last = self._seconds_per_job
        self._seconds_per_job = seconds if last is None else last + _WEIGHT_OF_LAST * (seconds - last)
