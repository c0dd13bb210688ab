"""lanes.sql: tenants are served in weighted turns at every size of claim; who has no work costs and delays nobody."""

import itertools

import pytest

from language import Worker


def fill(lane, weights, *, jobs):
    """Tenants of these weights with so many jobs each, put in by plain SQL: the turns are what is looked at."""
    tenants = [lane.other(f"t{number:03}", weight=weight) for number, weight in enumerate(weights)]
    lane.heart.rows(
        """
        insert into job (tenant_id, def_id, id, queue_id, max_attempts, priority, source, run_at, payload)
        select t, d.def_id, new_id(), d.queue_id, 3, 100, 0, clock(), '{}'
        from unnest(%s::uuid[]) t, definition d, generate_series(1, %s) where d.key = 'echo'
        """,
        [tenants, jobs],
    )
    lane.heart.rows(
        """
        insert into live (rank, ready_at, tenant_id, job_id, queue_id, def_id, attempt, max_attempts, priority,
            releases, state, is_strict, is_cancel_requested, is_keyed)
        select j.run_at, j.run_at, j.tenant_id, j.id, j.queue_id, j.def_id, 0, 3, 100, 0, 0, false, false, false
        from job j where j.tenant_id = any (%s)
        """,
        [tenants],
    )
    return tenants


def serve(worker: Worker, n, *, jobs):
    """How many each tenant got when so many jobs were claimed, n at a time, by one worker that keeps its cursor."""
    served = {}
    taken = 0
    while taken < jobs:
        claims = worker.claim_next(n)
        assert claims, "work is left and nothing was given"
        for claim in claims:
            served[claim.tenant_id] = served.get(claim.tenant_id, 0) + 1
        taken += len(claims)
    return served


@pytest.mark.parametrize("n", [1, 2, 32])
def test_two_tenants_of_weights_10_and_1_are_served_10_to_1(lane, n):
    heavy, light = fill(lane, [10, 1], jobs=500)
    served = serve(lane.worker, n, jobs=330)
    assert served[heavy] / served[light] == pytest.approx(10, rel=0.1)


@pytest.mark.parametrize("n", [1, 2, 32])
def test_a_hundred_tenants_share_by_their_weights(lane, n):
    """Fifty of weight 10 and fifty of 1, mixed: each heavy one gets what each other heavy one gets."""
    tenants = fill(lane, [10, 1] * 50, jobs=45)
    served = serve(lane.worker, n, jobs=1650)
    heavy = [served.get(tenant, 0) for tenant in tenants[::2]]
    light = [served.get(tenant, 0) for tenant in tenants[1::2]]
    assert sum(heavy) / sum(light) == pytest.approx(10, rel=0.1)
    assert max(heavy) - min(heavy) <= 10
    assert max(light) - min(light) <= 1


@pytest.mark.parametrize("n", [1, 3, 10, 100])
def test_tenants_of_one_weight_are_served_alike(lane, n):
    tenants = fill(lane, [1] * 7, jobs=60)
    served = serve(lane.worker, n, jobs=300)
    assert set(served) == set(tenants)
    assert max(served.values()) - min(served.values()) <= 1


@pytest.mark.parametrize("quantum", [1, 5, 50])
def test_a_quantum_makes_turns_longer_and_keeps_the_shares(lane, quantum):
    heavy, light = fill(lane, [3, 1], jobs=900)
    served: dict = {}
    for _ in range(100):
        for claim in lane.worker.claim_next(8, quantum=quantum):
            served[claim.tenant_id] = served.get(claim.tenant_id, 0) + 1
    assert served[heavy] / served[light] == pytest.approx(3, rel=0.1)


@pytest.mark.parametrize("n", [1, 10])
def test_one_job_behind_a_thousand_of_another_tenant_is_served_in_the_first_round(lane, n):
    crowd = fill(lane, [1], jobs=1000)[0]
    small = lane.other("small")
    lane.heart.job(small)
    served = serve(lane.worker, n, jobs=max(2, n))
    assert served[small] == 1
    assert served[crowd] == max(2, n) - 1


def test_every_cursor_finds_the_small_tenant_within_a_round(lane):
    crowd = fill(lane, [1, 1, 1], jobs=300)
    small = lane.other("small")
    for start in [*crowd, small, None]:
        job = lane.heart.job(small)
        worker = lane.heart.worker()
        worker.claim(1, after=start)
        found = [worker.claim_next(1)[0].job_id for _ in range(3)]
        if job not in found:
            assert lane.heart.state(job) == "running", "the very first claim had it"


def test_idle_capacity_goes_to_whoever_has_work(lane):
    busy, idle = fill(lane, [1, 1000], jobs=20)
    lane.heart.rows("delete from live where tenant_id = %s", [idle])
    assert len(lane.worker.claim(20)) == 20
    assert lane.worker.claim(1) == []
    assert lane.heart.one("select count(*) from live where tenant_id = %s and state = 1", [busy]) == (20,)


def test_what_one_tenant_leaves_of_its_turn_the_others_get_in_the_same_claim(lane):
    heavy, light = fill(lane, [10, 1], jobs=30)
    lane.heart.rows("delete from live where job_id in (select job_id from live where tenant_id = %s limit 27)", [heavy])
    assert lane.served(lane.worker.claim(33)) == {heavy: 3, light: 30}


def test_a_weight_counts_from_the_next_claim(lane):
    one, two = fill(lane, [1, 1], jobs=300)
    serve(lane.worker, 4, jobs=20)
    lane.heart.set_weight(one, 5)
    served = serve(lane.worker, 6, jobs=180)
    assert served[one] / served[two] == pytest.approx(5, rel=0.1)


def test_a_tenant_with_many_definitions_gets_one_turn_for_all(lane):
    """Turns go between tenants, not between lanes."""
    lane.heart.sync({"echo": {}} | {f"d{n}": {} for n in range(10)})
    many, one = lane.other("many"), lane.other("one")
    for n in range(10):
        for _ in range(10):
            lane.heart.job(many, f"d{n}")
    for _ in range(100):
        lane.heart.job(one)
    for n in (1, 4, 10):
        served = serve(lane.heart.worker(), n, jobs=40)
        assert abs(served[many] - served[one]) <= 2, n


def test_the_turn_goes_on_where_the_last_claim_ended(lane):
    """A heavy tenant's ten are given over several claims, then it is the light one's turn."""
    heavy, light = fill(lane, [10, 1], jobs=100)
    order = [lane.worker.claim_next(1)[0].tenant_id for _ in range(33)]
    runs = [(tenant, len(list(group))) for tenant, group in itertools.groupby(order)]
    assert runs == [(heavy, 10), (light, 1)] * 3


def test_a_worker_without_a_cursor_begins_anywhere_and_misses_nobody(lane):
    tenants = fill(lane, [1] * 5, jobs=1)
    served = lane.served(lane.worker.claim(5))
    assert served == dict.fromkeys(tenants, 1)


def test_two_hundred_tenants_are_all_served_in_one_round(lane):
    tenants = fill(lane, [1] * 200, jobs=2)
    served = serve(lane.worker, 50, jobs=200)
    assert served == dict.fromkeys(tenants, 1)
