"""Runs the invariants: all in one snapshot, reading only, on any connection that may read the tables."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import LiteralString

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus

from laneway.verify.invariants import Invariant, invariants, packaged

__all__ = ["MOST_ROWS", "Violation", "verify"]

MOST_ROWS = 100
"""Rows that one invariant reports; more of them say nothing new."""


@dataclass(frozen=True, slots=True)
class Violation:
    """An invariant that does not hold, and rows that break it, `MOST_ROWS` at most."""

    invariant: str
    title: str
    rows: tuple[Mapping[str, object], ...]


def verify(conn: psycopg.Connection, *, schema: str = "laneway", sample: int | None = None) -> list[Violation]:
    """The invariants that do not hold, none when all is well.

    In one snapshot of its own, or, where the caller is in a transaction, in that one. With `sample`, so many jobs of
    those that ended and of those that did not are looked at, with the twins of their dedupe keys, instead of all.
    """
    if sample is not None and sample < 1:
        raise ValueError(f"sample: {sample} jobs are none to look at; give 1 or more, or leave it out to look at all")
    with _reading(conn, _settings(conn, schema=schema, sample=sample)):
        rows = conn.execute(_whole()) if sample is None else conn.execute(_sampled(), _draw(conn, sample))
        return _sorted_out(rows.fetchall())


@contextmanager
def _reading(conn: psycopg.Connection, settings: Mapping[str, str]) -> Generator[None]:
    """One snapshot where the transaction is ours; a caller's is left as it was found, its settings included."""
    is_ours = conn.info.transaction_status == TransactionStatus.IDLE
    with conn.transaction():
        if is_ours:
            conn.execute("set transaction isolation level repeatable read read only")
        before = _put(conn, settings)
        yield
        _put(conn, before)


def _settings(conn: psycopg.Connection, *, schema: str, sample: int | None) -> Mapping[str, str]:
    # what is ours comes first, and nobody's temporary table before it
    settings = {"search_path": sql.SQL("{}, pg_temp").format(sql.Identifier(schema)).as_string(conn)}
    if sample is not None:
        return settings
    # nothing is known of how many rows a relation of the surface has: a wrong guess costs hours
    return settings | {"enable_nestloop": "off", "jit": "off"}


def _put(conn: psycopg.Connection, settings: Mapping[str, str]) -> Mapping[str, str]:
    """Puts settings in force until the transaction ends; answers what was in force before."""
    names, values = list(settings), list(settings.values())
    # the volatile call comes second: a row's columns are computed from left to right
    rows = conn.execute(
        "select s.name, current_setting(s.name), set_config(s.name, s.value, true)"
        " from unnest(%s::text[], %s::text[]) as s (name, value)",
        [names, values],
    ).fetchall()
    return {str(name): str(before) for name, before, _ in rows}


def _sorted_out(rows: Sequence[tuple[str, Mapping[str, object]]]) -> list[Violation]:
    return [
        Violation(invariant.number, invariant.title, broken)
        for invariant in invariants()
        if (broken := tuple(row for number, row in rows if number == invariant.number))
    ]


@cache
def _whole() -> sql.Composed:
    return _query(packaged("surface.sql"))


@cache
def _sampled() -> sql.Composed:
    # a literal percent sign would be taken for a parameter
    return _query(packaged("sample.sql") + ",\n" + packaged("surface.sql").replace("%", "%%"), percent="%%")


def _query(relations: LiteralString, *, percent: LiteralString = "%") -> sql.Composed:
    """All invariants in one statement: each relation of the surface is read once, in one snapshot."""
    parts = [_part(invariant, percent=percent) for invariant in invariants()]
    return sql.SQL("with\n" + relations + "\n") + sql.SQL("\nunion all\n").join(parts)


def _part(invariant: Invariant, *, percent: LiteralString) -> sql.Composed:
    # as JSON: what is broken may hold values that a driver cannot, such as a time without an end
    return sql.Composed(
        [
            sql.SQL("select "),
            sql.Literal(invariant.number),
            sql.SQL(
                "::text, row_to_json(v) from (select * from (\n"  # noqa: S608 -- files of ours
                + invariant.query.replace("%", percent)
                + "\n) v limit "
            ),
            sql.Literal(MOST_ROWS),
            sql.SQL(") v"),
        ]
    )


def _draw(conn: psycopg.Connection, most: int) -> Mapping[str, Sequence[object]]:
    shares = {table: _share(conn, table, most) for table in ("job", "live", "later", "waiting")}
    rows = conn.execute(packaged("draw.sql"), {**shares, "most": most}).fetchall()
    return {
        "tenants": [tenant for tenant, _, _ in rows],
        "definitions": [definition for _, definition, _ in rows],
        "jobs": [job for _, _, job in rows],
    }


def _share(conn: psycopg.Connection, table: str, most: int) -> float:
    """Percent of a table's pages that hold so many rows: every page holds one at least."""
    row = conn.execute(
        "select coalesce((select sum(pg_relation_size(p.relid)) from pg_partition_tree(t.id) p where p.isleaf),"
        " pg_relation_size(t.id)) / current_setting('block_size')::integer"
        " from (select %s::regclass as id) t",
        [table],
    ).fetchone()
    pages = float(row[0] or 0) if row is not None else 0.0
    return 100.0 if pages <= most else 100.0 * most / pages
