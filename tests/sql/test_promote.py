"""promote.sql: what was not due becomes due, in bounded passes; what was handed over is looked at again."""

from datetime import timedelta
from uuid import UUID


def test_it_says_when_the_next_job_is_due(lane, clock):
    lane.job(delay_seconds=30)
    lane.job(delay_seconds=90)
    assert lane.heart.promote().next_due_at == clock.now() + timedelta(seconds=30)
    clock.move(30)
    found = lane.heart.promote()
    assert found.promoted == 1
    assert found.next_due_at == clock.now() + timedelta(seconds=60)
    clock.move(60)
    assert lane.heart.promote().next_due_at is None


def test_a_pass_takes_the_most_overdue_first_and_no_more_than_it_was_asked_for(lane, clock):
    jobs = [lane.job(delay_seconds=seconds) for seconds in (30, 10, 20, 40)]
    clock.move(60)
    assert lane.heart.promote(2).promoted == 2
    assert [lane.phase(job) for job in jobs] == ["scheduled", "ready", "ready", "scheduled"]
    assert lane.heart.promote(2).promoted == 2
    assert lane.heart.promote(2).promoted == 0


def test_a_promoted_job_is_due_since_its_own_time(lane, clock):
    job = lane.job(delay_seconds=10, priority=3)
    due = clock.now() + timedelta(seconds=10)
    clock.move(100)
    lane.heart.promote()
    ready_at, rank = lane.heart.one("select ready_at, rank from live where job_id = %s", [job])
    assert ready_at == due
    assert rank == due + timedelta(seconds=3 * 60)


def test_what_it_carries_stays_with_it(lane, clock):
    """Number, attempts, priority, timeout: a job is the same after the wait."""
    claim = lane.take(max_attempts=7, priority=3, timeout_seconds=9, dedupe_key="k")
    lane.heart.release_one(claim)
    again = lane.claim_one()
    lane.heart.fail_one(again, retry_in_seconds=5)
    parked = lane.row("later", claim)
    clock.move(5)
    lane.heart.promote()
    ready = lane.row("live", claim)
    kept = ("attempt", "max_attempts", "priority", "releases", "is_keyed", "timeout_seconds", "def_id", "queue_id")
    assert {name: parked[name] for name in kept} == {name: ready[name] for name in kept}
    assert (ready["attempt"], ready["max_attempts"], ready["releases"], ready["state"]) == (2, 8, 1, 0)
    assert lane.heart.row("later", claim.job_id) is None


def test_a_job_of_a_queue_that_became_strict_is_promoted_into_it(lane, clock):
    job = lane.job(delay_seconds=5)
    lane.heart.set_queue(is_strict=True)
    clock.move(5)
    lane.heart.promote()
    assert lane.row("live", job)["is_strict"] is True
    assert lane.claimed(1) == [job]


def test_a_successor_takes_its_turn_when_its_twin_has_ended(lane):
    twin = lane.take(dedupe_key="k")
    successor = lane.job(dedupe_key="k", dedupe="requeue")
    assert lane.heart.promote().handed_over >= 1, "looked at, and left where it is"
    assert lane.phase(successor) == "waiting"
    lane.heart.complete_one(twin)
    assert lane.heart.promote().handed_over == 1
    lane.heart.promote()
    assert lane.claimed(1) == [successor]
    assert lane.heart.count("handover") == 0


def test_a_successor_that_was_put_off_waits_for_its_time_too(lane, clock):
    twin = lane.take(dedupe_key="k")
    successor = lane.job(dedupe_key="k", dedupe="requeue", delay_seconds=60)
    lane.heart.complete_one(twin)
    lane.heart.promote()
    lane.heart.promote()
    assert lane.phase(successor) == "scheduled"
    clock.move(60)
    lane.heart.promote()
    assert lane.phase(successor) == "ready"


def test_a_handover_of_a_canceled_successor_comes_to_nothing(lane):
    twin = lane.take(dedupe_key="k")
    successor = lane.job(dedupe_key="k", dedupe="requeue")
    lane.heart.cancel_one(lane.tenant, successor)
    lane.heart.complete_one(twin)
    lane.heart.promote()
    assert lane.state(successor) == "canceled"
    assert lane.heart.count("handover") == 0
    assert lane.heart.count("job_key") == 0


def test_a_batch_of_handovers_that_cannot_be_decided_hides_no_due_job(database, heart, clock):
    """An open enqueue of the key holds what must be decided; due jobs of everybody go on."""
    heart.define()
    tenant = heart.tenant()
    worker = heart.worker()
    heart.job(tenant, dedupe_key="k")
    twin = worker.claim_one()
    heart.job(tenant, dedupe_key="k", dedupe="requeue")
    scheduled = heart.job(tenant, delay_seconds=5)
    heart.complete_one(twin)
    with database.connect(autocommit=False) as holder:
        holder.execute("select from waiting for update")
        clock.move(5)
        heart.rows("set statement_timeout = '10s'")
        assert heart.promote(1).promoted == 1
        assert heart.phase(scheduled) == "ready"
    heart.promote()
    heart.promote()
    assert len(worker.claim(5)) == 2


def test_what_cannot_be_decided_stays_and_the_rest_is_handed_over(database, heart):
    heart.define()
    tenant = heart.tenant()
    worker = heart.worker()
    for key in ("held", "free"):
        heart.job(tenant, dedupe_key=key)
    twins = worker.claim(2)
    held, free = (heart.job(tenant, dedupe_key=key, dedupe="requeue") for key in ("held", "free"))
    heart.complete(twins)
    with database.connect(autocommit=False) as holder:
        holder.execute("select from waiting where job_id = %s for update", [held])
        for _ in range(3):
            heart.promote()
        assert (heart.phase(held), heart.phase(free)) == ("waiting", "ready")
        assert heart.one("select array_agg(distinct key) from handover") == (["held"],)
    for _ in range(3):
        heart.promote()
    assert heart.phase(held) == "ready"
    assert heart.count("handover") == 0


def test_a_twin_that_somebody_holds_is_looked_at_again(database, heart):
    """Whatever else the tenant has ready or parked beside it."""
    heart.define()
    tenant = heart.tenant()
    worker = heart.worker()
    heart.job(tenant, dedupe_key="k")
    twin = worker.claim_one()
    heart.job(tenant)
    heart.job(tenant, delay_seconds=60)
    heart.job(tenant, dedupe_key="k", dedupe="requeue")
    with database.connect(autocommit=False) as holder:
        holder.execute("select from live where job_id = %s for update", [twin.job_id])
        assert heart.promote().handed_over == 0
        assert heart.count("handover") > 0
    assert heart.promote().handed_over > 0


def test_a_tenant_whose_handovers_cannot_be_decided_delays_no_other(database, heart):
    heart.define()
    noisy, quiet = heart.tenant("noisy"), heart.tenant("quiet")
    keys = [{"dedupe_key": f"k{n}", "delay_seconds": 60} for n in range(300)]
    heart.enqueue_many(noisy, keys)
    worker = heart.worker()
    heart.job(quiet, dedupe_key="k")
    twin = worker.claim_one()
    with database.connect(autocommit=False) as holder:
        holder.execute("select from later for update")
        heart.enqueue_many(noisy, [key | {"dedupe": "requeue", "delay_seconds": None} for key in keys])
        successor = heart.job(quiet, dedupe_key="k", dedupe="requeue")
        heart.complete_one(twin)
        heart.promote(100)
        heart.promote(100)
        assert heart.phase(successor) == "ready"
    heart.verify()


def test_a_tenant_with_more_due_jobs_than_a_pass_takes_delays_no_other(heart, clock):
    heart.define()
    noisy = heart.tenant("noisy", id=UUID(int=7))
    heart.enqueue_many(noisy, [{"delay_seconds": 5}] * 500)
    quiet = [heart.tenant(f"quiet{n}", id=UUID(int=n)) for n in (5, 9)]
    jobs = [heart.job(tenant, delay_seconds=6) for tenant in quiet]
    clock.move(10)
    assert [heart.promote(10).promoted for _ in range(2)] == [10, 10]
    assert [heart.phase(job) for job in jobs] == ["ready", "ready"]


def test_so_many_tenants_that_one_look_does_not_meet_them_all_are_met_one_after_the_other(heart, clock):
    heart.define()
    tenants = [heart.tenant(f"t{n}") for n in range(12)]
    for tenant in tenants:
        heart.enqueue_many(tenant, [{"delay_seconds": 5}] * 30)
    last = [heart.job(tenant, delay_seconds=5) for tenant in tenants]
    clock.move(10)
    for _ in range(12):
        assert heart.promote(20).promoted == 20
    served = [heart.one("select count(*) from live where tenant_id = %s", [tenant])[0] for tenant in tenants]
    assert min(served) >= 10, served
    while heart.promote(20).promoted:
        pass
    assert {heart.phase(job) for job in last} == {"ready"}
