"""All orders, each once; an order that cannot happen is told."""

from math import factorial

import pytest

from kit.database import Database
from kit.lab import Lab, LabError
from kit.orders import ImpossibleOrderError, MayWait, interleavings, play

BEGIN = "begin"
HOLD = "select 1 from laneway.setting for update"
COMMIT = "commit"


@pytest.fixture
def lab(database: Database):
    with Lab(database, "a", "b") as lab:
        yield lab


def test_every_order_comes_once_and_keeps_the_order_of_each_session():
    orders = list(interleavings(a=[1, 2], b=[1, 2, 3], c=[1]))
    assert len(orders) == factorial(6) // (factorial(2) * factorial(3))
    assert len(set(orders)) == len(orders)
    assert all([step for name, step in order if name == "b"] == [1, 2, 3] for order in orders)


def test_no_steps_are_one_order():
    assert list(interleavings()) == list(interleavings(a=[])) == [()]


def test_answers_come_by_session_and_in_their_order(lab: Lab):
    order = (("a", ("select %s::int", [1])), ("b", ("select 2",)), ("a", "select 3"))
    assert play(lab, order) == {"a": [[(1,)], [(3,)]], "b": [[(2,)]]}


def test_orders_that_cannot_happen_are_told_and_the_others_are_played(lab: Lab):
    played, impossible = 0, 0
    for order in interleavings(a=[BEGIN, MayWait(HOLD), COMMIT], b=[BEGIN, MayWait(HOLD), COMMIT]):
        try:
            answers = play(lab, order)
        except ImpossibleOrderError:
            impossible += 1
        else:
            assert answers["a"] == answers["b"] == [[], [(1,)], []]
            played += 1
        lab.reset()
    # the second hold stands from the first hold to its commit: then nothing of its own can come
    assert (played, impossible) == (14, 6)


def test_a_wait_in_an_order_that_was_not_declared_fails(lab: Lab):
    with pytest.raises(LabError, match="nothing said that it may"):
        play(lab, (("a", BEGIN), ("a", HOLD), ("b", HOLD)))


def test_an_order_that_ends_with_somebody_waiting_cannot_happen(lab: Lab):
    with pytest.raises(ImpossibleOrderError, match="b waits at the end"):
        play(lab, (("a", BEGIN), ("a", HOLD), ("b", MayWait(HOLD))))
