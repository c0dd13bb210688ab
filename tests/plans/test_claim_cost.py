"""What a claim costs does not depend on how many wait, and what it answers does not depend on planner settings."""

from statistics import median
from uuid import UUID

import pytest
from hot_statements import BACKLOG

from kit.database import Clones
from laneway.database.sqlfiles import SqlFiles
from language import Claim, Heart, Worker

CLAIMED = 10
FEW, MANY = 1_000, 200_000
MEASURE = "explain (analyze, buffers, timing off, format json) select * from claim(%s, 'default', %s)"


def pages_per_job(heart: Heart, worker: Worker) -> float:
    """Pages that a claim of ten touches, per job; the first claims of a session read the catalogue as well."""
    found: list[int] = []
    for _ in range(7):
        ((told,),) = heart.rows(MEASURE, [worker.id, CLAIMED])
        assert told[0]["Plan"]["Actual Rows"] == CLAIMED + 1
        found.append(told[0]["Plan"]["Shared Hit Blocks"] + told[0]["Plan"]["Shared Read Blocks"])
    return median(found[2:]) / CLAIMED


def test_a_claimed_job_costs_as_many_pages_behind_a_thousand_as_behind_two_hundred_thousand(heart: Heart):
    heart.define()
    tenant = heart.tenant()
    worker = heart.worker()
    heart.conn.execute(BACKLOG, {"tenant": tenant, "begin": 1, "end": FEW})
    few = pages_per_job(heart, worker)
    heart.conn.execute(BACKLOG, {"tenant": tenant, "begin": FEW + 1, "end": MANY})
    never_analyzed = pages_per_job(heart, worker)
    heart.rows("analyze")
    analyzed = pages_per_job(heart, worker)
    assert max(never_analyzed, analyzed) / few < 1.5, (few, never_analyzed, analyzed)


FROM_A_FLOOR = """
explain (analyze, buffers, timing off, format json)
select * from finish_and_claim(%s, 'default', '{}', '{}', '{}', null, %s, %s, %s, %s::timestamptz[])
"""


def test_from_a_floor_a_claim_does_not_walk_what_was_claimed_before_it(heart: Heart):
    heart.define()
    tenant = heart.tenant()
    worker = heart.worker()
    heart.conn.execute(BACKLOG, {"tenant": tenant, "begin": 1, "end": 20_000})

    def pages() -> float:
        lane, floor = worker.trailer.lane_tenants, worker.trailer.lane_floors
        found: list[int] = []
        for _ in range(7):
            given = [worker.id, lane, worker.trailer.lane_defs, [CLAIMED], floor]
            ((told,),) = heart.rows(FROM_A_FLOOR, given)
            assert told[0]["Plan"]["Actual Rows"] == CLAIMED + 1
            found.append(told[0]["Plan"]["Shared Hit Blocks"] + told[0]["Plan"]["Shared Read Blocks"])
        return median(found[2:]) / CLAIMED

    worker.claim(CLAIMED)
    fresh = pages()
    for _ in range(15):
        worker.complete(worker.claim(1000))
    worker.claim(CLAIMED)
    behind_dead_entries = pages()
    assert behind_dead_entries / fresh < 1.5, (fresh, behind_dead_entries)


def without_pins(heart: Heart) -> None:
    for pin in SqlFiles.packaged().pins:
        for name, _ in pin.settings:
            heart.rows(f"alter function {pin.function} reset {name}")


@pytest.fixture(params=["as they come", "no index", "merge joins", "nested loops"])
def unpinned(clones: Clones, request: pytest.FixtureRequest):
    """A heart whose functions are planned as the server likes; or as a bad day would have it."""
    settings = {
        "as they come": [],
        "no index": ["enable_indexscan", "enable_indexonlyscan", "enable_bitmapscan"],
        "merge joins": ["enable_nestloop", "enable_hashjoin"],
        "nested loops": ["enable_hashjoin", "enable_mergejoin", "enable_material", "enable_seqscan"],
    }
    with clones.lent() as database:
        heart = Heart(database)
        without_pins(heart)
        heart.rows("analyze")
        for name in settings[request.param]:
            heart.rows(f"set {name} = off")
        yield heart


def test_without_planner_pins_claims_take_as_many_as_they_were_asked_and_each_job_once(unpinned: Heart):
    unpinned.define()
    tenants = [unpinned.tenant(slug) for slug in ("one", "two", "three")]
    for tenant in tenants:
        unpinned.enqueue_many(tenant, [{}] * 40)
    worker = unpinned.worker()
    claims: list[Claim] = []
    for _ in range(12):
        claimed = worker.claim_next(CLAIMED)
        assert len(claimed) == CLAIMED
        claims += claimed
        assert held_jobs(worker) == {claim.job_id for claim in claims}
    assert worker.claim_next(CLAIMED) == []
    assert len(held_jobs(worker)) == 120
    assert [sum(claim.tenant_id == tenant for claim in claims[:30]) for tenant in tenants] == [10, 10, 10]


def test_without_planner_pins_a_strict_queue_is_claimed_in_one_order(unpinned: Heart):
    unpinned.define()
    unpinned.set_queue(is_strict=True, ageing_seconds=60)
    tenants = [unpinned.tenant(slug) for slug in ("one", "two")]
    for priority in (30, 10, 20):
        for tenant in tenants:
            unpinned.enqueue(tenant, priority=priority)
    worker = unpinned.worker()
    assert sorted(claim.priority for claim in worker.claim(5)) == [10, 10, 20, 20, 30]
    assert [claim.priority for claim in worker.claim(5)] == [30]


def held_jobs(worker: Worker) -> set[UUID]:
    return {job for _, job, _ in worker.held()}
