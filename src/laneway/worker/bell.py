"""The doorbell from the sleeper's side: armed before a nap, so that whoever enqueues meanwhile rings.

A bell is only a hint. Whether notifications arrive at all is tried with a message to itself: behind a pooler of
transactions they do not, and a worker that is deaf says so once and polls more often.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from uuid import uuid4

from laneway.database.calls.doorbell import arm, disarm
from laneway.errors import LanewayError
from laneway.worker.line import Line

__all__ = ["Doorbell"]

log = logging.getLogger("laneway.worker")

_PATIENCE = 2.0
_HEARD_WITHIN = 1.0
_TRY_AGAIN_AFTER = 30.0


class Doorbell:
    """The bells of all queues of one worker, on a connection of their own."""

    def __init__(self, line: Line, queues: Sequence[str], *, now: Callable[[], float]) -> None:
        self._line = line
        self._queues = queues
        self._now = now
        self._on_ring: Callable[[], None] = lambda: None
        self._messages: frozenset[str] = frozenset()
        self._armed_on = -1
        self._listening_on = -1
        self._own_message = ""
        self._has_heard = asyncio.Event()
        self._deaf_until = 0.0

    @property
    def is_armed(self) -> bool:
        """On the connection that there is now: with another one the bells are gone."""
        return self._armed_on == self._line.opened

    def when_rung(self, on_ring: Callable[[], None]) -> None:
        self._on_ring = on_ring

    async def arm(self) -> bool:
        """Whether somebody will ring."""
        if self._now() < self._deaf_until:
            return False
        try:
            # whoever claims must not wait for a hint
            async with asyncio.timeout(_PATIENCE):
                return await self._arm()
        except (LanewayError, TimeoutError) as error:
            log.warning("doorbell: %s; polling goes on", str(error) or "no answer")
            self._deaf_until = self._now() + _TRY_AGAIN_AFTER
            return False

    async def disarm(self) -> None:
        """First thing after a nap."""
        self._armed_on = -1
        try:
            async with asyncio.timeout(_PATIENCE):
                for queue in self._queues:
                    await self._line.run(disarm(queue))
        except (LanewayError, TimeoutError) as error:
            # the connection is gone, and the bells with it
            log.debug("doorbell: %s", error)

    async def _arm(self) -> bool:
        bells = [await self._line.run(arm(queue)) for queue in self._queues]
        self._messages = frozenset(bell.message for bell in bells)
        if not all(bell.is_armed for bell in bells):
            # an enqueuer is at one of them, or somebody hostile holds it; or they are switched off
            await self.disarm()
            return False
        if self._listening_on != self._line.opened:
            await self._listen(bells[0].channel)
        self._armed_on = self._line.opened
        return True

    async def _listen(self, channel: str) -> None:
        await self._line.listen(channel, self._heard)
        self._own_message = f"self {uuid4()}"
        self._has_heard.clear()
        await self._line.notify(channel, self._own_message)
        try:
            async with asyncio.timeout(_HEARD_WITHIN):
                await self._has_heard.wait()
        except TimeoutError:
            self._deaf_until = self._now() + _TRY_AGAIN_AFTER
            log.warning("doorbell: no notification arrives on this connection; polling goes on")
        self._listening_on = self._line.opened

    def _heard(self, message: str) -> None:
        if message == self._own_message:
            self._has_heard.set()
        elif message in self._messages and self._armed_on != -1:
            self._on_ring()
