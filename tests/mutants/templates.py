"""A template database with a mutant in it, for the tests to clone."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from mutations import Mutant, mutate
from psycopg import sql
from psycopg.conninfo import make_conninfo

from kit.template import ensure_template, freeze, prepare_database, put_test_clock
from laneway.database.install import install
from laneway.database.install_errors import InstallError
from laneway.database.sqlfiles import SqlFiles

__all__ = ["UNBROKEN", "Broken", "UnsoundError", "mutated_template"]

UNBROKEN = Mutant(id="unbroken", group="", says="nothing is broken, every function was run again")


class UnsoundError(Exception):
    """PostgreSQL or the installer refuses the mutant: nothing to kill."""


SOURCE = Path(__file__).parents[2] / "src" / "laneway"


@dataclass(frozen=True, slots=True)
class Broken:
    """A template to clone, and where Python finds the mutated package; None: where it always does."""

    template: str
    path: Path | None


@contextmanager
def mutated_template(dsn: str, mutant: Mutant) -> Iterator[Broken]:
    """It is there as long as the context is open."""
    name = f"lw_mutant_{mutant.id}".lower().replace("-", "_")
    with (
        psycopg.connect(dsn, autocommit=True) as conn,
        tempfile.TemporaryDirectory(prefix="laneway-mutant-") as folder,
    ):
        base = ensure_template(conn, dsn)
        _remove(conn, name)
        try:
            files = _mutated_files(mutant, Path(folder) / "laneway")
            if any(change.file.startswith("migrations/") for change in mutant.changes):
                base = "template0"
            unfinished = f"{name}_unfinished"
            conn.execute(
                sql.SQL("create database {} template {} strategy file_copy").format(
                    sql.Identifier(unfinished), sql.Identifier(base)
                )
            )
            _break(make_conninfo(dsn, dbname=unfinished), mutant, files, is_new=base == "template0")
            freeze(conn, unfinished, name)
            is_python = any(change.file.startswith("../") for change in mutant.changes)
            yield Broken(name, Path(folder) if is_python else None)
        finally:
            _remove(conn, name)


def _mutated_files(mutant: Mutant, folder: Path) -> SqlFiles:
    shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    mutate(mutant, folder / "sql")
    for file in (folder / "sql" / "functions").glob("*.sql") if mutant is UNBROKEN else ():
        file.write_text(f"{file.read_text('utf-8')}-- the same, run again\n", "utf-8")
    try:
        return SqlFiles.from_directory(folder / "sql")
    except InstallError as error:
        raise UnsoundError(str(error)) from error


def _break(dsn: str, mutant: Mutant, files: SqlFiles, *, is_new: bool) -> None:
    with psycopg.connect(dsn, autocommit=True) as inside:
        try:
            install(inside, files=files)
            if is_new:
                prepare_database(inside)
            else:
                # an upgrade puts the real clock back; the ids go on where those of the template ended
                put_test_clock(inside)
                inside.execute("select setval('laneway_test.ids', 1000000)")
            for statement in mutant.statements:
                inside.execute("set search_path to laneway, pg_temp")
                inside.execute(sql.SQL(statement))
        except (InstallError, psycopg.Error) as error:
            raise UnsoundError(str(error)) from error


def _remove(conn: psycopg.Connection, name: str) -> None:
    for database in (name, f"{name}_unfinished"):
        conn.execute("update pg_database set datistemplate = false where datname = %s", [database])
        conn.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(database)))
