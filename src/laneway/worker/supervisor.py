"""Several worker processes under one parent: the dead are started again, all are told to stop together.

A child that ends with an exit code of its user's making (no such application, no right, no definitions) would end so
again: then all are stopped, and the supervisor ends as it did.
"""

import asyncio
import ctypes
import logging
import os
import signal
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from random import Random

__all__ = ["Supervisor", "die_with"]

log = logging.getLogger("laneway.worker")

PR_SET_PDEATHSIG = 1
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 30.0
# Who lived so long was healthy: the next start is not put off because of it.
_HEALTHY_SECONDS = 30.0


def die_with(parent: int) -> None:
    """A child of a supervisor that was killed stops in order, as if it had been told to."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("the supervisor died before its worker started")


class Supervisor:
    """Keeps so many copies of one command running."""

    def __init__(
        self,
        command: Sequence[str],
        processes: int,
        *,
        environment: Mapping[str, str],
        hopeless: Collection[int],
        now: Callable[[], float],
        random: Random,
    ) -> None:
        self._command = command
        self._processes = processes
        self._environment = environment
        self._hopeless = hopeless
        self._now = now
        self._random = random
        self._running: set[asyncio.subprocess.Process] = set()
        self._stopping = asyncio.Event()
        self.restarts = 0

    async def run(self) -> int:
        """Answers the exit code: why it is hopeless, else the first that was not 0."""
        codes = await asyncio.gather(*(self._keep(number) for number in range(1, self._processes + 1)))
        hopeless = (code for code in codes if code in self._hopeless)
        return next(hopeless, next((code for code in codes if code != 0), 0))

    def stop(self) -> None:
        """Tells them all; said again, they are told again."""
        self._stopping.set()
        for process in self._running:
            with suppress(ProcessLookupError):
                process.terminate()

    async def _keep(self, number: int) -> int:
        pause = _FIRST_PAUSE
        while True:
            began = self._now()
            code = await self._run_one()
            if code in self._hopeless and not self._stopping.is_set():
                self.stop()
                return code
            if self._stopping.is_set():
                # told before it could listen: that is an end in order as well
                return 0 if code == -signal.SIGTERM else code
            pause = _FIRST_PAUSE if self._now() - began > _HEALTHY_SECONDS else min(pause * 2, _LONGEST_PAUSE)
            self.restarts += 1
            log.warning("worker process %s ended (%s); the next one starts in %.1f s", number, _said(code), pause)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause * self._random.uniform(0.8, 1.2)):
                    await self._stopping.wait()
            if self._stopping.is_set():
                return 0

    async def _run_one(self) -> int:
        process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.DEVNULL,
            env=self._environment,
            # a Ctrl-C at the terminal is for the supervisor, who hands it on: two signals would be a hurry
            start_new_session=True,
        )
        self._running.add(process)
        if self._stopping.is_set():
            process.terminate()
        try:
            return await process.wait()
        finally:
            self._running.discard(process)


def _said(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"
