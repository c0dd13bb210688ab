"""START HERE. A worker process: builds its parts, starts them, and stops them in order.

fetcher   claims and reports on one connection
slots     run handlers in the loop or in threads
keeper    extends leases from a thread with a connection of its own
bell      wakes the fetcher; shares its connection with the upkeep that any worker does
"""

import asyncio
import logging
import os
import socket
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from random import Random
from uuid import UUID, uuid4

from laneway.database.calls.workers import Registered, Registration, end_worker, register_worker
from laneway.errors import ConfigurationError, LanewayError, NotFound
from laneway.upkeep import Upkeep
from laneway.version import __version__
from laneway.worker.attempt import Why
from laneway.worker.bell import Doorbell
from laneway.worker.fetcher import Fetcher
from laneway.worker.holding import Held, Holding
from laneway.worker.keeper import Keeper, fence
from laneway.worker.line import Line
from laneway.worker.options import Place, WorkerOptions
from laneway.worker.outcome import Outcome
from laneway.worker.reporter import Reporter
from laneway.worker.runnable import Runnable
from laneway.worker.slots import Slots

__all__ = ["Worker"]

log = logging.getLogger("laneway.worker")

_LOOK_ROUND_EVERY = 0.2
_LEAST_PATIENCE = 5.0


class Worker:
    """One instance: a fresh id per start, which is half of the fence."""

    def __init__(
        self,
        place: Place,
        jobs: Mapping[str, Runnable],
        options: WorkerOptions,
        *,
        former: Collection[str] = (),
        now: Callable[[], float] = time.monotonic,
        random: Random | None = None,
    ) -> None:
        if not jobs:
            raise ConfigurationError(
                "app: it declares no jobs", field="app", hint="Declare one with @app.job, or name another app."
            )
        self.id: UUID = uuid4()
        self._place = place
        self._jobs = jobs
        # keys that a job had before: the database may never have heard of them
        self._former = former
        self._options = options
        self._now = now
        self._random = random or Random()  # noqa: S311 (jitter)
        self._stopping = asyncio.Event()
        self._hurry = asyncio.Event()

    async def run(self) -> None:
        """Works until it is told to stop, then stops in order."""
        # a line that says nothing for so long is dead: its answers are asked for on another
        patience = max(_LEAST_PATIENCE, self._options.lease_seconds / 3)
        line = Line(self._place, name="worker", answer_seconds=patience, random=self._random)
        side = Line(self._place, name="worker side", answer_seconds=patience, random=self._random)
        try:
            await line.open()
            known = await self._register(line)
            await self._work(line, side, known)
            await self._say_goodbye(line)
        finally:
            await line.close()
            await side.close()

    def stop(self) -> None:
        """Stops claiming and lets handlers end; said again, it tells them to stop."""
        if self._stopping.is_set():
            log.info("worker %s: told again: handlers are stopped", self.id)
            self._hurry.set()
        else:
            log.info("worker %s: stopping; handlers have %g s", self.id, self._options.shutdown_timeout_seconds)
            self._stopping.set()

    async def _register(self, line: Line) -> list[Registered]:
        try:
            known = await line.run(register_worker(self._registration(list(self._jobs))))
        except NotFound:
            if not self._former:
                raise
            known = await line.run(
                register_worker(self._registration([key for key in self._jobs if key not in self._former]))
            )
        log.info("worker %s: %s definitions, %s slots", self.id, len(known), self._options.concurrency)
        return known

    def _registration(self, definitions: Sequence[str]) -> Registration:
        return Registration(
            worker=self.id,
            hostname=socket.gethostname(),
            pid=os.getpid(),
            version=__version__,
            slots=self._options.concurrency,
            queues=self._options.queues,
            definitions=definitions,
        )

    async def _work(self, line: Line, side: Line, known: list[Registered]) -> None:
        holding = Holding()
        reporter = Reporter(self.id, holding, now=self._now)
        loop = asyncio.get_running_loop()

        def ended(held: Held, outcome: Outcome) -> None:
            reporter.add(held, outcome)
            fetcher.wake()

        def gone(held: Held) -> None:
            holding.let_go(held)
            fetcher.wake()

        def stop_soon(held: Held, why: Why) -> None:
            loop.call_soon_threadsafe(slots.stop_one, held, why)

        slots = Slots(
            {one.id: self._jobs[one.key] for one in known}, self._options, now=self._now, on_end=ended, on_gone=gone
        )
        queues = self._options.queues or sorted({one.queue for one in known})
        fetcher = Fetcher(
            self.id,
            line,
            queues=queues,
            slots=slots,
            holding=holding,
            reporter=reporter,
            options=self._options,
            bell=Doorbell(side, queues, now=self._now),
            now=self._now,
            random=self._random,
        )
        keeper = Keeper(
            self._place,
            self.id,
            holding,
            lease_seconds=self._options.lease_seconds,
            now=self._now,
            on_stop=stop_soon,
        )
        keeper.start()
        upkeep = asyncio.create_task(self._upkeep(side, fetcher).run(), name="laneway upkeep")
        looking = asyncio.create_task(self._look_round(slots, holding, keeper), name="laneway look round")
        fetching = asyncio.create_task(fetcher.run(), name="laneway fetcher")
        try:
            stopping = asyncio.create_task(self._stopping.wait())
            await asyncio.wait({stopping, fetching, looking, upkeep}, return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            await self._stop_in_order(fetcher, slots, fetching)
        finally:
            for task in (upkeep, looking, fetching):
                task.cancel()
            results = await asyncio.gather(upkeep, looking, fetching, return_exceptions=True)
            await asyncio.to_thread(keeper.stop)
            slots.close()
        for error in results:
            # a part of ours broke: in order as far as it went, but not in silence
            if isinstance(error, Exception):
                raise error

    async def _stop_in_order(self, fetcher: Fetcher, slots: Slots, fetching: "asyncio.Task[None]") -> None:
        """Stop claiming, keep extending, wait, tell handlers to stop, hand back the rest, say all of it."""
        fetcher.is_claiming = False
        slots.hand_back_waiting()
        fetcher.wake()
        hurry = asyncio.create_task(self._hurry.wait())
        patient = asyncio.create_task(slots.ended(self._options.shutdown_timeout_seconds))
        await asyncio.wait({hurry, patient, fetching}, return_when=asyncio.FIRST_COMPLETED)
        hurry.cancel()
        slots.stop_all()
        if not await slots.ended(self._options.kill_grace_seconds):
            log.error("worker: %s handlers do not stop; their leases run out", slots.running)
        fetcher.wake()
        await asyncio.wait({fetching}, timeout=self._options.kill_grace_seconds)

    async def _look_round(self, slots: Slots, holding: Holding, keeper: Keeper) -> None:
        """What the keeper cannot do while it waits for an answer, and what no part is called for."""
        while True:
            await asyncio.sleep(_LOOK_ROUND_EVERY)
            for held in fence(holding, self._now(), self._options.lease_seconds):
                slots.stop_one(held, Why.LOST)
            slots.look_round()
            if keeper.is_draining:
                log.info("worker %s: an operator asked it to drain", self.id)
                return

    def _upkeep(self, side: Line, fetcher: Fetcher) -> Upkeep:
        return Upkeep(
            side,
            sweep_seconds=self._options.upkeep_seconds,
            promote_seconds=self._options.poll_seconds,
            on_due=fetcher.rung,
            now=self._now,
            random=self._random,
        )

    async def _say_goodbye(self, line: Line) -> None:
        with suppress(LanewayError):
            await line.run(end_worker(self.id))
