"""Looking at an install as its owner, with the settings of the session out of the way."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import psycopg

from laneway.database.catalogue import read_current
from laneway.database.install_errors import InstallError, InstallPermissionError
from laneway.database.names import Names
from laneway.database.plan import State
from laneway.database.roles import Server, is_single_role, read_server
from laneway.database.sqltext import identifier, trusted
from laneway.database.stamp import read_applied, read_stamp

__all__ = ["SETTINGS", "View", "look", "prepare", "viewing"]

_OLDEST_SERVER = 15

# A login can change its own defaults. What our statements and the text of the catalogue depend on is set here.
SETTINGS = {
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "standard_conforming_strings": "on",
    "check_function_bodies": "on",
    "quote_all_identifiers": "off",
    "client_min_messages": "warning",
    "datestyle": "ISO, MDY",
    "intervalstyle": "postgres",
    "timezone": "UTC",
    "extra_float_digits": "1",
    "bytea_output": "hex",
}


@dataclass(frozen=True, slots=True)
class View:
    """A server and what is installed there."""

    server: Server
    state: State


def prepare(conn: psycopg.Connection, names: Names, *, lock_timeout: timedelta) -> None:
    """The first statements of each transaction of ours."""
    if conn.info.server_version // 10000 < _OLDEST_SERVER:
        raise InstallError(
            f"server: version {conn.info.server_version // 10000} is too old",
            hint=f"Use PostgreSQL {_OLDEST_SERVER} to 18.",
        )
    conn.execute("set transaction isolation level read committed, read write")
    settings = SETTINGS | {"lock_timeout": f"{max(1, round(lock_timeout.total_seconds() * 1000))}ms"}
    for name, value in settings.items():
        conn.execute("select set_config(%s, %s, true)", [name, value])
    # as a statement: the server then keeps it in the form that functions copy with `set search_path from current`
    conn.execute(trusted(f"set local search_path to {identifier(names.schema)}, pg_temp"))


def look(conn: psycopg.Connection, names: Names) -> State:
    """What the database has, as its owner, in the current transaction."""
    applied = read_applied(conn, names)
    if applied is None:
        return State((), None, {})
    # Rolled back for its locks: PostgreSQL opens tables to describe them, and a lock that grows later can deadlock.
    with conn.transaction(force_rollback=True):
        fingerprints = read_current(conn).fingerprints()
    return State(applied, read_stamp(conn), fingerprints)


@contextmanager
def viewing(conn: psycopg.Connection, names: Names) -> Generator[View]:
    """Looks as the owner in a transaction that is rolled back: nothing is changed, no table is locked."""
    with conn.transaction(force_rollback=True):
        prepare(conn, names, lock_timeout=timedelta(seconds=3))
        server = read_server(conn, names)
        if not server.is_installed:
            yield View(server, State((), None, {}))
            return
        if not is_single_role(server, names, asked=None):
            if not server.may_become_owner:
                raise InstallPermissionError(
                    f'login "{server.login}" may not look into schema "{names.schema}"',
                    hint=f"Use the login that installed it, or let a superuser grant {identifier(names.owner)} to it.",
                )
            conn.execute(trusted(f"set local role {identifier(names.owner)}"))
        yield View(server, look(conn, names))
