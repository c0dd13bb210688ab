"""Batches beside an open transaction of one tenant: what it does not hold is answered at once."""

from dataclasses import replace
from itertools import product

import pytest
from scene import Gate, Scene, Transaction, item_by_item
from stage import Stage
from words import Word, operator, owner_batch, sweep

from language import LEASE, Answer, ExtendAnswer

OPEN = Transaction()
JOBS = ("first", "last", "middle")
DONE = {
    "complete": Answer.ACCEPTED,
    "fail": Answer.ACCEPTED,
    "release": Answer.ACCEPTED,
    "extend": ExtendAnswer.OK,
}


def three_running(stage: Stage) -> None:
    # in the order of their ids the one in the middle is the second
    for name in ("first", "middle", "last"):
        stage.claimed(name)


def three_over(stage: Stage) -> None:
    three_running(stage)
    stage.clock.move(LEASE)


@pytest.mark.parametrize("verb", DONE)
@pytest.mark.parametrize("by", ["cancel", "force_cancel"])
def test_a_batch_and_a_cancel_of_one_of_it(lab, house, by, verb):
    scene = Scene(lab, house, three_running, allows=item_by_item(JOBS))
    played = sum(
        scene.play_all(a=(owner_batch(verb, jobs), cut), b=(operator(by, "middle"), Transaction(ends)))
        for jobs, cut in ((JOBS, Gate("live.%.before")), (JOBS[::-1], OPEN))
        for ends in ("commit", "rollback")
    )
    assert played == 24


@pytest.mark.parametrize("verb", DONE)
def test_the_rest_of_the_batch_is_answered_at_once(lab, house, verb):
    stage = house.stage()
    three_running(stage)
    lab.begin("b")
    lab("b", "cancel_one", stage.tenant, stage.jobs["middle"])
    answers = lab("a", owner_batch(verb, JOBS).say, stage)
    assert answers == [DONE[verb], DONE[verb], type(DONE[verb]).BUSY]
    lab.rollback("b")
    assert lab("a", owner_batch(verb, ["middle"]).say, stage) == [DONE[verb]]
    lab.verify()
    stage.strike()


@pytest.mark.parametrize("pair", [("complete", "extend"), ("release", "fail"), ("complete", "complete")], ids="-".join)
def test_two_batches_in_opposite_orders(lab, house, pair):
    scene = Scene(lab, house, three_running, allows=item_by_item(JOBS))
    words: list[Word] = [owner_batch(verb, jobs) for verb, jobs in zip(pair, (JOBS, JOBS[::-1]), strict=True)]
    cuts = (OPEN, Gate("live.%.before", 1))
    played = sum(scene.play_all(a=(words[0], cut), b=(words[1], other)) for cut, other in product(cuts, cuts))
    assert played == 24


def test_a_batch_and_the_sweep(lab, house):
    scene = Scene(lab, house, three_over, allows=item_by_item(JOBS))
    played = sum(
        scene.play_all(a=(owner_batch("complete", JOBS), cut), b=(replace(sweep(), shown=lambda _: "done"), other))
        for cut, other in product((OPEN, Gate("live.delete.before", 1)), (OPEN, Gate("live.delete.before", 1)))
    )
    assert played == 24


PERMUTATIONS = 8 * 24 + 3 * 24 + 24
