"""Migrations that cannot run in a transaction, such as `create index concurrently`: one statement, repeatable."""

from collections.abc import Generator
from contextlib import contextmanager

import psycopg

from laneway.database.catalogue import read_current
from laneway.database.install_errors import InstallError
from laneway.database.names import Names
from laneway.database.patience import LOCK_CLASS, HeldError, Patience, patiently
from laneway.database.roles import read_server
from laneway.database.routines import told
from laneway.database.sqlfiles import Migration
from laneway.database.sqltext import identifier, trusted
from laneway.database.stamp import record_statement, restamp

__all__ = ["run_outside"]

_SESSION = ("role", "search_path", "lock_timeout", "statement_timeout")


def run_outside(
    conn: psycopg.Connection, migration: Migration, *, names: Names, patience: Patience, release: str
) -> None:
    """Runs it as the owner under the lock of the install; the connection is in autocommit.

    No lock_timeout: such a statement waits for old transactions by nature, and callers do not stand behind it.
    """
    patiently(conn, lambda: _take_lock(conn, names), names=names, patience=patience)
    try:
        with _as_owner(conn, names):
            if _is_applied(conn, migration):
                return
            before = read_current(conn).fingerprints()
            with told(f"migrations/{migration.name}.sql", text=migration.text):
                conn.execute(trusted(migration.text), prepare=False)
            _refuse_invalid_indexes(conn, migration)
            with conn.transaction():
                conn.execute(record_statement(migration, release=release))
                restamp(conn, before=before, after=read_current(conn).fingerprints())
    finally:
        if not conn.closed:
            conn.execute("select pg_advisory_unlock(%s, hashtext(%s))", [LOCK_CLASS, names.schema])


def _take_lock(conn: psycopg.Connection, names: Names) -> None:
    row = conn.execute("select pg_try_advisory_lock(%s, hashtext(%s))", [LOCK_CLASS, names.schema]).fetchone()
    if row != (True,):
        raise HeldError


@contextmanager
def _as_owner(conn: psycopg.Connection, names: Names) -> Generator[None]:
    """Sets role, path and timeouts for the session, and puts back what was there."""
    saved = [(name, conn.execute("select current_setting(%s)", [name]).fetchone()) for name in _SESSION]
    owner = read_server(conn, names).schema_owner or names.owner
    conn.execute(trusted(f"set role {identifier(owner)}"))
    conn.execute(trusted(f"set search_path to {identifier(names.schema)}, pg_temp"))
    conn.execute("set lock_timeout = 0")
    conn.execute("set statement_timeout = 0")
    try:
        yield
    finally:
        for name, row in saved if not conn.closed else ():
            conn.execute("select set_config(%s, %s, false)", [name, row[0] if row else ""])


def _is_applied(conn: psycopg.Connection, migration: Migration) -> bool:
    """Whether another install was faster between our transaction and our lock."""
    row = conn.execute("select exists (select from install_migration where number = %s)", [migration.number]).fetchone()
    return row == (True,)


def _refuse_invalid_indexes(conn: psycopg.Connection, migration: Migration) -> None:
    """A concurrent build that fails leaves an invalid index behind, which `if not exists` then takes for done."""
    row = conn.execute(
        """
        select i.indexrelid::regclass::text
        from pg_index i
        join pg_class c on c.oid = i.indexrelid
        join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = current_schema() and not i.indisvalid
        order by 1
        """
    ).fetchone()
    if row is not None:
        raise InstallError(
            f"migrations/{migration.name}.sql: index {row[0]} is not valid",
            hint=f"Run drop index concurrently {row[0]} as its owner, and the upgrade again.",
        )
