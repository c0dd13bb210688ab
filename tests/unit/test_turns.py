"""Turns are shared out by weight, exactly, whatever the calls; a full claim is asked for when it is needed."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laneway.turns import FULL_CLAIM_AT_LEAST_EVERY, FULL_CLAIM_EVERY, Found, Lane, Share, Taken, Turns, quantum_of

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
START = 1000.0


def tenant(number: int) -> UUID:
    return UUID(int=number)


def rank(seconds: float) -> datetime:
    return EPOCH + timedelta(seconds=seconds)


def ring_of(weights, *, after=None, left=0, is_ring=True, definitions=(1,), floor=0.0):
    """What a full claim answers about tenants 1, 2, 3 .. of these weights, each with a lane per definition."""
    lanes = [(tenant(number), d, weight) for number, weight in enumerate(weights, 1) for d in definitions]
    return Found(
        after=after,
        left=left,
        after_definition=None,
        tenants=[lane[0] for lane in lanes],
        definitions=[lane[1] for lane in lanes],
        weights=[lane[2] for lane in lanes],
        floors=[rank(floor) for _ in lanes],
        is_ring=is_ring,
    )


def some(count, *, of=1, first=0.0):
    return [Taken(tenant(of), 1, rank(first + number)) for number in range(count)]


def turns_of(weights, **options):
    turns = Turns()
    turns.found(ring_of(weights, **options), some(1), wanted=1, now=START, seconds=0.001)
    return turns


def served(turns, sizes):
    """Calls of these sizes to lanes that never run dry: jobs per tenant number."""
    counts = Counter()
    for size in sizes:
        share = turns.share(size)
        assert share.jobs == size
        counts.update(jobs_of(share))
    return counts


def jobs_of(share: Share):
    """By tenant number: its lanes all carry its quota."""
    return {who.int: quota for who, quota in zip(share.tenants, share.quotas, strict=True)}


def answer(share, *, dry=(), first=0.0):
    """What comes home of a share over lanes of one definition: everything, but one job less of tenants that are dry."""
    return [
        Taken(who, definition, rank(first + place))
        for who, definition, quota in zip(share.tenants, share.definitions, share.quotas, strict=True)
        for place in range(quota - (who.int in dry))
    ]


@pytest.mark.parametrize("size", [1, 2, 32])
@pytest.mark.parametrize("others", [1, 99])
def test_ten_to_one_is_ten_to_one_at_every_size_of_call(size, others):
    counts = served(turns_of([10] + [1] * others), [size] * (30 * (10 + others) // size))
    for number in range(2, 2 + others):
        assert 9 <= counts[1] / counts[number] <= 11


@given(
    weights=st.lists(st.integers(1, 1000), min_size=1, max_size=30),
    sizes=st.lists(st.integers(1, 31), min_size=1, max_size=200),
    left=st.integers(0, 5),
)
def test_nobody_is_ever_more_than_a_turn_ahead_of_its_share(weights, sizes, left):
    counts = served(turns_of(weights, after=tenant(1), left=min(left, weights[0])), sizes)
    rounds = [counts[number] / weight for number, weight in enumerate(weights, 1)]
    # the turn that was left over when the lanes were found comes on top
    assert max(rounds) - min(rounds) <= 2


@given(sizes=st.lists(st.integers(1, 1000), min_size=20, max_size=60))
def test_calls_of_changing_size_keep_the_weights_but_for_one_turn_of_the_largest(sizes):
    weights = [10, 1, 3]
    counts = served(turns_of(weights), sizes)
    rounds = [counts[number] / weight for number, weight in enumerate(weights, 1)]
    assert max(rounds) - min(rounds) <= quantum_of(max(sizes))


@given(sizes=st.lists(st.integers(1, 200), min_size=20, max_size=60), every=st.integers(1, 5))
def test_full_claims_in_between_change_nothing_in_the_shares(sizes, every):
    weights = [10, 1, 3]
    turns, counts = turns_of(weights), Counter()
    for place, size in enumerate(sizes):
        counts.update(served(turns, [size]))
        if place % every == 0:
            found = ring_of(weights, after=turns.after, left=turns.left)
            turns.found(found, some(1), wanted=1, now=START, seconds=0.001)
    rounds = [counts[number] / weight for number, weight in enumerate(weights, 1)]
    assert max(rounds) - min(rounds) <= quantum_of(max(sizes))


def test_a_turn_goes_on_in_the_next_call():
    turns = turns_of([3, 2])
    assert [jobs_of(turns.share(2)) for _ in range(5)] == [{1: 2}, {1: 1, 2: 1}, {2: 1, 1: 1}, {1: 2}, {2: 2}]


def test_a_turn_that_a_full_claim_began_goes_on_first():
    turns = turns_of([4, 4, 4], after=tenant(2), left=3)
    assert list(jobs_of(turns.share(8)).items()) == [(2, 3), (3, 4), (1, 1)]
    assert (turns.after, turns.left) == (tenant(1), 3)


def test_a_full_claim_that_ended_with_a_turn_goes_on_behind_it():
    turns = turns_of([1, 1, 1], after=tenant(1))
    assert list(jobs_of(turns.share(2))) == [2, 3]


def test_whole_rounds_are_given_at_once_and_leave_the_cursor_alone():
    turns = turns_of([10, 1], after=tenant(1), left=4)
    assert jobs_of(turns.share(22)) == {1: 20, 2: 2}
    assert (turns.after, turns.left) == (tenant(1), 4)


def test_large_calls_give_longer_turns_to_fewer_lanes():
    share = turns_of([1] * 200).share(128)
    assert quantum_of(128) == 4
    assert len(share.tenants) == 32
    assert set(share.quotas) == {4}


def test_the_lanes_of_a_tenant_stand_side_by_side_and_share_its_quota():
    share = turns_of([3, 1], definitions=(7, 8)).share(4)
    assert [who.int for who in share.tenants] == [1, 1, 2, 2]
    assert share.definitions == [7, 8, 7, 8]
    assert share.quotas == [3, 3, 1, 1]
    assert share.jobs == 4


def test_lanes_that_are_not_the_whole_ring_get_one_turn_then_a_full_claim_goes_on_behind_them():
    turns = turns_of([2, 2, 2], after=tenant(1), is_ring=False)
    assert not turns.is_full_claim_due(2, now=START)
    assert jobs_of(turns.share(2)) == {2: 2}
    assert turns.is_full_claim_due(3, now=START)
    assert jobs_of(turns.share(2)) == {3: 2}
    assert turns.is_full_claim_due(1, now=START)
    assert (turns.after, turns.left) == (tenant(3), 0)


def test_a_short_answer_of_lanes_that_are_not_the_whole_ring_lets_the_next_of_them_go_on():
    turns = turns_of([2, 2, 2], after=tenant(1), is_ring=False)
    share = turns.share(2)
    turns.took(share, answer(share, dry={2}))
    assert not turns.is_full_claim_due(2, now=START)
    assert jobs_of(turns.share(2)) == {3: 2}


def test_a_claim_that_went_round_and_saw_its_lanes_twice_counts_them_once():
    turns = Turns()
    once = ring_of([1, 1, 1])
    twice = Found(
        after=tenant(2),
        left=0,
        after_definition=None,
        tenants=[*once.tenants, *once.tenants],
        definitions=[*once.definitions, *once.definitions],
        weights=[*once.weights, *once.weights],
        floors=[rank(1)] * 3 + [rank(5)] * 3,
        is_ring=True,
    )
    turns.found(twice, some(1), wanted=1, now=START, seconds=0.001)
    share = turns.share(6)
    assert list(jobs_of(share).items()) == [(3, 2), (1, 2), (2, 2)]
    assert share.floors == [rank(1)] * 3


def test_a_full_claim_is_due_at_the_start_and_five_times_a_second():
    turns = Turns()
    assert turns.is_full_claim_due(1, now=0.0)
    turns.found(ring_of([1]), some(1), wanted=1, now=START, seconds=0.001)
    assert not turns.is_full_claim_due(1, now=START + FULL_CLAIM_EVERY - 0.01)
    assert turns.is_full_claim_due(1, now=START + FULL_CLAIM_EVERY)


def test_a_full_claim_is_due_when_an_answer_comes_home_short_and_the_dry_tenant_is_left_out_until_then():
    turns = turns_of([1, 1, 1])
    share = turns.share(3)
    turns.took(share, answer(share, dry={2}))
    assert turns.is_full_claim_due(1, now=START)
    assert jobs_of(turns.share(4)) == {1: 2, 3: 2}
    turns.found(ring_of([1, 1, 1]), some(1), wanted=1, now=START, seconds=0.001)
    assert jobs_of(turns.share(3)) == {1: 1, 2: 1, 3: 1}


def test_a_tenant_whose_lanes_together_fill_its_quota_is_not_dry():
    turns = turns_of([2], definitions=(7, 8))
    turns.took(turns.share(2), [Taken(tenant(1), 8, rank(0))] * 2)
    assert not turns.is_full_claim_due(1, now=START)
    turns.took(turns.share(2), [Taken(tenant(1), 8, rank(0))])
    assert turns.is_full_claim_due(1, now=START)
    assert turns.share(2).jobs == 0


def test_a_full_claim_that_was_not_filled_leaves_nothing_to_ask_for():
    turns = Turns()
    turns.found(ring_of([1, 1]), some(9), wanted=10, now=START, seconds=0.001)
    assert turns.is_full_claim_due(1, now=START)
    assert turns.share(5).jobs == 0


def test_a_cursor_whose_tenant_is_dry_still_tells_where_the_ring_goes_on():
    turns = turns_of([5, 5])
    share = turns.share(7)
    turns.took(share, answer(share, dry={2}))
    assert (turns.after, turns.left) == (tenant(2), 3)


def test_a_full_claim_that_stopped_among_lanes_out_of_reach_is_followed_by_one_that_goes_on_there():
    turns = Turns()
    stopped = replace(ring_of([], after=tenant(4), is_ring=False), after_definition=300)
    turns.found(stopped, [], wanted=10, now=START, seconds=0.001)
    assert turns.is_full_claim_due(10, now=START)
    assert (turns.after, turns.after_definition) == (tenant(4), 300)
    turns.found(ring_of([1, 1]), some(1), wanted=1, now=START, seconds=0.001)
    turns.share(1)
    assert turns.after_definition is None


def test_the_floor_of_a_lane_is_the_lowest_rank_that_the_full_claim_saw_there():
    assert turns_of([1, 1], definitions=(7, 8), floor=20).share(2).floors == [rank(20)] * 4


def test_a_floor_rises_to_the_highest_rank_that_came_home_and_never_falls():
    turns = turns_of([1, 1])
    turns.took(turns.share(2), [Taken(tenant(1), 1, rank(9)), Taken(tenant(1), 1, rank(4))])
    assert turns.share(2).floors == [rank(9), rank(0)]
    turns.took(turns.share(2), [Taken(tenant(1), 1, rank(8)), Taken(tenant(2), 1, rank(3))])
    assert turns.share(2).floors == [rank(9), rank(3)]


def test_what_the_full_claim_took_itself_is_behind_the_floor():
    turns = Turns()
    turns.found(ring_of([1, 1]), some(8), wanted=8, now=START, seconds=0.001)
    assert turns.share(2).floors == [rank(7), rank(0)]


def test_a_full_claim_sets_floors_anew_so_that_what_lies_below_them_is_found():
    turns = turns_of([1])
    turns.took(turns.share(1), some(1, first=90))
    turns.found(ring_of([1], floor=-100), some(8, first=-100), wanted=8, now=START, seconds=0.001)
    assert turns.share(1).floors == [rank(-93)]


@pytest.mark.parametrize("is_ring", [True, False])
def test_an_empty_answer_asks_for_a_full_claim(is_ring):
    turns = turns_of([1, 1, 1], is_ring=is_ring)
    turns.took(turns.share(2), [])
    assert turns.is_full_claim_due(1, now=START)


def test_slow_full_claims_take_a_tenth_of_the_time():
    turns = Turns()
    turns.found(ring_of([1, 1]), some(8), wanted=8, now=START, seconds=0.05)
    assert not turns.is_full_claim_due(1, now=START + 0.49)
    assert turns.is_full_claim_due(1, now=START + 0.51)


def test_a_full_claim_that_was_held_up_hides_new_tenants_for_two_seconds_at_most():
    turns = Turns()
    turns.found(ring_of([1, 1]), some(8), wanted=8, now=START, seconds=60.0)
    assert turns.is_full_claim_due(1, now=START + FULL_CLAIM_AT_LEAST_EVERY)


@pytest.mark.parametrize("jobs", [0, -1])
def test_a_share_of_no_jobs_is_refused_with_the_value(jobs):
    with pytest.raises(ValueError, match=f"jobs: {jobs} is out of range"):
        turns_of([1]).share(jobs)


def test_a_lane_is_its_tenant_and_definition():
    assert Lane(tenant(1), 2) == Lane(UUID(int=1), 2)
