"""The function files say nothing that they may not, and the searches would find it."""

from collections.abc import Callable
from textwrap import dedent
from typing import TypeAlias

import pytest
from sql_sources import (
    Source,
    dynamic_statements,
    function_files,
    other_clocks,
    session_locks,
    volatile_clauses,
)

FILES = pytest.mark.parametrize("source", function_files(), ids=lambda source: source.name)
CLOCK_FILES = {
    "foundation.sql": "makes clock() and new_id()",
    "context.sql": "a running transaction keeps the context it began with: now()",
}
LOCK_FILES = {"doorbell.sql": "a sleeping worker holds a lock of its session: a hint"}
DYNAMIC_FILES = {"retention.sql": "names and bounds of partitions are data"}
# What an update sets may read the clock where the reading must come after the lock of the row.
CLOCK_AFTER_LOCK = {"start_attempts"}

Search: TypeAlias = Callable[[Source], list[str]]


@FILES
def test_only_the_clock_reads_the_time(source: Source):
    if source.name not in CLOCK_FILES:
        assert other_clocks(source) == []


def test_a_context_reads_the_start_of_its_transaction_and_no_other_clock():
    (source,) = (source for source in function_files() if source.name == "context.sql")
    assert {place.partition(": ")[2] for place in other_clocks(source)} == {"now()"}


@FILES
def test_a_session_holds_no_advisory_lock_but_for_the_doorbell(source: Source):
    if source.name not in LOCK_FILES:
        assert session_locks(source) == []


@FILES
def test_no_statement_is_put_together_but_for_partitions(source: Source):
    if source.name not in DYNAMIC_FILES:
        assert dynamic_statements(source) == []


@FILES
def test_a_verb_reads_the_clock_once_and_no_condition_calls_a_volatile_function(source: Source):
    found = [place for place in volatile_clauses(source) if place.partition(":")[0] not in CLOCK_AFTER_LOCK]
    assert found == []


PLANTED = """
    create or replace function planted() returns void
    language plpgsql volatile
    as $$
    declare
        v_row record;
        v_now timestamptz;
    begin
        %s
    end
    $$;
    comment on function planted() is 'Nobody may execute now() or pg_advisory_lock() here.';
"""


@pytest.mark.parametrize(
    ("search", "statement"),
    [
        (other_clocks, "perform now();"),
        (other_clocks, "v_now := current_timestamp;"),
        (other_clocks, "v_now := Statement_Timestamp( );"),
        (other_clocks, "v_now := 'select localtime';"),
        (session_locks, "perform pg_advisory_lock(1);"),
        (session_locks, "if pg_try_advisory_lock_shared (1, 2) then null; end if;"),
        (dynamic_statements, "execute 'select 1';"),
        (volatile_clauses, "update live set until = clock() + v_lease;"),
        (volatile_clauses, "delete from live where until <= clock();"),
        (volatile_clauses, "perform from live l join later r on r.due_at < clock();"),
        (volatile_clauses, "insert into stuck values (1) on conflict (id) do update set at = clock();"),
        (volatile_clauses, "select (select 1 as one from live where random() < 0.5) as one into v_row;"),
        (volatile_clauses, "for v_row in select * from live where job_id = new_id() loop null; end loop;"),
    ],
)
def test_what_may_not_be_said_is_found(search: Search, statement: str):
    assert len(search(planted(statement))) == 1


@pytest.mark.parametrize(
    ("search", "statement"),
    [
        (other_clocks, "perform clock(); -- not now()"),
        (session_locks, "perform pg_advisory_xact_lock(1);"),
        (dynamic_statements, "perform 'execute';"),
        (volatile_clauses, "select clock(), random() from live where until <= v_now;"),
    ],
)
def test_what_may_be_said_is_let_alone(search: Search, statement: str):
    assert search(planted(statement)) == []


def planted(statement: str) -> Source:
    return Source("planted.sql", dedent(PLANTED) % statement)
