"""A correct history breaks no invariant, whoever looks and however much of it."""

import re

import psycopg
import pytest
from psycopg import sql

from laneway.verify import run, verify
from laneway.verify.invariants import invariants


@pytest.mark.parametrize("role", [None, "admin"])
def test_a_correct_history_breaks_nothing(busy, role):
    with busy.database.connect(role=role) as conn:
        assert verify(conn) == []


@pytest.mark.parametrize("sample", [1, 5, 1000])
@pytest.mark.parametrize("role", [None, "admin"])
def test_no_sample_of_a_correct_history_breaks_anything(busy, role, sample):
    with busy.database.connect(role=role) as conn:
        for _ in range(10):
            assert verify(conn, sample=sample) == []


def test_the_history_is_busy(busy):
    rows = busy.conn.execute(
        "select distinct outcome_word(outcome) from attempt union select distinct state_word(final_state) from attempt"
    ).fetchall()
    assert {word for (word,) in rows if word} == {
        "succeeded", "failed", "timeout", "canceled", "lost", "released", "snoozed", "dead_letter",
    }  # fmt: skip


def test_a_look_neither_writes_nor_leaves_a_trace_in_the_session(busy):
    with busy.database.connect(autocommit=False) as conn:
        before = conn.execute("show search_path").fetchone()
        verify(conn)
        assert conn.execute("show search_path").fetchone() == before
        assert conn.execute("select pg_current_xact_id_if_assigned()").fetchone() == (None,)


def test_it_runs_where_nothing_can_be_written(busy):
    with busy.database.connect() as conn:
        conn.execute("set default_transaction_read_only to on")
        assert verify(conn) == []
        assert verify(conn, sample=10) == []


def test_a_temporary_table_does_not_stand_in_for_one_of_ours(busy):
    with busy.database.connect() as conn:
        conn.execute("create temporary table live (like laneway.live)")
        conn.execute("insert into pg_temp.live select * from laneway.live where state = 0 limit 1")
        conn.execute("update pg_temp.live set state = 7")
        assert verify(conn) == []


def test_a_login_that_may_not_read_is_refused(busy):
    with busy.database.connect(role="worker") as conn, pytest.raises(psycopg.errors.InsufficientPrivilege):
        verify(conn)


def test_a_look_at_many_jobs_does_not_look_at_all_of_them_for_each(busy):
    """With the settings of a full look: no relation is read again per row of another."""
    with busy.database.connect() as conn:
        conn.execute("set enable_nestloop to off")
        plan = [line for (line,) in conn.execute(sql.SQL("explain ") + run._whole()).fetchall()]
    per_row = [line for line in plan if re.search(r"(?<!hashed )SubPlan \d+\)", line)]
    assert per_row == []


def test_a_sample_of_nothing_is_refused(busy):
    with pytest.raises(ValueError, match="sample: 0 jobs"):
        verify(busy.conn, sample=0)


def test_every_invariant_says_what_always_holds():
    numbers = [invariant.number for invariant in invariants()]
    assert numbers == sorted(set(numbers), key=lambda number: int(number[1:]))
    assert numbers == ["I1", "I2", "I4", "I5", "I6", "I7", "I12", "I14", "I15", "I18", "I20"]
    assert all(invariant.title.endswith((".", "outside.")) for invariant in invariants())
