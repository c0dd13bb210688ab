"""Functions and views from their files: replaced in place where PostgreSQL can, dropped and made where it cannot.

A new argument makes a second function beside the old one, and every old call then fails as "not unique"; a renamed
argument or another result is refused. Either way the old one goes in the same transaction: a caller sees the old or
the new function, never both and never none.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
from psycopg.rows import class_row

from laneway.database.install_errors import InstallError
from laneway.database.patience import HeldError, is_passing
from laneway.database.sqlfiles import FunctionFile
from laneway.database.sqltext import Made, Statement, identifier, literal, trusted

__all__ = ["DependentError", "apply_file", "drop_made", "drop_views", "pin", "signatures", "told"]

_CANNOT_REPLACE = (
    psycopg.errors.InvalidFunctionDefinition,
    psycopg.errors.InvalidTableDefinition,
    psycopg.errors.WrongObjectType,
)


class DependentError(Exception):
    """Something to be dropped still has policies or views on it: everything must be made again."""

    def __init__(self, error: psycopg.errors.DependentObjectsStillExist) -> None:
        super().__init__(str(error))
        self.fact = error.diag.message_primary or "objects depend on it"
        self.detail = error.diag.message_detail or ""


@dataclass(frozen=True, slots=True)
class _Version:
    """A function as one row of the catalogue: replaced, it is another row of the same oid."""

    oid: int
    row: str
    signature: str


def apply_file(conn: psycopg.Connection, file: FunctionFile) -> None:
    """Runs the statements of a file."""
    for statement in file.statements:
        with told(f"functions/{file.name}", text=statement.text, line=statement.line):
            if any(made.kind == "function" for made in statement.makes):
                _replace(conn, statement)
            else:
                conn.execute(trusted(statement.text), prepare=False)


def _replace(conn: psycopg.Connection, statement: Statement) -> None:
    before = _versions(conn, statement.makes)
    try:
        with conn.transaction():
            conn.execute(trusted(statement.text), prepare=False)
    except _CANNOT_REPLACE:
        if not before:
            raise
        _drop(conn, before)
        conn.execute(trusted(statement.text), prepare=False)
    else:
        # a row that the statement did not touch is the same name with other arguments
        after = _versions(conn, statement.makes)
        _drop(conn, [version for version in before if version in after])


def _versions(conn: psycopg.Connection, makes: Sequence[Made]) -> list[_Version]:
    with conn.cursor(row_factory=class_row(_Version)) as cursor:
        rows = cursor.execute(
            """
            select p.oid::bigint as oid, p.ctid::text || p.xmin::text as row, p.oid::regprocedure::text as signature
            from pg_proc p
            join pg_namespace n on n.oid = p.pronamespace
            where n.nspname = current_schema() and p.proname = any (%s)
            order by 1
            """,
            [[made.name for made in makes if made.kind == "function"]],
        )
        return rows.fetchall()


def signatures(conn: psycopg.Connection, makes: Sequence[Made]) -> tuple[str, ...]:
    """The functions of these names that exist, with their arguments."""
    return tuple(version.signature for version in _versions(conn, makes))


def _drop(conn: psycopg.Connection, versions: Sequence[_Version]) -> None:
    for version in versions:
        _run_drop(conn, f"drop routine {version.signature}")


def drop_made(conn: psycopg.Connection, makes: Sequence[Made]) -> None:
    """Drops what no file makes any more."""
    drop_views(conn, makes)
    _drop(conn, _versions(conn, makes))


def drop_views(conn: psycopg.Connection, makes: Sequence[Made]) -> None:
    """Drops these views in one statement, so that they may stand on each other."""
    views = ", ".join(identifier(made.name) for made in makes if made.kind == "view")
    if views:
        _run_drop(conn, f"drop view if exists {views}")


def _run_drop(conn: psycopg.Connection, statement: str) -> None:
    try:
        conn.execute(trusted(statement), prepare=False)
    except psycopg.errors.DependentObjectsStillExist as error:
        raise DependentError(error) from error


def pin(function: str, setting: str, value: str) -> str:
    """The statement that pins a planner setting to a function."""
    return f"alter routine {identifier(function)} set {identifier(setting)} = {literal(value)}"


@contextmanager
def told(place: str, *, text: str, line: int = 1) -> Generator[None]:
    """Tells an error of the server with the file and the line it comes from."""
    try:
        yield
    except psycopg.Error as error:
        if is_passing(error):
            raise HeldError from error
        at = int(error.diag.statement_position or 1) - 1
        where = f"{place}, line {line + text.count(chr(10), 0, at)}"
        fact = error.diag.message_primary or str(error)
        hint = error.diag.message_hint or error.diag.message_detail or "Mend the file; nothing of it was applied."
        raise InstallError(f"{where}: {fact} ({error.sqlstate})", hint=hint) from error
