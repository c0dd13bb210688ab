"""Nobody's open transaction stops a worker: what another session holds is busy, passed over, or said again."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from language import LEASE, Answer, ExtendAnswer, Heart, Swept

# Long enough for a busy machine, and no verb may wait for it.
PATIENCE = "set statement_timeout = '15s'"


@pytest.fixture
def held(database, heart):
    """Two running jobs of two tenants, and a way to hold the row of the first."""
    heart.define(max_attempts=5)
    tenants = [heart.tenant(slug) for slug in ("acme", "zeta")]
    jobs = [heart.job(tenant) for tenant in tenants]
    worker = heart.worker()
    claims = {claim.job_id: claim for claim in worker.claim(2)}
    heart.rows(PATIENCE)
    return Held(database, heart, worker, [claims[job] for job in jobs])


class Held:
    def __init__(self, database, heart: Heart, worker, claims):
        self.database, self.heart, self.worker, self.claims = database, heart, worker, claims

    @contextmanager
    def holding(self, claim) -> Iterator[None]:
        with self.database.connect(autocommit=False) as conn:
            conn.execute("select from live where job_id = %s for update", [claim.job_id])
            yield
            conn.rollback()


@pytest.mark.parametrize("verb", ["complete", "fail", "release", "cancel_attempt", "snooze"])
def test_a_held_row_is_busy_and_the_others_are_answered_at_once(held, verb):
    options = {"delays_seconds": [5, 5]} if verb == "snooze" else {}
    say = getattr(held.heart, verb)
    with held.holding(held.claims[0]):
        assert say(held.claims, **options) == [Answer.BUSY, Answer.ACCEPTED]
    assert say(held.claims, **options) == [Answer.ACCEPTED, Answer.DUPLICATE]


def test_a_held_lease_is_not_moved_and_the_others_are(held):
    with held.holding(held.claims[0]):
        assert held.heart.extend(held.claims) == [ExtendAnswer.BUSY, ExtendAnswer.OK]
    assert held.heart.extend(held.claims) == [ExtendAnswer.OK, ExtendAnswer.OK]


def test_a_held_lease_is_swept_by_a_later_pass(held, clock):
    clock.move(LEASE)
    with held.holding(held.claims[0]):
        assert held.heart.sweep() == Swept(1, 1, 0, 0)
    assert held.heart.sweep() == Swept(1, 1, 0, 0)


def test_finish_and_claim_answers_busy_and_claims_all_the_same(held):
    following = held.heart.job(held.claims[1].tenant_id)
    lanes = [(held.claims[1].tenant_id, held.heart.def_id())]
    with held.holding(held.claims[0]):
        answers, claims = held.worker.finish_and_claim(held.claims, lanes=lanes, quotas=[1])
    assert answers == [Answer.BUSY, Answer.ACCEPTED]
    assert [claim.job_id for claim in claims] == [following]


@pytest.mark.parametrize("is_strict", [False, True])
def test_a_claim_takes_the_next_one_in_line(database, heart, is_strict):
    heart.define()
    heart.set_queue(is_strict=is_strict)
    tenant = heart.tenant()
    jobs = [heart.job(tenant) for _ in range(4)]
    worker = heart.worker()
    heart.rows(PATIENCE)
    with database.connect(autocommit=False) as conn:
        taken = heart.on(conn).claim(heart.worker(), 2)
        assert [claim.job_id for claim in taken] == jobs[:2]
        assert [claim.job_id for claim in worker.claim(2)] == jobs[2:]
        assert worker.claim(2) == []
        conn.rollback()
    assert [claim.job_id for claim in worker.claim(5)] == jobs[:2], "a claim that was rolled back gave nothing away"


def test_an_extension_in_the_same_instant_does_not_make_a_claim_take_a_row_twice(database, heart):
    """The row is picked and begun under one lock: two claims never share a job, and neither comes home with less."""
    heart.define()
    tenant = heart.tenant()
    for _ in range(10):
        heart.job(tenant)
    one, two = heart.worker(), heart.worker()
    with database.connect(autocommit=False) as conn:
        first = heart.on(conn).claim(one, 5)
        second = two.claim(5)
        conn.commit()
    assert len({claim.job_id for claim in [*first, *second]}) == 10


@pytest.mark.parametrize("verb", ["sweep", "promote", "expire"])
def test_one_pass_runs_at_a_time_and_is_not_waited_for(database, heart, clock, verb):
    heart.define()
    tenant = heart.tenant()
    heart.job(tenant)
    heart.worker().claim_one()
    heart.job(tenant, delay_seconds=5)
    heart.job(tenant, expires_seconds=5)
    heart.rows(PATIENCE)
    with database.connect(autocommit=False) as conn:
        getattr(heart.on(conn), verb)()
        clock.move(LEASE)
        before = heart.surface()
        getattr(heart, verb)()
        assert heart.surface() == before
        others = {"sweep", "promote", "expire"} - {verb}
        for other in others:
            getattr(heart, other)()
        assert heart.surface() != before, "the other passes run beside it"
        conn.rollback()
    before = heart.surface()
    getattr(heart, verb)()
    assert heart.surface() != before


def test_a_scheduled_job_that_is_held_waits_for_a_later_pass(database, heart, clock):
    heart.define()
    tenant = heart.tenant()
    held_job, free = heart.job(tenant, delay_seconds=5), heart.job(tenant, delay_seconds=5)
    clock.move(5)
    heart.rows(PATIENCE)
    with database.connect(autocommit=False) as conn:
        conn.execute("select from later where job_id = %s for update", [held_job])
        assert heart.promote().promoted == 1
        assert (heart.phase(held_job), heart.phase(free)) == ("scheduled", "ready")
    assert heart.promote().promoted == 1


@pytest.mark.parametrize("table", ["live", "later", "waiting"])
def test_a_job_that_is_held_expires_in_a_later_pass(database, heart, clock, table):
    heart.define()
    tenant = heart.tenant()
    heart.job(tenant, dedupe_key="k")
    heart.worker().claim_one()
    options = {"live": {}, "later": {"delay_seconds": 60}, "waiting": {"dedupe_key": "k", "dedupe": "replace"}}
    job = heart.job(tenant, expires_seconds=5, **options[table])
    other = heart.job(tenant, expires_seconds=5)
    clock.move(5)
    heart.rows(PATIENCE)
    with database.connect(autocommit=False) as conn:
        conn.execute(f"select from {table} where job_id = %s for update", [job])
        assert heart.expire() == 1
        assert (heart.state(job), heart.state(other)) == ("queued", "failed")
    assert heart.expire() == 1


def test_a_worker_s_own_row_that_is_held_stops_no_lease(held):
    """An operator's open drain_worker must not cost the worker its leases."""
    with held.database.connect(autocommit=False) as conn:
        conn.execute("select from worker where worker_id = %s for update", [held.worker.id])
        assert held.heart.extend(held.claims) == [ExtendAnswer.OK, ExtendAnswer.OK]
        assert held.worker.beat() is False


class TestTwoEnqueuesOfOneKey:
    """The second waits for the first one's end, and for nothing else; the primary key decides."""

    @pytest.fixture
    def pair(self, database, heart):
        from kit.lab import Lab  # noqa: PLC0415 -- installs gates; other tests of this file need none

        heart.define()
        tenant = heart.tenant()
        with Lab(database, "a", "b") as lab:
            yield lab, tenant

    @pytest.mark.parametrize("option", ["dedupe_key", "idempotency_key"])
    def test_the_first_one_commits(self, pair, option):
        lab, tenant = pair
        lab.begin("a")
        first = lab("a", "enqueue", tenant, **{option: "k"})
        lab.waits("b", "enqueue", tenant, **{option: "k"})
        lab.commit("a")
        second = lab.answer("b")
        assert (second.job_id, second.created, second.refusal) == (first.job_id, False, None)

    @pytest.mark.parametrize("option", ["dedupe_key", "idempotency_key"])
    def test_the_first_one_rolls_back(self, pair, option):
        lab, tenant = pair
        lab.begin("a")
        first = lab("a", "enqueue", tenant, **{option: "k"})
        lab.waits("b", "enqueue", tenant, **{option: "k"})
        lab.rollback("a")
        second = lab.answer("b")
        assert second.created
        assert second.job_id != first.job_id

    def test_another_tenant_s_open_enqueue_is_not_waited_for(self, pair):
        lab, tenant = pair
        zeta = lab.heart.tenant("zeta")
        lab.begin("a")
        lab("a", "enqueue", tenant, dedupe_key="k")
        assert lab("b", "enqueue", zeta, dedupe_key="k").created
        lab.rollback("a")
