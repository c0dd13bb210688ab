"""Outcomes wait until they are answered: what becomes of each answer, and of a call that spoils."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest

from laneway.errors import ConnectionLost, Refused
from laneway.model.claim import Claim, ReportAnswer
from laneway.worker.holding import Held, Holding
from laneway.worker.outcome import Canceled, Failed, Outcome, Released, Snoozed, Succeeded
from laneway.worker.reporter import BUSY_SECONDS, UNSTORABLE, Reporter

WORKER = uuid4()
ACCEPTED, BUSY, STALE, REFUSED = (
    ReportAnswer.ACCEPTED,
    ReportAnswer.BUSY,
    ReportAnswer.STALE,
    ReportAnswer.REFUSED,
)


class Line:
    """Answers as it is told, and remembers what was asked."""

    def __init__(self, *answers: Sequence[ReportAnswer] | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, list[UUID]]] = []

    async def run(self, call: Any) -> Any:
        self.asked.append((call.function, call.arguments["jobs"].value))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return list(answer)


class Clock:
    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def holding() -> Holding:
    return Holding()


@pytest.fixture
def reporter(holding: Holding, clock: Clock) -> Reporter:
    return Reporter(WORKER, holding, now=clock)


def hold(holding: Holding) -> Held:
    now = datetime.now(UTC)
    (held,) = holding.hold([Claim(uuid4(), uuid4(), 1, 1, 3, 100, now, 60, now, None, None, "{}")], sent_at=0.0)
    return held


def add(reporter: Reporter, holding: Holding, outcome: Outcome) -> Held:
    held = hold(holding)
    reporter.add(held, outcome)
    return held


def flush(reporter: Reporter, line: Line) -> None:
    asyncio.run(reporter.flush(line))


def test_what_is_accepted_is_held_no_more(reporter, holding):
    add(reporter, holding, Succeeded(None))
    flush(reporter, Line([ACCEPTED]))
    assert (len(reporter), len(holding)) == (0, 0)


def test_outcomes_of_a_kind_go_in_one_call(reporter, holding):
    first, second = (add(reporter, holding, Succeeded('"a"')) for _ in range(2))
    failed = [add(reporter, holding, Failed(error="{}", reason="x")) for _ in range(3)]
    released = add(reporter, holding, Released("y"))
    line = Line([ACCEPTED] * 2, [ACCEPTED] * 3, [ACCEPTED])
    flush(reporter, line)
    assert line.asked == [
        ("complete", [first.ref.job, second.ref.job]),
        ("fail", [held.ref.job for held in failed]),
        ("release", [released.ref.job]),
    ]


@pytest.mark.parametrize(
    ("outcome", "function"),
    [
        (Succeeded(None), "complete"),
        (Failed(error="{}", reason="x"), "fail"),
        (Snoozed(5.0, None), "snooze"),
        (Released("x"), "release"),
        (Canceled("x"), "cancel_attempt"),
    ],
    ids=str,
)
class TestEachKind:
    def test_a_cut_leaves_it_to_be_said_again(self, reporter, holding, outcome, function):
        held = add(reporter, holding, outcome)
        with pytest.raises(ConnectionLost):
            flush(reporter, Line(ConnectionLost("cut", known="")))
        assert holding.is_known(held.ref)
        line = Line([ReportAnswer.DUPLICATE])
        flush(reporter, line)
        assert line.asked == [(function, [held.ref.job])]
        assert len(holding) == 0

    def test_busy_is_said_again_a_little_later_alone(self, reporter, holding, clock, outcome, function):
        held = add(reporter, holding, outcome)
        line = Line([BUSY], [ACCEPTED])
        flush(reporter, line)
        assert (reporter.is_due, reporter.busy_for) == (False, pytest.approx(BUSY_SECONDS))
        flush(reporter, line)
        assert len(line.asked) == 1
        clock.at += BUSY_SECONDS
        assert reporter.is_due
        flush(reporter, line)
        assert (line.asked, len(holding)) == ([(function, [held.ref.job])] * 2, 0)

    def test_stale_leaves_nothing_to_say(self, reporter, holding, outcome, function):
        add(reporter, holding, outcome)
        flush(reporter, Line([STALE]))
        assert (len(reporter), len(holding), reporter.stale) == (0, 0, 1), function

    def test_what_was_fenced_is_not_said_at_all(self, reporter, holding, outcome, function):
        add(reporter, holding, outcome).is_lost = True
        line = Line()
        flush(reporter, line)
        assert (line.asked, len(holding)) == ([], 0), function


def test_one_that_spoils_the_call_spoils_no_other(reporter, holding):
    good, bad, last = (add(reporter, holding, Succeeded('"a"')) for _ in range(3))
    spoiled = Refused("results: malformed", code="malformed")
    line = Line(spoiled, [ACCEPTED], spoiled, [ACCEPTED], [ACCEPTED])
    flush(reporter, line)
    assert [function for function, _ in line.asked] == ["complete"] * 4 + ["fail"]
    assert line.asked[-1][1] == [bad.ref.job]
    assert not any(holding.is_known(held.ref) for held in (good, bad, last))


def test_a_result_that_is_refused_ends_the_attempt_for_good(reporter, holding):
    held = add(reporter, holding, Succeeded('"large"'))
    line = Line([REFUSED], [ACCEPTED])
    flush(reporter, line)
    assert line.asked == [("complete", [held.ref.job]), ("fail", [held.ref.job])]
    assert UNSTORABLE.is_permanent


def test_an_end_that_cannot_be_stored_either_is_given_up(reporter, holding):
    add(reporter, holding, Succeeded('"large"'))
    flush(reporter, Line([REFUSED], [REFUSED]))
    assert (len(reporter), len(holding)) == (0, 0)


def test_successes_taken_for_a_claim_come_back_when_it_is_cut(reporter, holding):
    held = add(reporter, holding, Succeeded(None))
    taken = reporter.take_successes()
    assert not reporter.is_due
    reporter.unanswered(taken)
    line = Line([ACCEPTED])
    flush(reporter, line)
    assert line.asked == [("complete", [held.ref.job])]
