"""How an install waits: never in a queue that callers stand behind, never for ever.

One install at a time holds an advisory lock, asked for without waiting: a session that waits in a transaction would
hold up `create index concurrently` of the one that has it. Whatever only stands in the way for a moment (a lock, a
role that another database makes at the same time) ends the whole transaction, which is then tried again.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import psycopg

from laneway.database.install_errors import InstallTimeoutError
from laneway.database.names import Names
from laneway.database.sqltext import trusted

__all__ = [
    "LOCK_CLASS",
    "LOCK_SOON",
    "HeldError",
    "Patience",
    "is_passing",
    "lock_for_transaction",
    "lock_statement",
    "lock_tables",
    "patiently",
]

T = TypeVar("T")

# "LANE", the first half of the advisory key; the second is a hash of the schema's name.
LOCK_CLASS = 0x4C414E45

# A caller that waits for one of our locks looks for a deadlock after deadlock_timeout, finds one only while we wait too
# and would then be the one to fail. So all tables are locked in one statement that gives up before that.
LOCK_SOON = """
select set_config('statement_timeout', greatest(50, 1000 * least(
    0.8 * extract(epoch from current_setting('deadlock_timeout')::interval),
    extract(epoch from current_setting('lock_timeout')::interval)))::integer::text, true)
""".strip()

# A view over a table that is not ours would lock that one as well: it takes its turn when it is dropped.
_TO_LOCK = """
select c.oid::regclass::text
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
where n.nspname = current_schema() and c.relkind in ('r', 'p', 'v') and not c.relispartition
    and pg_get_userbyid(c.relowner) = current_user
    and not exists (
        select from pg_rewrite w
        join pg_depend d on d.objid = w.oid
        join pg_class t on t.oid = d.refobjid
        where w.ev_class = c.oid and d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_class'::regclass
            and t.relnamespace <> c.relnamespace)
order by c.relkind <> 'v', c.relname
"""

_HOLDERS = """
select format('session %%s of %%s, %%s since %%s', a.pid, a.usename, coalesce(a.state, 'active'),
    coalesce(a.xact_start, a.backend_start)::timestamp(0))
from pg_stat_activity a
where a.pid <> pg_backend_pid() and exists (
    select from pg_locks l
    left join pg_class c on c.oid = l.relation
    left join pg_namespace n on n.oid = c.relnamespace
    where l.pid = a.pid and l.granted and l.database = a.datid and a.datname = current_database()
        and (n.nspname = %(schema)s
            or l.locktype = 'advisory' and l.classid = %(class)s
                and l.objid = hashtext(%(schema)s)::bigint & 4294967295))
order by a.xact_start nulls last
limit 3
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long one lock may be waited for, and how long the whole is tried."""

    lock_timeout: timedelta = timedelta(seconds=3)
    give_up_after: timedelta = timedelta(seconds=120)


class HeldError(Exception):
    """Another session has what this one needs; it is tried again."""


def is_passing(error: BaseException) -> bool:
    """Whether the same transaction may succeed a moment later."""
    match error:
        case HeldError() | psycopg.errors.LockNotAvailable() | psycopg.errors.DeadlockDetected():
            return True
        case psycopg.errors.InternalError_():
            return "tuple concurrently" in (error.diag.message_primary or "")
        case _:
            return False


def patiently(conn: psycopg.Connection, work: Callable[[], T], *, names: Names, patience: Patience) -> T:
    """Does the work in one transaction, again and again while something only stands in the way."""
    deadline = time.monotonic() + patience.give_up_after.total_seconds()
    pause = 0.1
    while True:
        try:
            with conn.transaction():
                return work()
        except (HeldError, psycopg.Error) as error:
            if not is_passing(error):
                raise
            if time.monotonic() + pause > deadline:
                raise _timeout(conn, names, patience) from error
        time.sleep(pause)
        pause = min(pause * 2, 2.0)


def lock_for_transaction(conn: psycopg.Connection, names: Names) -> None:
    """Takes the one lock of this install until the transaction ends, or says that it is held."""
    row = conn.execute("select pg_try_advisory_xact_lock(%s, hashtext(%s))", [LOCK_CLASS, names.schema]).fetchone()
    if row != (True,):
        raise HeldError


def lock_tables(conn: psycopg.Connection) -> None:
    """Takes all tables and views at once, or none: callers wait briefly and never fail."""
    statement = lock_statement(conn)
    if statement is None:
        return
    conn.execute(LOCK_SOON)
    try:
        conn.execute(trusted(statement), prepare=False)
    except psycopg.errors.QueryCanceled as error:
        raise HeldError from error
    conn.execute("set local statement_timeout = 0")


def lock_statement(conn: psycopg.Connection) -> str | None:
    """Locks all tables and views of the schema, if there are any."""
    names = ", ".join(str(row[0]) for row in conn.execute(_TO_LOCK).fetchall())
    return f"lock table {names} in access exclusive mode" if names else None


def _timeout(conn: psycopg.Connection, names: Names, patience: Patience) -> InstallTimeoutError:
    rows = conn.execute(_HOLDERS, {"schema": names.schema, "class": LOCK_CLASS}).fetchall()
    holders = "; ".join(str(row[0]) for row in rows) or "nobody any more"
    waited = f"{patience.give_up_after.total_seconds():g} s"
    return InstallTimeoutError(
        f'schema "{names.schema}": what the install needs was held for {waited} by {holders}',
        hint="Let that session end, or end it with select pg_terminate_backend(<session>), and start again.",
    )
