"""The door to the database for clients: a pool of connections, and one call after the other.

`Session` blocks, `AsyncSession` awaits; both send what `statements_of` says. A call is a transaction of its own: where
the caller has to enter a tenant first, both go in one pipeline, which is one round trip.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString, TypeVar, cast

import psycopg
from psycopg_pool import AsyncConnectionPool, ConnectionPool, PoolTimeout

from laneway.database.call import Call, Statement, Style, statement
from laneway.database.caller import Caller
from laneway.database.fault import translated
from laneway.errors import ConnectionLost, LanewayError

__all__ = ["AsyncSession", "Door", "Session", "statements_of"]

T = TypeVar("T")

_NOT_SENT = "Nothing was sent."
_UNKNOWN = "Whether it was done is not known: a call with an idempotency key may be repeated."
_LEAST, _MOST = 0, 10
_GIVE_UP_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """Where the database is and how it is spoken to."""

    dsn: str
    schema: str
    caller: Caller
    application_name: str = "laneway"
    connections: int = _MOST
    patience_seconds: float = _GIVE_UP_SECONDS
    """How long a call waits for a connection."""


def statements_of(call: Call[Any], door: Door, style: Style) -> Sequence[Statement]:
    """What is sent for one call: itself, and before it what brings its tenant into the transaction."""
    before = door.caller.before(call)
    sent = [] if before is None else [statement(before, schema=door.schema, style=style)]
    return [*sent, statement(door.caller.sign(call), schema=door.schema, style=style)]


class Session:
    """Blocks. Opens connections when they are needed."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._pool = ConnectionPool(
            door.dsn,
            min_size=_LEAST,
            max_size=door.connections,
            kwargs=_settings(door),
            configure=_spare_prepared_statements,
            open=False,
            name="laneway",
        )

    def run(self, call: Call[T]) -> T:
        sent = statements_of(call, self._door, Style.FORMAT)
        known = _NOT_SENT
        try:
            self._pool.open()
            with self._pool.connection(timeout=self._door.patience_seconds) as conn:
                known = _UNKNOWN
                return call.read(_send(conn, sent))
        except (psycopg.Error, PoolTimeout) as error:
            raise _ours(error, known) from error

    def close(self) -> None:
        self._pool.close()


class AsyncSession:
    """Awaits. Belongs to the event loop that used it first."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._pool: AsyncConnectionPool[psycopg.AsyncConnection[Any]] | None = None

    async def run(self, call: Call[T]) -> T:
        sent = statements_of(call, self._door, Style.FORMAT)
        known = _NOT_SENT
        try:
            pool = await self._opened()
            async with pool.connection(timeout=self._door.patience_seconds) as conn:
                known = _UNKNOWN
                return call.read(await _asend(conn, sent))
        except (psycopg.Error, PoolTimeout) as error:
            raise _ours(error, known) from error

    async def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()

    async def _opened(self) -> "AsyncConnectionPool[psycopg.AsyncConnection[Any]]":
        # made here, not in the constructor: it takes the loop that runs
        if self._pool is None:
            self._pool = AsyncConnectionPool(
                self._door.dsn,
                min_size=_LEAST,
                max_size=self._door.connections,
                kwargs=_settings(self._door),
                configure=_aspare_prepared_statements,
                open=False,
                name="laneway",
            )
        await self._pool.open()
        return self._pool


def _settings(door: Door) -> dict[str, Any]:
    return {
        "autocommit": True,
        "application_name": door.application_name,
        "client_encoding": "UTF8",
        # a server that vanished without a word is noticed in half a minute
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 4,
    }


def _send(conn: psycopg.Connection[Any], sent: Sequence[Statement]) -> list[Any]:
    if len(sent) == 1:
        return _execute(conn.execute, sent[0]).fetchall()
    with conn.transaction(), conn.pipeline():
        answers = [_execute(conn.execute, one) for one in sent]
    return answers[-1].fetchall()


async def _asend(conn: psycopg.AsyncConnection[Any], sent: Sequence[Statement]) -> list[Any]:
    if len(sent) == 1:
        return await (await _execute(conn.execute, sent[0])).fetchall()
    async with conn.transaction(), conn.pipeline():
        answers = [await _execute(conn.execute, one) for one in sent]
    return await answers[-1].fetchall()


def _execute(execute: Callable[..., Any], one: Statement) -> Any:  # noqa: ANN401 (a cursor, or what awaits to one)
    # ours from end to end: names are of our own functions, values are bound
    return execute(cast("LiteralString", one.text), one.parameters)


def _spare_prepared_statements(conn: psycopg.Connection[Any]) -> None:
    row = conn.execute("select pg_backend_pid()").fetchone()
    _note_pooler(conn, row)


async def _aspare_prepared_statements(conn: psycopg.AsyncConnection[Any]) -> None:
    row = await (await conn.execute("select pg_backend_pid()")).fetchone()
    _note_pooler(conn, row)


def _note_pooler(conn: psycopg.Connection[Any] | psycopg.AsyncConnection[Any], row: tuple[int] | None) -> None:
    # A pooler answers the handshake itself, with a process id of its own making. Behind one that pools transactions a
    # prepared statement may be on another server by the next call.
    if row is not None and conn.pgconn.backend_pid != row[0]:
        conn.prepare_threshold = None


def _ours(error: Exception, known: str) -> Exception:
    if isinstance(error, PoolTimeout):
        return ConnectionLost(
            f"database_url: no connection within the time given ({error})".replace("\n", " "), known=known
        )
    found: LanewayError | None = translated(error, known=known)
    return found or error
