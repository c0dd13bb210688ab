"""The transition table is whole, says nothing that cannot be, and its page is up to date."""

from pathlib import Path
from uuid import UUID

import pytest
from seeing import FACES, Sight, effects, face
from situations import BUILDERS

from laneway.states import (
    Answer,
    AttemptState,
    Caller,
    JobState,
    Kind,
    Outcome,
    Situation,
    Verb,
    callers_of,
    transition,
    transitions,
)
from laneway.states.page import page

PAGE = Path(__file__).parents[2] / "docs/concepts/states.md"
LEAST_CELLS = 2660


def test_every_situation_verb_and_caller_has_its_cell() -> None:
    cells = {(situation, verb, caller) for situation, verb, caller, _ in transitions()}
    product = {(situation, verb, caller) for situation in Situation for verb in Verb for caller in callers_of(verb)}
    assert cells == product
    assert len(list(transitions())) == len(cells) >= LEAST_CELLS


def test_every_caller_and_every_answer_is_met() -> None:
    cells = list(transitions())
    assert {caller for *_, caller, _ in cells} == set(Caller)
    said_elsewhere = {Answer.REFUSED, Answer.CONFLICT}  # of a result, of a twin: tests/sql
    assert {cell.answer for *_, cell in cells} == set(Answer) - said_elsewhere
    assert set(BUILDERS) == set(FACES) == set(Situation)


def test_owner_verbs_and_operators_know_who_holds_the_row() -> None:
    for verb in Verb:
        if verb.kind in {Kind.OWNER, Kind.OPERATOR, Kind.SUPER_ADMIN}:
            assert Caller.BESIDE in callers_of(verb)


@pytest.mark.parametrize("caller", [Caller.SUPERSEDED, Caller.OTHER_INSTANCE, Caller.OTHER_TENANT])
def test_nobody_but_the_owner_changes_an_attempt(caller: Caller) -> None:
    for verb in Verb:
        if verb.kind is Kind.OWNER:
            for situation in Situation:
                if situation.state is JobState.RUNNING:
                    cell = transition(situation, verb, caller)
                    assert (cell.answer, cell.becomes) == (Answer.STALE, situation)
                    assert cell.changes <= {"worker.seen_at"}


def test_a_refused_call_changes_nothing() -> None:
    for situation, _, _, cell in transitions():
        if cell.answer.is_raised or cell.answer in {Answer.NOT_FOUND, Answer.ENDED, Answer.DUPLICATE}:
            assert not cell.changes
            assert cell.becomes is situation or cell.answer is Answer.DUPLICATE or cell.answer is Answer.ENDED


def test_an_end_is_left_by_retry_alone() -> None:
    for situation, verb, _, cell in transitions():
        if situation.state is not None and situation.state.is_terminal and cell.becomes is not situation:
            assert verb is Verb.RETRY


def test_every_outcome_is_a_state_of_an_attempt() -> None:
    assert [AttemptState.of(outcome).name for outcome in Outcome] == [outcome.name for outcome in Outcome]


def test_the_page_is_what_the_table_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python -m laneway.states"


def test_a_planted_change_is_seen() -> None:
    row = {"tenant_id": "t", "job_id": "00000000-0000-7000-8000-00000000dead", "state": 1, "is_cancel_requested": False}
    key = ("live", "t", row["job_id"])
    before = Sight({key: row, ("job", "1"): {"id": "1"}})
    after = Sight({key: row | {"is_cancel_requested": True}, ("audit", "2"): {"id": "2"}})
    assert effects(before, after) == {"live.is_cancel_requested", "audit+", "job-"}
    assert effects(before, before) == frozenset()
    both = Sight({key: row, ("later", "t", row["job_id"]): row})
    with pytest.raises(AssertionError, match="two phase tables"):
        face(both, UUID(row["job_id"]))
