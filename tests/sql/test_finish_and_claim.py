"""finish_and_claim.sql: reports and the next jobs in one call, by the fence and cuts of the full claim."""

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from language import Answer


def fused(lane, done=(), *, quota=1, tenant=None, **options):
    return lane.worker.finish_and_claim(
        done, lanes=[(tenant or lane.tenant, lane.heart.def_id())], quotas=[quota], **options
    )


def test_a_report_and_a_claim_are_one_call(lane):
    claim, following = lane.take(), lane.job()
    answers, claims = fused(lane, [claim], results=[{"n": 1}])
    assert answers == [Answer.ACCEPTED]
    assert [found.job_id for found in claims] == [following]
    assert lane.heart.attempts(claim.job_id)[0].result == {"n": 1}
    assert (claims[0].attempt, claims[0].worker_id) == (1, lane.worker.id)


def test_the_fence_is_that_of_complete(lane):
    claim = lane.take()
    other = lane.heart.worker()
    answers, _ = other.finish_and_claim([claim], lanes=[], quotas=[])
    assert answers == [Answer.STALE]
    answers, _ = fused(lane, [replace(claim, attempt=2), replace(claim, job_id=uuid4())])
    assert answers == [Answer.STALE, Answer.STALE]
    assert fused(lane, [claim])[0] == [Answer.ACCEPTED]
    assert fused(lane, [claim])[0] == [Answer.DUPLICATE]


def test_a_stale_report_does_not_stop_the_claim(lane):
    claim = lane.take()
    lane.heart.force_cancel_one(lane.tenant, claim.job_id)
    following = lane.job()
    answers, claims = fused(lane, [claim])
    assert answers == [Answer.STALE]
    assert [found.job_id for found in claims] == [following]


def test_quotas_hold_for_each_lane(lane):
    zeta = lane.other("zeta")
    for tenant in (lane.tenant, zeta):
        for _ in range(5):
            lane.heart.job(tenant)
    definition = lane.heart.def_id()
    _, claims = lane.worker.finish_and_claim(lanes=[(lane.tenant, definition), (zeta, definition)], quotas=[3, 1])
    assert lane.served(claims) == {lane.tenant: 3, zeta: 1}


def test_a_quota_of_several_lanes_of_one_tenant_is_the_tenant_s_by_rank(lane):
    lane.heart.define("a")
    lane.heart.define("b")
    jobs = [lane.job(key, priority=n) for n, key in enumerate(["a", "b", "a", "b", "a"])]
    worker = lane.heart.worker()
    lanes = [(lane.tenant, lane.heart.def_id("a")), (lane.tenant, lane.heart.def_id("b"))]
    _, claims = worker.finish_and_claim(lanes=lanes, quotas=[3, 3])
    assert {claim.job_id for claim in claims} == set(jobs[:3])


def test_no_lanes_only_report_and_nothing_to_report_only_claims(lane):
    claim = lane.take()
    assert lane.worker.finish_and_claim([claim], lanes=[], quotas=[]) == ([Answer.ACCEPTED], [])
    job = lane.job()
    answers, claims = fused(lane)
    assert (answers, [found.job_id for found in claims]) == ([], [job])


def test_what_is_paused_switched_off_or_suspended_is_not_given_out(lane):
    job = lane.job()
    heart = lane.heart
    for hold, let_go in (
        (heart.pause_queue, heart.resume_queue),
        (heart.pause_definition, heart.resume_definition),
        (lambda: heart.pause_tenant(lane.tenant), lambda: heart.resume_tenant(lane.tenant)),
        (lambda: heart.suspend_tenant(lane.tenant), lambda: heart.unsuspend_tenant(lane.tenant)),
        (lambda: heart.pause_lane(lane.tenant), lambda: heart.resume_lane(lane.tenant)),
        (lambda: heart.pause_lane(lane.tenant, None), lambda: heart.resume_lane(lane.tenant, None)),
        (lambda: heart.override(is_enabled=False), lambda: heart.override(is_enabled=None)),
    ):
        hold()
        assert fused(lane)[1] == []
        let_go()
    assert [claim.job_id for claim in fused(lane)[1]] == [job]


def test_a_draining_worker_reports_and_is_given_nothing(lane):
    claim, _ = lane.take(), lane.job()
    lane.heart.drain_worker(lane.worker)
    assert fused(lane, [claim]) == ([Answer.ACCEPTED], [])


def test_what_the_worker_did_not_say_it_can_run_it_is_not_given(lane):
    lane.heart.define("hard")
    lane.job("hard")
    hard = (lane.tenant, lane.heart.def_id("hard"))
    assert lane.worker.finish_and_claim(lanes=[hard], quotas=[5])[1] == []


def test_a_floor_passes_over_what_lies_below_it(lane, clock):
    """Ranks below it are dead index entries under a pinned snapshot, or a job that a full claim will find."""
    below = lane.job(priority=0)
    above = lane.job(priority=100)
    floor = clock.now() + timedelta(seconds=60)
    _, claims = fused(lane, quota=5, floors=[floor])
    assert [claim.job_id for claim in claims] == [above]
    assert lane.claimed(5) == [below], "a full claim knows no floor"


def test_a_floor_of_null_is_none(lane):
    job = lane.job(priority=0)
    assert [claim.job_id for claim in fused(lane, floors=[None])[1]] == [job]


def test_scheduled_expired_and_other_queues_jobs_are_not_given_out(lane, clock):
    lane.job(delay_seconds=60)
    lane.job(expires_seconds=1)
    clock.move(2)
    assert fused(lane, quota=10)[1] == []


def test_lanes_of_different_lengths_are_refused(lane, refuses):
    with refuses("malformed", "p_lane_tenants"):
        lane.worker.finish_and_claim(lanes=[(lane.tenant, 1)], quotas=[1, 2])
    with refuses("malformed", "p_lane_tenants"):
        lane.worker.finish_and_claim(lanes=[(lane.tenant, 1)], quotas=[1], floors=[None, None])


@pytest.mark.parametrize("jobs", [None, []])
def test_reports_without_their_jobs_are_refused_as_complete_refuses_them(lane, refuses, jobs):
    claim = lane.take()
    reports = {"worker": claim.worker_id, "tenant": claim.tenant_id, "jobs": jobs}
    with refuses("malformed", "p_jobs"):
        lane.heart.rows(
            "select answers from finish_and_claim(%(worker)s, 'default', array[%(tenant)s::uuid], %(jobs)s::uuid[],"
            " '{1}', null, null, null, null)",
            reports,
        )
    assert lane.state(claim) == "running"


@pytest.mark.parametrize("tenants", ["null", "'{}'"])
def test_quotas_without_their_lanes_are_refused(lane, refuses, tenants):
    with refuses("malformed", "p_lane_tenants"):
        lane.heart.rows(
            f"select answers from finish_and_claim(%s, 'default', null, null, null, null, {tenants}, '{{1}}', '{{1}}')",
            [lane.worker.id],
        )


@pytest.mark.parametrize("quota", [0, -1, 1001, 2147483647])
def test_a_call_for_no_job_or_for_too_many_is_refused(lane, refuses, quota):
    with refuses("out_of_range", "p_quotas"):
        fused(lane, quota=quota)


def test_a_lane_with_nothing_to_get_gets_nothing(lane):
    zeta = lane.other("zeta")
    lane.job()
    job = lane.heart.job(zeta)
    definition = lane.heart.def_id()
    _, claims = lane.worker.finish_and_claim(lanes=[(lane.tenant, definition), (zeta, definition)], quotas=[0, 2])
    assert [claim.job_id for claim in claims] == [job]


def test_a_large_result_is_refused_and_the_claim_goes_on(lane):
    claim, following = lane.take(), lane.job()
    answers, claims = fused(lane, [claim], results=["x" * 70000])
    assert answers == [Answer.REFUSED]
    assert [found.job_id for found in claims] == [following]
    assert lane.state(claim) == "running"


class TestTwoSteps:
    """find_lanes() and claim_tenant(): the claim for tables that are spread over machines."""

    def find(self, lane, jobs=10, after=None):
        return lane.heart.call(
            "find_lanes",
            "tenant_id",
            "def_ids",
            "weight",
            worker=lane.worker.id,
            queue="default",
            jobs=jobs,
            after=after,
        )

    def test_lanes_are_found_and_served_tenant_by_tenant(self, lane):
        zeta = lane.other("zeta", weight=4)
        mine, theirs = lane.job(), lane.heart.job(zeta)
        assert sorted(self.find(lane)) == sorted(
            [(lane.tenant, [lane.heart.def_id()], 1), (zeta, [lane.heart.def_id()], 4)]
        )
        found = {
            tenant: [c.job_id for c in lane.heart.claim_tenant(lane.worker, tenant, defs, 5)]
            for tenant, defs, _ in self.find(lane)
        }
        assert found == {lane.tenant: [mine], zeta: [theirs]}
        assert self.find(lane) == []

    def test_a_tenant_s_order_holds_over_its_definitions(self, lane):
        lane.heart.define("a")
        worker = lane.heart.worker()
        jobs = [lane.job(key, priority=n) for n, key in enumerate(["a", "echo", "a", "echo"])]
        defs = [lane.heart.def_id("a"), lane.heart.def_id("echo")]
        found = lane.heart.claim_tenant(worker, lane.tenant, defs, 3)
        assert {claim.job_id for claim in found} == set(jobs[:3])

    def test_paused_tenants_and_foreign_definitions_are_not_served(self, lane):
        lane.heart.define("hard")
        lane.job("hard")
        lane.job()
        lane.heart.pause_tenant(lane.tenant)
        assert self.find(lane) == []
        assert lane.heart.claim_tenant(lane.worker, lane.tenant, [lane.heart.def_id()], 5) == []
        lane.heart.resume_tenant(lane.tenant)
        assert lane.heart.claim_tenant(lane.worker, lane.tenant, [lane.heart.def_id("hard")], 5) == []
        lane.heart.pause_queue()
        assert lane.heart.claim_tenant(lane.worker, lane.tenant, [lane.heart.def_id()], 5) == []
        lane.heart.resume_queue()
        assert len(lane.heart.claim_tenant(lane.worker, lane.tenant, [lane.heart.def_id()], 5)) == 1


def test_quotas_of_one_tenant_s_lanes_are_counted_by_the_largest(lane, refuses):
    lane.heart.define("mail")
    lanes = [(lane.tenant, lane.heart.def_id("echo")), (lane.tenant, lane.heart.def_id("mail"))]
    with refuses("out_of_range", "p_quotas"):
        lane.worker.finish_and_claim(lanes=lanes, quotas=[1, 1001])
