"""The passes that any process may run, as often as it likes: one of a kind runs at a time, and it waits for nobody."""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from random import Random

from laneway.database.call import Runs
from laneway.database.calls.upkeep import expire, promote, sweep
from laneway.errors import LanewayError

__all__ = ["Upkeep"]

log = logging.getLogger("laneway.upkeep")

PASS_JOBS = 1_000
_SHORTEST_PAUSE = 0.05


class Upkeep:
    """Sweeps and expires every few seconds; promotes when the next job is due, and at least once a second."""

    def __init__(
        self,
        line: Runs,
        *,
        sweep_seconds: float,
        promote_seconds: float,
        on_due: Callable[[], None],
        now: Callable[[], float],
        random: Random,
    ) -> None:
        self._line = line
        # a pass does not ring a bell that its own connection has armed
        self._on_due = on_due
        self._sweep_seconds = sweep_seconds
        self._promote_seconds = promote_seconds
        self._now = now
        self._random = random
        self._sweep_at = now() + sweep_seconds * random.random()

    async def run(self) -> None:
        """Until it is canceled."""
        while True:
            pause = self._promote_seconds
            try:
                pause = await self.run_once()
            except LanewayError as error:
                log.warning("upkeep: %s", error)
            await asyncio.sleep(pause)

    async def run_once(self) -> float:
        """Answers after how many seconds the next pass is wanted."""
        if self._now() >= self._sweep_at:
            await self._sweep()
        promoted = await self._line.run(promote(PASS_JOBS))
        if promoted.promoted:
            self._on_due()
        if promoted.promoted + promoted.handed_over >= PASS_JOBS:
            return 0.0
        return self._until(promoted.next_due_at)

    async def _sweep(self) -> None:
        self._sweep_at = self._now() + self._sweep_seconds * self._random.uniform(0.8, 1.2)
        swept = await self._line.run(sweep(PASS_JOBS))
        if swept.swept:
            log.warning("sweep: %s leases were over: %s lost, %s timed out", swept.swept, swept.lost, swept.timed_out)
        await self._line.run(expire(PASS_JOBS))

    def _until(self, due_at: datetime | None) -> float:
        """By this machine's clock, which decides nothing: one that is wrong makes the pause longer or shorter."""
        longest = self._promote_seconds * self._random.uniform(0.8, 1.2)
        if due_at is None:
            return longest
        return min(longest, max(_SHORTEST_PAUSE, (due_at - datetime.now(UTC)).total_seconds()))
