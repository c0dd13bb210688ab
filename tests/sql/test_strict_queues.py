"""pick.sql, pick_strict: a strict queue is one order of rank over all tenants."""

import pytest


@pytest.fixture
def strict(lane):
    lane.heart.set_queue(is_strict=True)
    return lane


def test_rank_alone_decides_whatever_the_tenant_or_its_weight(strict):
    zeta = strict.other("zeta", weight=1000)
    expected = []
    for priority in range(20):
        tenant = (strict.tenant, zeta)[priority % 3 == 0]
        expected.append((priority, strict.heart.job(tenant, priority=1000 - priority)))
    ordered = [job for _, job in reversed(expected)]
    found = []
    while len(found) < 20:
        found += [claim.job_id for claim in sorted(strict.worker.claim(3), key=lambda claim: claim.rank)]
    assert found == ordered


@pytest.mark.parametrize("n", [1, 7])
def test_a_crowd_before_a_single_job_goes_first(strict, n):
    zeta = strict.other("zeta")
    crowd = [strict.job() for _ in range(14)]
    single = strict.heart.job(zeta)
    found = []
    for _ in range(14 // n):
        found += strict.claimed(n)
    assert sorted(found) == sorted(crowd)
    assert strict.claimed(1) == [single]


def test_what_is_paused_suspended_or_not_for_this_worker_is_walked_over(strict):
    heart, zeta = strict.heart, strict.other("zeta")
    heart.define("hard")
    heart.define("paused")
    for _ in range(5):
        heart.job(zeta)
        strict.job("hard")
        strict.job("paused")
    job = strict.job()
    heart.suspend_tenant(zeta)
    heart.pause_definition("paused")
    assert strict.claimed(10) == [job]
    heart.unsuspend_tenant(zeta)
    heart.resume_definition("paused")
    assert len(heart.worker().claim(50)) == 15


def test_a_backlog_that_is_held_back_hides_nobody(strict):
    zeta = strict.other("zeta")
    strict.heart.pause_tenant(zeta)
    for _ in range(50):
        strict.heart.job(zeta)
    job = strict.job()
    assert strict.claimed(1) == [job]


def test_a_pause_of_the_queue_holds_it(strict):
    job = strict.job()
    strict.heart.pause_queue()
    assert strict.claimed(1) == []
    strict.heart.resume_queue()
    assert strict.claimed(1) == [job]


def test_a_claim_takes_no_more_than_it_asks_for(strict):
    for _ in range(10):
        strict.job()
    assert len(strict.worker.claim(3)) == 3
    assert strict.worker.trailer.has_more is True
    assert len(strict.worker.claim(100)) == 7
    assert strict.worker.trailer.has_more is False


def test_lease_and_fence_are_those_of_any_queue(strict, clock):
    claim = strict.take(timeout_seconds=10)
    row = strict.row("live", claim)
    assert (row["attempt"], row["worker_id"], row["state"]) == (1, str(strict.worker.id), 1)
    clock.move(15)
    assert strict.heart.sweep().timed_out == 1


def test_jobs_from_before_a_change_of_the_queue_are_not_lost(lane):
    fair = [lane.job() for _ in range(3)]
    lane.heart.set_queue(is_strict=True)
    late = [lane.job() for _ in range(3)]
    assert sorted(lane.claimed(10)) == sorted(fair + late)
    more = [lane.job() for _ in range(2)]
    lane.heart.set_queue(is_strict=False)
    again = [lane.job() for _ in range(2)]
    found = []
    for _ in range(4):
        found += lane.claimed(10)
    assert sorted(found) == sorted(more + again)


def test_a_job_that_goes_on_at_once_keeps_its_rank(strict):
    first, second = strict.job(), strict.job()
    strict.heart.release_one(strict.claim_one())
    assert [strict.claimed(1), strict.claimed(1)] == [[first], [second]]


def test_what_expired_is_not_given_out(strict, clock):
    strict.job(expires_seconds=5)
    job = strict.job()
    clock.move(5)
    assert strict.claimed(5) == [job]


def test_a_job_that_ran_while_its_queue_was_turned_goes_on_in_the_one_order(lane):
    claim = lane.take(priority=0)
    lane.heart.set_queue(is_strict=True)
    later = lane.job(priority=900)
    lane.heart.release_one(claim)
    assert lane.claimed(1) == [claim.job_id]
    assert lane.claimed(1) == [later]


def test_a_job_that_is_committed_after_its_queue_was_turned_follows_with_a_pass(database, heart):
    """Nobody could see it at the change: it is looked for until all that was open then has ended."""
    heart.define()
    tenant = heart.tenant()
    slow = heart.on(database)
    with slow.transaction():
        first = slow.job(tenant, priority=0)
        heart.set_queue(is_strict=True)
        heart.promote()
        urgent = [heart.job(tenant, priority=900) for _ in range(3)]
    heart.promote()
    assert [claim.job_id for claim in heart.worker().claim(4)] == [first, *urgent]
    # other databases' transactions count as well
    while heart.one("select turned_in from queue where name = 'default'") != (None,):
        heart.promote()
