"""A checker that never failed proves nothing: every invariant reports what breaks it, and no other one does."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from plants import ORPHANS, PLANTS, Plant

from laneway.verify import Violation, verify
from laneway.verify.invariants import invariants

SENTENCE = re.compile(r"'([a-z_][^'\n]* [^'\n]* [^'\n]*)'")


@contextmanager
def planted(busy, statement: str) -> Iterator[psycopg.Connection]:
    """The history with a fault in it, for as long as it is looked at."""
    with busy.conn.transaction():
        for part in statement.split(";"):
            busy.conn.execute(part, busy.history.ids)
        yield busy.conn
        raise psycopg.Rollback


def said(violation: Violation) -> str:
    return " | ".join(str(value) for row in violation.rows for value in (*row, *row.values()))


@pytest.mark.parametrize("role", [None, "admin"])
@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: f"{plant.invariant}-{plant.wrong}")
def test_a_violation_is_reported_by_its_invariant_alone(busy, plant: Plant, role):
    with planted(busy, plant.statement) as conn:
        if role is not None:
            conn.execute(f"set local role laneway_{role}")
        violations = {violation.invariant: violation for violation in verify(conn)}
    assert violations.keys() == {plant.invariant} | plant.also
    assert plant.wrong in said(violations[plant.invariant])


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: f"{plant.invariant}-{plant.wrong}")
def test_a_sample_that_holds_everything_reports_what_a_full_look_does(busy, plant: Plant):
    with planted(busy, plant.statement) as conn:
        assert {violation.invariant for violation in verify(conn, sample=1000)} == {plant.invariant} | plant.also


@pytest.mark.parametrize("table", ORPHANS)
def test_an_orphan_is_reported(busy, table):
    with planted(busy, ORPHANS[table]) as conn:
        assert "I7" in {violation.invariant for violation in verify(conn)}


def test_every_table_of_tenants_has_an_orphan_that_is_reported(busy):
    tables = busy.conn.execute(
        "select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace"
        " join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id'"
        " where n.nspname = 'laneway' and c.relkind in ('r', 'p') and not c.relispartition"
    ).fetchall()
    assert {table for (table,) in tables} == ORPHANS.keys()


def test_every_sentence_of_every_invariant_was_said():
    unsaid = {
        (invariant.number, sentence)
        for invariant in invariants()
        for sentence in SENTENCE.findall(re.sub("--.*", "", invariant.query))
        if not any(plant.invariant == invariant.number and sentence.strip() in plant.wrong for plant in PLANTS)
    }
    orphans = {("I7", "has no job of this definition"), ("I7", "has no tenant or definition"), ("I7", "has no tenant")}
    pieces = {("I12", " jobs that are "), ("I20", "replaced by %")}
    assert unsaid <= orphans | pieces


def test_rows_are_bounded(busy):
    with planted(
        busy,
        "insert into job_key (tenant_id, def_id, kind, key, job_id)"
        " select %(acme)s, %(echo)s, 0, 'x' || n, %(done)s from generate_series(1, 1000) n",
    ) as conn:
        (violation,) = verify(conn)
    assert len(violation.rows) == 100
