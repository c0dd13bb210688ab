"""The lab sees who waits, and a step that waits or does not against its declaration fails."""

import re

import psycopg
import pytest

from kit.database import Database
from kit.lab import WAITS, Lab, LabError
from language import LEASE, Answer, Claim, Swept

HOLD_A_ROW = "select 1 from laneway.setting for update"
TAKE_ALONE = "select pg_advisory_lock(1)"


@pytest.fixture
def lab(database: Database):
    with Lab(database, "a", "b", "c", deadline=5) as lab:
        yield lab


@pytest.fixture
def claim(lab: Lab) -> Claim:
    """A job that runs."""
    lab.heart.define()
    lab.heart.job(lab.heart.tenant())
    return lab.heart.worker().claim_one()


def test_a_step_is_a_verb_a_statement_or_a_callable(lab: Lab):
    lab("a", "define", "echo")
    assert lab("a", "select key from definition where key = %s", ["echo"]) == [("echo",)]
    assert lab("a", lambda heart, key: heart.def_id(key), "echo") == lab("b", "def_id", "echo")


def test_an_error_of_a_step_is_raised_where_it_is_said(lab: Lab):
    with pytest.raises(psycopg.errors.DivisionByZero):
        lab("a", "select 1 / 0")


def test_a_session_that_waits_for_another_says_so_and_answers_when_it_may_go_on(lab: Lab):
    lab.begin("a")
    lab("a", HOLD_A_ROW)
    assert lab.waits("b", HOLD_A_ROW) is WAITS
    assert lab.is_waiting("b")
    lab.commit("a")
    assert not lab.is_waiting("b")
    assert lab.answer("b") == [(1,)]


def test_a_wait_that_nothing_declared_fails_and_tells_where_everybody_stands(lab: Lab):
    lab.begin("a")
    lab("a", TAKE_ALONE)
    with pytest.raises(
        LabError, match=r"(?s)nothing said that it may.*said:.*b: select pg_advisory_lock.*stands:.*Lock"
    ):
        lab("b", TAKE_ALONE)
    lab("a", "select pg_advisory_unlock(1)")


def test_a_step_that_was_to_wait_and_answers_fails(lab: Lab):
    with pytest.raises(LabError, match=re.escape("was to wait and answered [(1,)]")):
        lab.waits("a", "select 1")


def test_a_step_that_neither_answers_nor_waits_for_the_lab_fails_after_the_deadline(database: Database):
    stranger = database.connect(autocommit=False)
    stranger.execute(HOLD_A_ROW)
    with Lab(database, "a", deadline=0.2) as lab:
        with pytest.raises(LabError, match=r"neither answered nor waiting after 0\.2 s"):
            lab("a", HOLD_A_ROW)
        stranger.rollback()
        assert lab.answer("a") == [(1,)]


def test_an_answer_that_is_not_there_cannot_be_asked(lab: Lab):
    with pytest.raises(LabError, match="was asked nothing"):
        lab.answer("a")
    lab.begin("a")
    lab("a", HOLD_A_ROW)
    lab.waits("b", HOLD_A_ROW)
    with pytest.raises(LabError, match="still waits"):
        lab.answer("b")
    with pytest.raises(LabError, match="has not been answered"):
        lab("b", "select 1")


def test_a_verb_stands_at_a_gate_between_its_lock_and_its_write(lab: Lab, claim: Claim):
    lab.gate("g", "a", at="live.delete.before")
    assert lab("a", "complete_one", claim) is WAITS
    lab.tick(LEASE + 1)
    assert lab("b", "sweep") == Swept(0, 0, 0, 0)
    assert lab("c", "complete_one", claim) == Answer.BUSY
    lab.open("g")
    assert lab.answer("a") == Answer.ACCEPTED
    assert lab.heart.state(claim.job_id) == "succeeded"


def test_a_verb_stands_at_a_gate_before_it_reads_the_clock(lab: Lab, claim: Claim):
    lab.gate("g", "b", at="clock")
    assert lab("b", "sweep") is WAITS
    lab.tick(LEASE + 1)
    lab.open("g")
    assert lab.answer("b") == Swept(swept=1, lost=1, timed_out=0, failed=0)
    assert lab("a", "complete_one", claim) == Answer.STALE


def test_a_gate_lets_as_many_pass_as_it_is_told(lab: Lab):
    lab.gate("g", "a", at="clock", skip=2)
    assert len(lab("a", "select clock(), clock()")) == 1
    assert lab("a", "select clock()") is WAITS
    lab.open("g")
    lab.answer("a")
    assert len(lab("a", "select clock()")) == 1


def test_a_gate_is_for_the_session_it_is_shut_for(lab: Lab):
    lab.gate("g", "a", at="clock")
    assert len(lab("b", "select clock()")) == 1
    assert lab("a", "select clock()") is WAITS
    lab.open("g")


def test_a_reset_frees_everybody_and_tells_an_error_that_nobody_asked_for(lab: Lab):
    lab.gate("g", "a", at="clock")
    assert lab("a", "select 1 / extract(microsecond from clock())::integer") is WAITS
    lab.begin("b")
    lab("b", HOLD_A_ROW)
    lab.waits("c", HOLD_A_ROW)
    with pytest.raises(psycopg.errors.DivisionByZero):
        lab.reset()
    assert lab("a", HOLD_A_ROW) == lab("b", HOLD_A_ROW) == [(1,)]


def test_gates_leave_no_trace_in_other_databases(sql):
    assert sql.execute("select count(*) from pg_trigger where not tgisinternal").fetchone() == (0,)
