"""claim.sql, pick.sql: what is due, allowed and not held comes out once, in its order, with its fence."""

from datetime import datetime, timedelta
from uuid import UUID, uuid4

import pytest

from language import LEASE


class TestTheFirstAttempt:
    def test_a_claimed_job_runs_with_number_lease_and_deadline(self, lane, clock):
        job = lane.job(payload={"to": "me"}, correlation_id="order:7", trace_id="t1", priority=7)
        claim = lane.claim_one()
        row = lane.row("live", job)
        assert (claim.tenant_id, claim.attempt, claim.payload) == (lane.tenant, 1, {"to": "me"})
        assert (claim.correlation_id, claim.trace_id, claim.priority) == ("order:7", "t1", 7)
        assert claim.def_id == lane.heart.def_id()
        assert claim.run_at == clock.now()
        assert (row["state"], row["attempt"], row["worker_id"]) == (1, 1, str(lane.worker.id))
        until, deadline, started = lane.heart.one(
            "select until, deadline, started_at from live where job_id = %s", [job]
        )
        assert started == clock.now()
        assert until == clock.now() + timedelta(seconds=LEASE)
        assert deadline == clock.now() + timedelta(seconds=600)

    def test_a_running_job_is_never_given_twice(self, lane):
        lane.job()
        assert len(lane.worker.claim(10)) == 1
        assert lane.worker.claim(10) == []
        assert lane.heart.worker().claim(10) == []

    def test_a_claim_takes_as_many_as_it_asks_for_and_no_more(self, lane):
        jobs = [lane.job() for _ in range(7)]
        assert lane.claimed(1) == jobs[:1]
        assert lane.claimed(5) == jobs[1:6]
        assert lane.claimed(5) == jobs[6:]
        assert lane.heart.count("live") == 7

    def test_a_limit_holds_over_several_lanes_of_a_tenant(self, lane):
        for key in ("a", "b", "c"):
            lane.heart.define(key)
        for _ in range(5):
            for key in ("a", "b", "c"):
                lane.job(key)
        worker = lane.heart.worker()
        assert len(worker.claim(4)) == 4
        assert len(worker.claim(1)) == 1
        assert len(worker.claim(100)) == 10

    @pytest.mark.parametrize("n", [0, -1, 1001])
    def test_a_claim_of_a_size_that_is_none_is_refused(self, lane, refuses, n):
        with refuses("out_of_range", "p_jobs"):
            lane.worker.claim(n)

    @pytest.mark.parametrize(
        ("name", "value"), [("quantum", 0), ("quantum", 1001), ("max_lanes", 0), ("max_lanes", 257)]
    )
    def test_turns_and_lanes_have_bounds(self, lane, refuses, name, value):
        with refuses("out_of_range", f"p_{name}"):
            lane.worker.claim(1, **{name: value})

    def test_an_unknown_queue_is_refused(self, lane, refuses):
        with refuses("unknown", "p_queue"):
            lane.worker.claim(1, "nowhere")

    def test_an_unknown_worker_is_refused(self, lane, refuses):
        with refuses("unknown", "p_worker"):
            lane.heart.claim(uuid4(), 1)

    def test_a_claim_in_a_transaction_of_an_older_snapshot_is_refused(self, database):
        with database.connect(autocommit=False) as conn:
            conn.execute("set transaction isolation level repeatable read")
            with pytest.raises(Exception, match="transaction_isolation") as caught:
                conn.execute("select from claim(gen_random_uuid(), 'default', 1)")
            assert caught.value.sqlstate == "25001"


class TestWhatIsClaimable:
    def test_a_scheduled_job_is_not_there_before_its_time(self, lane, clock):
        job = lane.job(delay_seconds=10)
        assert lane.claimed(5) == []
        clock.move(9.999999)
        assert lane.heart.promote().promoted == 0
        assert lane.claimed(5) == []
        clock.move(0.000001)
        assert lane.heart.promote().promoted == 1
        assert lane.claimed(5) == [job]

    def test_a_job_that_expired_is_not_given_out(self, lane, clock):
        lane.job(expires_seconds=10)
        stays = lane.job()
        clock.move(10)
        assert lane.claimed(5) == [stays]

    def test_another_queue_s_jobs_are_not_given_out(self, lane):
        lane.heart.define("other", queue="side")
        side, here = lane.job("other"), lane.job()
        worker = lane.heart.worker()
        assert [claim.job_id for claim in worker.claim(5)] == [here]
        assert [claim.job_id for claim in worker.claim(5, "side")] == [side]

    def test_a_worker_is_given_only_what_it_can_run(self, lane):
        lane.heart.define("hard")
        hard, easy = lane.job("hard"), lane.job()
        assert lane.claimed(5) == [easy], "registered before there was anything hard"
        assert [claim.job_id for claim in lane.heart.worker(["hard"]).claim(5)] == [hard]

    def test_what_a_worker_says_last_about_itself_counts(self, lane):
        lane.heart.define("hard")
        hard = lane.job("hard")
        lane.heart.register(lane.worker.id, definitions=["hard"])
        assert lane.claimed(5) == [hard]

    def test_a_draining_worker_and_one_that_said_goodbye_get_nothing(self, lane, refuses):
        lane.job()
        lane.heart.drain_worker(lane.worker)
        assert lane.worker.claim(5) == []
        lane.worker.end()
        with refuses("unknown", "p_worker"):
            lane.worker.claim(5)

    def test_a_disabled_definition_is_not_given_out(self, lane):
        job = lane.job()
        lane.heart.override("echo", is_enabled=False)
        assert lane.claimed(5) == []
        lane.heart.override("echo", is_enabled=True)
        assert lane.claimed(5) == [job]

    def test_a_suspended_tenant_is_not_served(self, lane):
        job = lane.job()
        lane.heart.suspend_tenant(lane.tenant)
        assert lane.claimed(5) == []
        lane.heart.unsuspend_tenant(lane.tenant)
        assert lane.claimed(5) == [job]

    @pytest.mark.parametrize("kind", ["queue", "definition", "tenant", "lane", "all_lanes"])
    def test_what_is_paused_is_not_given_out_until_it_is_resumed(self, lane, kind):
        job = lane.job()
        pause, resume = pauses_of(lane)[kind]
        pause()
        assert lane.claimed(5) == []
        resume()
        assert lane.claimed(5) == [job]

    @pytest.mark.parametrize("kind", ["queue", "definition", "tenant", "lane", "all_lanes"])
    def test_a_pause_with_an_end_ends_by_itself(self, lane, clock, kind):
        job = lane.job()
        pause, _ = pauses_of(lane)[kind]
        pause(until=clock.now() + timedelta(seconds=60))
        clock.move(59.999)
        assert lane.claimed(5) == []
        clock.move(0.001)
        assert lane.claimed(5) == [job]

    @pytest.mark.parametrize("kind", ["definition", "tenant", "lane", "all_lanes"])
    def test_a_pause_holds_nobody_else_back(self, lane, kind):
        lane.heart.define("free")
        zeta = lane.other("zeta")
        lane.job()
        free = lane.job("free")
        theirs, theirs_free = lane.heart.job(zeta), lane.heart.job(zeta, "free")
        pauses_of(lane)[kind][0]()
        expected = {
            "definition": {free, theirs_free},
            "tenant": {theirs, theirs_free},
            "lane": {free, theirs, theirs_free},
            "all_lanes": {theirs, theirs_free},
        }
        assert {claim.job_id for claim in lane.heart.worker().claim(10)} == expected[kind]

    def test_a_suspended_or_paused_backlog_hides_no_other(self, lane):
        """300 lanes that nobody may serve stand before the one that may be."""
        keys = [f"off-{n:03}" for n in range(300)]
        lane.heart.sync({"echo": {}} | {key: {} for key in keys})
        for key in keys:
            lane.job(key)
        worker = lane.heart.worker(["echo"])
        job = lane.heart.job(lane.other("zz-behind"))
        for _ in range(5):
            found = worker.claim_next(1)
            if found:
                break
        assert [claim.job_id for claim in found] == [job]


def pauses_of(lane):
    heart = lane.heart
    return {
        "queue": (heart.pause_queue, heart.resume_queue),
        "definition": (heart.pause_definition, heart.resume_definition),
        "tenant": (lambda **o: heart.pause_tenant(lane.tenant, **o), lambda: heart.resume_tenant(lane.tenant)),
        "lane": (lambda **o: heart.pause_lane(lane.tenant, **o), lambda: heart.resume_lane(lane.tenant)),
        "all_lanes": (
            lambda **o: heart.pause_lane(lane.tenant, None, **o),
            lambda: heart.resume_lane(lane.tenant, None),
        ),
    }


class TestOrder:
    def test_a_lane_is_served_in_order_of_time(self, lane, clock):
        jobs = []
        for _ in range(10):
            jobs.append(lane.job())
            clock.move(0.001)
        assert [lane.claimed(1)[0] for _ in range(10)] == jobs

    def test_jobs_of_one_instant_keep_their_order(self, lane):
        jobs = [lane.job() for _ in range(10)]
        assert [lane.claimed(1)[0] for _ in range(10)] == jobs

    def test_a_lower_priority_number_comes_first(self, lane):
        late, first, middle = lane.job(priority=200), lane.job(priority=0), lane.job(priority=100)
        assert [lane.claimed(1)[0] for _ in range(3)] == [first, middle, late]

    def test_waiting_makes_up_for_priority_by_the_ageing_of_the_queue(self, lane, clock):
        """60 s a step: ten steps of priority are ten minutes."""
        waited = lane.job(priority=110)
        clock.move(599)
        lane.heart.rows("savepoint before")
        fresh = lane.job(priority=100)
        assert lane.claimed(2)[0] == fresh
        lane.heart.rows("rollback to before")
        clock.move(2)
        lane.job(priority=100)
        assert lane.claimed(2)[0] == waited

    def test_a_queue_may_go_by_time_alone_or_by_priority_alone(self, lane, clock):
        lane.heart.set_queue(ageing_seconds=0)
        first = lane.job(priority=1000)
        clock.move(1)
        lane.job(priority=0)
        assert lane.claimed(2)[0] == first
        lane.heart.set_queue(ageing_seconds=240000000)
        lane.job(priority=1)
        clock.move(86400 * 365 * 5)
        urgent = lane.job(priority=0)
        assert lane.claimed(1) == [urgent]

    def test_a_scheduled_job_stands_where_its_time_puts_it(self, lane, clock):
        later = lane.job(delay_seconds=60)
        clock.move(30)
        before = lane.job()
        clock.move(40)
        after = lane.job()
        lane.heart.promote()
        assert [lane.claimed(1)[0] for _ in range(3)] == [before, later, after]

    def test_order_holds_over_all_definitions_of_a_tenant(self, lane):
        for key in ("a", "b", "c"):
            lane.heart.define(key)
        jobs = [lane.job(key, priority=priority) for priority, key in enumerate("cabcab")]
        worker = lane.heart.worker()
        assert [claim.job_id for claim in sorted(worker.claim(4), key=lambda claim: claim.rank)] == jobs[:4]
        assert [claim.job_id for claim in sorted(worker.claim(4), key=lambda claim: claim.rank)] == jobs[4:]


class TestTheTrailer:
    def test_an_empty_queue_says_that_there_is_no_more(self, lane):
        assert lane.worker.claim(5) == []
        assert lane.worker.trailer.has_more is False
        assert lane.worker.trailer.lane_tenants == []

    def test_a_full_claim_says_that_there_may_be_more(self, lane):
        for _ in range(5):
            lane.job()
        lane.worker.claim(3)
        assert lane.worker.trailer.has_more is True
        lane.worker.claim(3)
        assert lane.worker.trailer.has_more is False

    def test_it_names_the_lanes_with_their_weights(self, lane):
        zeta = lane.other("zeta", weight=7)
        lane.job()
        lane.heart.job(zeta)
        lane.worker.claim(50)
        found = lane.worker.trailer
        assert dict(zip(found.lane_tenants, found.lane_weights, strict=True)) == {lane.tenant: 1, zeta: 7}
        assert set(found.lane_defs) == {lane.heart.def_id()}

    def test_it_names_the_floor_of_each_lane_the_lowest_rank_that_it_saw_there(self, lane):
        lane.heart.define("slow")
        heads = {
            lane.heart.def_id("echo"): lane.job(priority=7),
            lane.heart.def_id("slow"): lane.job("slow", priority=3),
        }
        lane.job(priority=9)
        worker = lane.heart.worker()
        worker.claim(50)
        found = worker.trailer
        assert set(found.lane_defs) == set(heads)
        ranks = [lane.row("live", heads[definition])["rank"] for definition in found.lane_defs]
        assert found.lane_floors == [datetime.fromisoformat(rank) for rank in ranks]

    def test_an_unknown_cursor_is_as_good_as_any(self, lane):
        job = lane.job()
        assert [c.job_id for c in lane.worker.claim(1, after=UUID(int=2**128 - 1), left=3)] == [job]


def test_a_row_that_somebody_holds_is_passed_over_and_the_claim_comes_back(database, heart):
    """Nobody's open transaction stops a worker, or keeps it busy."""
    heart.define()
    tenant = heart.tenant()
    first, second = heart.job(tenant), heart.job(tenant)
    worker = heart.worker()
    heart.rows("set statement_timeout = '10s'")
    with database.connect(autocommit=False) as holder:
        holder.execute("select from live where job_id = %s for update", [first])
        assert [claim.job_id for claim in worker.claim(1)] == [second]
        assert worker.claim(1) == []
        assert worker.claim(10) == []
    assert [claim.job_id for claim in worker.claim(1)] == [first]


@pytest.mark.parametrize(("field", "value"), [("left", -1), ("left", 2147483646), ("look", 2147483647)])
def test_a_cursor_that_no_claim_answered_is_refused(lane, refuses, field, value):
    with refuses("out_of_range", f"p_{field}"):
        lane.heart.rows(f"select from claim(%s, 'default', 1, p_{field} => %s)", [lane.worker.id, value])


def test_lease_and_deadline_of_one_claim_count_from_one_instant(lane):
    """However long the statement takes: `laneway verify` compares them to the microsecond."""
    for _ in range(500):
        lane.job(timeout_seconds=60)
    claims = lane.worker.claim(500)
    assert len(claims) == 500
    assert lane.heart.one(
        "select count(distinct (started_at, until, deadline)), min(deadline - started_at), max(deadline - started_at)"
        " from live"
    ) == (1, timedelta(seconds=60), timedelta(seconds=60))
