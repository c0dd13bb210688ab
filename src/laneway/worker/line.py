"""A worker's own connection: asyncpg, opened anew when it breaks, at most twice a second and never all at once."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any, Protocol, TypeVar, cast

import asyncpg  # pyright: ignore[reportMissingTypeStubs]

from laneway.database.call import Call, Style, statement
from laneway.database.fault import fault_of, translated
from laneway.errors import ConnectionLost, refusal
from laneway.worker.options import Place

__all__ = ["Line", "OnNotify"]

T = TypeVar("T")

log = logging.getLogger("laneway.worker")

OnNotify = Callable[[str], None]

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 5.0


class _Connection(Protocol):
    async def fetch(self, query: str, *parameters: object) -> list[Any]: ...
    async def fetchval(self, query: str) -> Any: ...  # noqa: ANN401 (a column)
    async def execute(self, query: str) -> str: ...
    async def add_listener(self, channel: str, callback: Callable[..., None]) -> None: ...
    async def close(self, *, timeout: float | None = None) -> None: ...  # noqa: ASYNC109 (the driver's)
    def terminate(self) -> None: ...
    def is_closed(self) -> bool: ...
    def get_server_pid(self) -> int: ...


class Line:
    """One connection, one call at a time."""

    def __init__(self, place: Place, *, name: str, answer_seconds: float, random: Random) -> None:
        self._place = place
        self._name = name
        self._answer_seconds = answer_seconds
        self._random = random
        self._conn: _Connection | None = None
        self._lock = asyncio.Lock()
        self.opened = 0
        """How many connections this line has had: who listens or has armed a bell sees that it must do so again."""

    async def run(self, call: Call[T]) -> T:
        """Raises ConnectionLost where the answer will not come; the next call opens a connection."""
        sent = statement(call, schema=self._place.schema, style=Style.NUMBERED)
        async with self._lock:
            conn = await self._connected()
            try:
                async with asyncio.timeout(self._answer_seconds):
                    rows = await conn.fetch(sent.text, *sent.parameters)
            except BaseException as error:
                raise self._judged(error) from error
        return call.read(rows)

    async def listen(self, channel: str, on_notify: OnNotify) -> None:
        def heard(_conn: object, _pid: int, _channel: str, message: str) -> None:
            on_notify(message)

        async with self._lock:
            conn = await self._connected()
            try:
                await conn.add_listener(channel, heard)
            except Exception as error:
                raise self._judged(error) from error

    async def notify(self, channel: str, message: str) -> None:
        async with self._lock:
            conn = await self._connected()
            try:
                await conn.fetch("select pg_notify($1, $2)", channel, message)
            except Exception as error:
                raise self._judged(error) from error

    async def open(self) -> None:
        """Tries until there is a connection; pauses grow, with jitter, so that a fleet does not come back as one."""
        pause = _FIRST_PAUSE
        while True:
            try:
                async with self._lock:
                    await self._connected()
            except ConnectionLost as error:
                log.warning("%s: %s; trying again", self._name, error)
            else:
                return
            await asyncio.sleep(pause * self._random.uniform(0.8, 1.2))
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def close(self) -> None:
        conn, self._conn = self._conn, None
        if conn is not None and not conn.is_closed():
            with suppress(Exception):
                await conn.close(timeout=5)

    async def _connected(self) -> _Connection:
        if self._conn is None or self._conn.is_closed():
            try:
                self._conn = await self._connect()
            except Exception as error:
                raise ConnectionLost(f"connection: {fault_of(error).message}", known="Nothing was sent.") from error
            self.opened += 1
        return self._conn

    async def _connect(self) -> _Connection:
        connect = cast("Any", asyncpg).connect
        conn = cast(
            "_Connection",
            await connect(
                self._place.dsn,
                timeout=10,
                server_settings={"application_name": f"laneway {self._name}", "jit": "off"},
            ),
        )
        if await conn.fetchval("select pg_backend_pid()") != conn.get_server_pid():
            # behind a pooler of transactions a prepared statement is on another server by the next call
            conn.terminate()
            conn = cast("_Connection", await connect(self._place.dsn, timeout=10, statement_cache_size=0))
        return conn

    def _judged(self, error: BaseException) -> BaseException:
        if isinstance(error, asyncio.CancelledError):
            # what the server does with the call is not known: this connection cannot be trusted with another
            self._drop()
            return error
        fault = fault_of(error)
        if isinstance(error, TimeoutError | OSError) or fault.is_lost_connection:
            self._drop()
            return ConnectionLost(f"connection: {fault.message or 'no answer'}", known="It may have been done.")
        if fault.state is None:
            return error
        # whatever the server says against a call of ours is an answer, and no reason to die
        return translated(error, known="") or refusal(fault.state, field="call", hint=fault.hint, message=fault.message)

    def _drop(self) -> None:
        conn, self._conn = self._conn, None
        if conn is not None:
            conn.terminate()
