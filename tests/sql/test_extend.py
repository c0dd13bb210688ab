"""extend.sql: a lease is moved for its owner alone, never past the deadline and its grace."""

from dataclasses import replace
from uuid import uuid4

import pytest

from language import LEASE, ExtendAnswer

GRACE = 5


def lease_of(lane, claim):
    return lane.heart.one("select until, deadline from live where job_id = %s", [claim.job_id])


def seconds_left(lane, clock, claim):
    until, _ = lease_of(lane, claim)
    return (until - clock.now()).total_seconds()


def test_an_extension_moves_the_lease_from_now_on(lane, clock):
    claim = lane.take()
    assert seconds_left(lane, clock, claim) == LEASE
    clock.move(20)
    assert lane.heart.extend_one(claim) == ExtendAnswer.OK
    assert seconds_left(lane, clock, claim) == LEASE


def test_a_lease_of_another_length_may_be_asked_for(lane, clock):
    claim = lane.take()
    assert lane.heart.extend_one(claim, lease_seconds=300) == ExtendAnswer.OK
    assert seconds_left(lane, clock, claim) == 300


def test_the_length_of_a_lease_is_a_setting(lane, clock):
    lane.heart.set_setting(lease_seconds=90)
    claim = lane.take()
    assert seconds_left(lane, clock, claim) == 90
    clock.move(5)
    lane.heart.extend_one(claim)
    assert seconds_left(lane, clock, claim) == 90


@pytest.mark.parametrize("seconds", [4, 0, -1, 3601])
def test_a_lease_is_5_to_3600_seconds(lane, refuses, seconds):
    claim = lane.take()
    with refuses("out_of_range", "p_lease_seconds"):
        lane.heart.extend_one(claim, lease_seconds=seconds)
    with refuses("out_of_range", "p_lease_seconds"):
        lane.worker.claim(1, lease_seconds=seconds)


def test_no_lease_ends_later_than_the_deadline_and_its_grace(lane, clock):
    claim = lane.take(timeout_seconds=100)
    _, deadline = lease_of(lane, claim)
    assert (deadline - clock.now()).total_seconds() == 100
    for _ in range(4):
        clock.move(30)
        assert lane.heart.extend_one(claim, lease_seconds=3600) == ExtendAnswer.OK
        until, unmoved = lease_of(lane, claim)
        assert unmoved == deadline
        assert (until - deadline).total_seconds() == GRACE
    assert lane.heart.sweep().timed_out == 1
    assert lane.outcomes(claim) == ["timeout"]


def test_no_lease_begins_longer_than_the_timeout_and_its_grace(lane, clock):
    claim = lane.take(timeout_seconds=10)
    assert seconds_left(lane, clock, claim) == 10 + GRACE


def test_the_timeout_of_the_definition_counts_where_the_job_has_none(lane, clock):
    claim = lane.take()
    _, deadline = lease_of(lane, claim)
    assert (deadline - clock.now()).total_seconds() == 600
    assert claim.timeout_seconds == 600
    own = lane.take(timeout_seconds=7)
    assert own.timeout_seconds == 7


def test_whoever_is_asked_to_cancel_learns_it_and_keeps_the_lease(lane, clock):
    claim = lane.take()
    lane.heart.cancel_one(lane.tenant, claim.job_id)
    clock.move(20)
    assert lane.heart.extend_one(claim) == ExtendAnswer.CANCEL
    assert seconds_left(lane, clock, claim) == LEASE


def test_an_earlier_attempt_of_the_same_worker_extends_nothing(lane, clock):
    first = lane.take()
    lane.heart.release_one(first)
    second = lane.claim_one()
    assert second.job_id == first.job_id
    clock.move(20)
    before = lease_of(lane, second)
    assert lane.heart.extend_one(first) == ExtendAnswer.STALE
    assert lease_of(lane, second) == before
    assert lane.heart.extend_one(second) == ExtendAnswer.OK


def test_another_instance_or_tenant_extends_nothing(lane, clock):
    claim = lane.take()
    before = lease_of(lane, claim)
    clock.move(1)
    for worker, word in (
        (uuid4(), claim),
        (lane.worker.id, replace(claim, tenant_id=lane.other("zeta"))),
        (lane.worker.id, replace(claim, attempt=2)),
        (lane.worker.id, replace(claim, job_id=uuid4())),
    ):
        assert lane.heart.extend_one(word, worker=worker) == ExtendAnswer.STALE
    assert lease_of(lane, claim) == before


def test_what_has_ended_or_was_swept_is_stale(lane, clock):
    done, lost = lane.take(), lane.take()
    lane.heart.complete_one(done)
    clock.move(LEASE)
    lane.heart.sweep()
    assert lane.heart.extend([done, lost]) == [ExtendAnswer.STALE, ExtendAnswer.STALE]


def test_a_lease_that_is_over_is_kept_by_an_owner_who_comes_before_the_sweep(lane, clock):
    claim = lane.take()
    clock.move(LEASE + 30)
    assert lane.heart.extend_one(claim) == ExtendAnswer.OK
    assert lane.heart.sweep().swept == 0


def test_each_item_of_a_batch_has_its_answer_in_its_place(lane):
    jobs = [lane.job() for _ in range(4)]
    claims = {claim.job_id: claim for claim in lane.worker.claim(4)}
    a, b, c, d = (claims[job] for job in jobs)
    lane.heart.cancel_one(lane.tenant, c.job_id)
    lane.heart.complete_one(b)
    assert lane.heart.extend([d, c, b, a, replace(a, job_id=uuid4())]) == [
        ExtendAnswer.OK,
        ExtendAnswer.CANCEL,
        ExtendAnswer.STALE,
        ExtendAnswer.OK,
        ExtendAnswer.STALE,
    ]


def test_an_extension_is_a_sign_of_life(lane, clock):
    claim = lane.take()
    clock.move(30)
    lane.heart.extend_one(claim)
    assert lane.heart.one("select seen_at from worker where worker_id = %s", [lane.worker.id]) == (clock.now(),)


def test_arrays_of_different_lengths_are_refused(lane, refuses):
    claim = lane.take()
    with refuses("malformed", "p_jobs"):
        lane.heart.rows(
            "select extend(%s, array[%s]::uuid[], array[%s]::uuid[], array[1, 2])",
            [lane.worker.id, lane.tenant, claim.job_id],
        )
