"""A call on a connection that the user owns, inside whatever transaction is open there.

Commit and the job is there, roll back and it never was: nothing here begins, commits or closes anything. Drivers are
told apart by the module that a connection comes from, so none of them is imported for it.
"""

from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any, TypeVar

from laneway.database.call import Call, Statement, Style
from laneway.database.fault import translated
from laneway.database.session import Door, statements_of
from laneway.errors import ConfigurationError

__all__ = ["is_async", "run", "run_async"]

T = TypeVar("T")

Execute = Callable[[Statement], list[Any]]
ExecuteAsync = Callable[[Statement], Awaitable[list[Any]]]

_KNOWN = "It stands and falls with the transaction that it was sent in."
_WAYS = (
    "Give an open psycopg or asyncpg connection, an SQLAlchemy Connection or Session of either kind, "
    'or the alias of a Django connection, such as "default".'
)


def is_async(conn: object) -> bool:
    """Whether a call on this connection has to be awaited."""
    match _kind(conn):
        case "psycopg":
            return hasattr(conn, "__aenter__")
        case "asyncpg":
            return True
        case "sqlalchemy":
            return type(conn).__module__.startswith("sqlalchemy.ext.asyncio") or hasattr(conn, "sync_session")
        case _:
            return False


def run(conn: object, call: Call[T], door: Door) -> T:
    if is_async(conn):
        raise ConfigurationError(
            f"conn: {_name(conn)} is asynchronous",
            field="conn",
            value=_name(conn),
            hint="Await the a... form of the call.",
        )
    execute, style = _executor(conn)
    try:
        answers = [execute(sent) for sent in statements_of(call, door, style)]
    except Exception as error:
        raise translated(error, known=_KNOWN) or error from error
    return call.read(answers[-1])


async def run_async(conn: object, call: Call[T], door: Door) -> T:
    if not is_async(conn):
        raise ConfigurationError(
            f"conn: {_name(conn)} is synchronous",
            field="conn",
            value=_name(conn),
            hint="Use the call without a... in front.",
        )
    execute, style = _async_executor(conn)
    try:
        answers = [await execute(sent) for sent in statements_of(call, door, style)]
    except Exception as error:
        raise translated(error, known=_KNOWN) or error from error
    return call.read(answers[-1])


def _executor(conn: Any) -> tuple[Execute, Style]:  # noqa: ANN401 (somebody's connection)
    match _kind(conn):
        case "psycopg":
            return lambda sent: conn.execute(sent.text, sent.parameters).fetchall(), Style.FORMAT
        case "sqlalchemy":
            # a Session joins its own transaction: the connection it will use anyway
            bound = conn.connection() if hasattr(conn, "flush") else conn
            style = _style_of(bound)
            return lambda sent: bound.exec_driver_sql(sent.text, tuple(sent.parameters)).fetchall(), style
        case "django":
            return _django(conn), Style.FORMAT
        case _:
            raise _unknown(conn)


def _async_executor(conn: Any) -> tuple[ExecuteAsync, Style]:  # noqa: ANN401 (somebody's connection)
    match _kind(conn):
        case "psycopg":

            async def on_psycopg(sent: Statement) -> list[Any]:
                return await (await conn.execute(sent.text, sent.parameters)).fetchall()

            return on_psycopg, Style.FORMAT
        case "asyncpg":

            async def on_asyncpg(sent: Statement) -> list[Any]:
                return await conn.fetch(sent.text, *sent.parameters)

            return on_asyncpg, Style.NUMBERED
        case "sqlalchemy":

            async def on_sqlalchemy(sent: Statement) -> list[Any]:
                bound = await conn.connection() if hasattr(conn, "flush") else conn
                return list((await bound.exec_driver_sql(sent.text, tuple(sent.parameters))).fetchall())

            return on_sqlalchemy, _style_of(conn)
        case _:
            raise _unknown(conn)


def _django(conn: Any) -> Execute:  # noqa: ANN401 (an alias or a connection)
    # imported only where it is used, and without types
    found: Any = import_module("django.db").connections[conn] if isinstance(conn, str) else conn

    def execute(sent: Statement) -> list[Any]:
        with found.cursor() as cursor:
            cursor.execute(sent.text, sent.parameters)
            return list(cursor.fetchall())

    return execute


def _style_of(conn: Any) -> Style:  # noqa: ANN401 (somebody's connection)
    """As the dialect's driver writes placeholders, since the statement goes to the driver as it is."""
    bind = conn.get_bind() if hasattr(conn, "get_bind") else conn
    style: str = bind.dialect.paramstyle
    if style == "numeric_dollar":
        return Style.NUMBERED
    if style in {"format", "pyformat"}:
        return Style.FORMAT
    raise ConfigurationError(f'conn: its driver writes parameters as "{style}"', field="conn", value=style, hint=_WAYS)


def _kind(conn: object) -> str:
    if isinstance(conn, str):
        return "django"
    for class_ in type(conn).__mro__:
        root = class_.__module__.partition(".")[0]
        if root in {"psycopg", "asyncpg", "sqlalchemy", "django"}:
            return root
    return ""


def _name(conn: object) -> str:
    return f"{type(conn).__module__}.{type(conn).__qualname__}"


def _unknown(conn: object) -> ConfigurationError:
    return ConfigurationError(
        f"conn: {_name(conn)} is not a connection known here", field="conn", value=_name(conn), hint=_WAYS
    )
