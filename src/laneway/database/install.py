"""Installing and upgrading: one transaction that ends with the schema as the files say, or leaves nothing.

Bookkeeping and pending migrations, the function files whose text changed, what no file makes any more, planner pins,
policies, grants, stamp. Grants come last: a function that was dropped and made is without any. A migration that cannot
run in a transaction cuts the apply in two there; it and what lies before it stay when a later part fails.
"""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg

from laneway.database.apply import Apply, Journal, Order
from laneway.database.install_errors import InstallConflictError, InstallError
from laneway.database.names import Names
from laneway.database.options import InstallOptions
from laneway.database.outside import run_outside
from laneway.database.patience import Patience, patiently
from laneway.database.routines import DependentError
from laneway.database.sqlfiles import Migration, SqlFiles

__all__ = ["InstallOptions", "InstallResult", "Patience", "SqlFiles", "install"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallResult:
    """What was done."""

    schema: str
    release: str
    was_applied: bool
    """False when there was nothing to do."""
    roles: tuple[str, ...]
    """The statements that made roles, memberships and the schema."""
    migrations: tuple[str, ...]
    files: tuple[str, ...]
    """The function files that were run."""
    dropped: tuple[str, ...]
    """Functions and views that no file makes any more."""
    mended: tuple[str, ...]
    """Objects that were not as the last apply left them, and are again."""
    warnings: tuple[str, ...]
    """What an operator should know; nothing that stops the install."""


def install(
    conn: psycopg.Connection,
    *,
    schema: str = "laneway",
    files: SqlFiles | None = None,
    options: InstallOptions | None = None,
    patience: Patience | None = None,
) -> InstallResult:
    """Installs or upgrades. The connection must be idle; options left out stay as the install said."""
    order = Order(
        names=Names(schema), files=files or SqlFiles.packaged(), options=options, patience=patience or Patience()
    )
    journals: list[Journal] = []
    with _idle(conn):
        outside = _apply_next(conn, order, journals)
        while outside is not None:
            run_outside(conn, outside, names=order.names, patience=order.patience, release=order.files.release)
            journals.append(Journal(migrations=[outside.name]))
            outside = _apply_next(conn, order, journals)
    return _result(order, journals)


@contextmanager
def _idle(conn: psycopg.Connection) -> Generator[None]:
    if conn.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
        raise InstallError(
            "conn: a transaction is open on it",
            hint="Commit or roll back first: an install has its own.",
        )
    if conn.info.encoding == "ascii":
        raise InstallError(
            "conn: its client_encoding is SQL_ASCII, in which texts come as bytes",
            hint="Connect with client_encoding=UTF8.",
        )
    before = conn.autocommit
    conn.autocommit = True
    try:
        yield
    finally:
        if not conn.closed:
            conn.autocommit = before


def _apply_next(conn: psycopg.Connection, order: Order, journals: list[Journal]) -> Migration | None:
    """One transaction; answers the migration that has to run outside of one before the next."""
    try:
        journal, outside = _apply(conn, order, remake=False)
    except DependentError:
        # policies or views stand on what is to be dropped: once more with all of them made again
        try:
            journal, outside = _apply(conn, order, remake=True)
        except DependentError as error:
            raise InstallConflictError(
                f"{error.fact}: {error.detail}", hint="Drop what stands on it, and make it again afterwards."
            ) from error
    journals.append(journal)
    return outside


def _apply(conn: psycopg.Connection, order: Order, *, remake: bool) -> tuple[Journal, Migration | None]:
    # made in each try: the journal of a transaction that was rolled back is no longer true
    return patiently(conn, lambda: Apply(conn, order, remake=remake).run(), names=order.names, patience=order.patience)


def _result(order: Order, journals: list[Journal]) -> InstallResult:
    return InstallResult(
        schema=order.names.schema,
        release=order.files.release,
        was_applied=any(journal.was_applied for journal in journals),
        roles=tuple(line for journal in journals for line in journal.roles),
        migrations=tuple(line for journal in journals for line in journal.migrations),
        files=tuple(line for journal in journals for line in journal.files),
        dropped=tuple(line for journal in journals for line in journal.dropped),
        mended=tuple(line for journal in journals for line in journal.mended),
        warnings=tuple(dict.fromkeys(line for journal in journals for line in journal.warnings)),
    )
