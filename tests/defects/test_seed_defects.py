"""The defects of the first designs, each as the right behaviour that it broke. defects.toml puts each one back."""

import json
import threading

import psycopg
import pytest

from language import LEASE, Answer


@pytest.fixture
def app(database, heart):
    """A client of an application that may type any SQL, and two tenants with a job each."""
    heart.define()
    tenants = [heart.tenant(slug) for slug in ("acme", "zeta")]
    jobs = [heart.job(tenant) for tenant in tenants]
    return database.connect(role="app"), tenants, jobs


@pytest.mark.covers("D1")
def test_d1_a_fresh_connection_reads_no_tenant_s_rows(app):
    client, _, _ = app
    for table in ("job", "live", "attempt", "tenant"):
        assert client.execute(f"select from {table}").fetchall() == []


@pytest.mark.covers("D2")
def test_d2_a_client_that_names_its_tenant_by_itself_has_none(app):
    client, (tenant, _), _ = app
    for setting in ("laneway.ctx", "laneway.tenant_id", "laneway.tenant", "app.tenant_id"):
        client.execute("select set_config(%s, %s, false)", [setting, str(tenant)])
    assert client.execute("select current_tenant()").fetchone() == (None,)
    assert client.execute("select from job").fetchall() == []


@pytest.mark.covers("D3")
def test_d3_the_tenant_of_a_call_is_compared_with_the_context(lane):
    theirs = lane.other("zeta")
    job = lane.heart.job(theirs)
    with pytest.raises(psycopg.errors.NoDataFound), lane.heart.conn.transaction():
        lane.heart.call_as(lane.tenant, "cancel", tenant=theirs, jobs=[job])
    assert lane.state(job) == "queued"


@pytest.mark.covers("D4")
@pytest.mark.parametrize("table", ["job", "live", "attempt"])
def test_d4_a_policy_is_an_index_condition(app, table):
    client, _, _ = app
    client.execute("set enable_seqscan = off")
    plan = json.dumps(client.execute(f"explain (format json) select from {table}").fetchone())
    assert "Seq Scan" not in plan
    assert '"Index Cond": "(tenant_id = ' in plan


@pytest.mark.covers("D5")
def test_d5_a_claim_of_one_takes_one_whatever_the_plan(heart):
    """A nested loop ran the limited scan again: `limit 1` claimed 201 of 201 rows."""
    heart.define("a")
    heart.define("b")
    tenant = heart.tenant()
    heart.enqueue_many(tenant, [{"definition": key} for key in ("a", "b") * 100])
    for method in ("enable_hashjoin", "enable_mergejoin", "enable_material", "enable_memoize"):
        heart.rows(f"set {method} = off")
    assert len(heart.worker().claim(1)) == 1
    assert len(heart.worker(["a"]).claim(1)) == 1
    assert heart.one("select count(*) from live where state = 1") == (2,)


@pytest.mark.covers("D6")
@pytest.mark.parametrize("verb", ["complete_one", "fail_one"])
def test_d6_a_late_word_does_not_touch_the_next_attempt_of_another_worker(lane, clock, verb):
    late = lane.take()
    clock.move(LEASE)
    lane.heart.sweep()
    clock.move(1)
    lane.heart.promote()
    (now,) = lane.heart.worker().claim(1)
    assert now.job_id == late.job_id
    assert getattr(lane.heart, verb)(late) == Answer.STALE
    assert lane.heart.complete_one(now) == Answer.ACCEPTED


@pytest.mark.covers("D7")
@pytest.mark.parametrize("verb", ["complete_one", "fail_one"])
def test_d7_a_late_word_does_not_touch_the_next_attempt_of_the_same_worker(lane, verb):
    late = lane.take()
    lane.heart.release_one(late)
    now = lane.claim_one()
    assert (now.job_id, now.worker_id) == (late.job_id, late.worker_id)
    assert getattr(lane.heart, verb)(late) == Answer.STALE
    assert lane.heart.complete_one(now) == Answer.ACCEPTED


@pytest.mark.covers("D8")
def test_d8_the_thirty_second_failure_and_all_after_it_end_the_attempt(lane, clock):
    """A power that overflowed left the job running for ever."""
    lane.heart.define("long", max_attempts=100, backoff_factor=10, backoff_base_seconds=3600, backoff_jitter=0)
    worker = lane.heart.worker()
    lane.job("long")
    for _ in range(99):
        assert lane.heart.fail_one(worker.claim_one()) == Answer.ACCEPTED
        clock.move(3600)
        lane.heart.promote()


@pytest.mark.covers("D9")
def test_d9_a_retry_goes_on_with_the_number(lane):
    first = lane.take(max_attempts=1)
    lane.heart.fail_one(first)
    lane.heart.retry_one(lane.tenant, first.job_id)
    second = lane.claim_one()
    assert (second.job_id, second.attempt) == (first.job_id, 2)
    assert lane.heart.complete_one(first) == Answer.STALE


@pytest.mark.covers("D10")
def test_d10_a_job_that_kills_each_of_its_workers_ends(lane, clock):
    job = lane.job()
    for _ in range(3):
        assert len(lane.heart.worker().claim(1)) == 1
        clock.move(LEASE)
        lane.heart.sweep()
        clock.move(1)
        lane.heart.promote()
    assert lane.state(job) == "dead_letter"


@pytest.mark.covers("D11")
def test_d11_a_retry_beside_an_active_twin_is_answered_and_the_batch_goes_on(lane):
    jobs = []
    for key in ("k", None):
        claim = lane.take(max_attempts=1, **({"dedupe_key": key} if key else {}))
        lane.heart.fail_one(claim)
        jobs.append(claim.job_id)
    twin = lane.job(dedupe_key="k")
    blocked, free = lane.heart.retry(lane.tenant, jobs)
    assert (blocked.answer, blocked.active_twin) == ("conflict", twin)
    assert free.answer == "queued"


@pytest.mark.covers("D15")
@pytest.mark.parametrize("is_strict", [False, True])
def test_d15_an_index_delivers_the_order_of_a_claim(sql, lane, is_strict):
    """Or every claim sorts the backlog."""
    lane.heart.set_queue(is_strict=is_strict)
    lane.heart.enqueue_many(lane.tenant, [{}] * 200)
    sql.execute("set local enable_seqscan = off")
    within = "is_strict" if is_strict else f"tenant_id = '{lane.tenant}' and def_id = {lane.heart.def_id()}"
    plan = sql.execute(
        f"explain (format json) select from live where queue_id = {lane.heart.queue_id()} and {within} and state = 0"
        " order by rank, job_id limit 5"
    ).fetchone()
    assert "Sort" not in json.dumps(plan)


@pytest.mark.covers("D16")
def test_d16_a_duplicate_writes_no_version_of_the_key(lane):
    first = lane.job(dedupe_key="k")
    before = lane.heart.rows("select ctid::text, xmin::text, k::text from job_key k")
    for policy in ("skip", "error", "requeue"):
        lane.heart.enqueue(lane.tenant, dedupe_key="k", dedupe=policy)
    again = lane.heart.enqueue_many(lane.tenant, [{"dedupe_key": "k"}] * 5)
    assert {answer.job_id for answer in again} == {first}
    assert lane.heart.rows("select ctid::text, xmin::text, k::text from job_key k") == before


@pytest.mark.covers("D16")
def test_d16_two_calls_with_keys_in_opposite_orders_both_end(database, heart):
    heart.define()
    tenant = heart.tenant()
    keys = [f"k{number:03}" for number in range(100)]
    heart.enqueue_many(tenant, [{"dedupe_key": key} for key in keys])
    errors: list[BaseException] = []

    def repeat(order):
        try:
            speaker = heart.on(database)
            for _ in range(10):
                speaker.enqueue_many(tenant, [{"dedupe_key": key} for key in order])
        except BaseException as error:  # noqa: BLE001 -- told by the test
            errors.append(error)

    threads = [threading.Thread(target=repeat, args=[order]) for order in (keys, keys[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


@pytest.mark.covers("D17")
@pytest.mark.parametrize("options", ["", ", p_dedupe_key => 'k'", ", p_delay_seconds => 5"])
def test_d17_an_enqueue_costs_the_same_before_a_backlog_and_behind_it(sql, lane, options):
    """A count over what is queued is racy, and its cost grows with the queue."""

    def buffers():
        with sql.transaction(force_rollback=True):
            (plan,) = sql.execute(
                "explain (analyze, buffers, timing off, format json)"
                f" select from enqueue(p_tenant => '{lane.tenant}', p_definition => 'echo'{options})"
            ).fetchone()
        return plan[0]["Plan"]["Shared Hit Blocks"] + plan[0]["Plan"]["Shared Read Blocks"]

    lane.heart.rows("select enter_tenant(%s, 'o', 'me')", [lane.tenant])
    buffers()
    before = buffers()
    lane.heart.enqueue_many(lane.tenant, [{}] * 10000)
    buffers()
    assert buffers() <= before * 1.5 + 20


@pytest.mark.covers("D18")
def test_d18_a_lease_is_measured_by_the_clock_and_not_by_the_transaction(database, heart, clock):
    heart.define()
    heart.job(heart.tenant())
    worker = heart.worker()
    conn = database.connect()
    with conn.transaction():
        heart.on(conn).rows("select now()")
        clock.move(30)
        (claim,) = worker.on(conn).claim(1)
    (until,) = heart.one("select until from live")
    assert (until - clock.now()).total_seconds() == LEASE
    clock.move(LEASE - 1)
    assert heart.sweep().swept == 0
    assert heart.complete_one(claim) == Answer.ACCEPTED


@pytest.mark.covers("D19")
def test_d19_a_context_ends_with_its_transaction_and_may_come_with_the_call(app, heart):
    """Behind a pooler the next transaction is somebody else's."""
    client, (tenant, _), _ = app
    with client.transaction():
        heart.rows("select 1")
        (token,) = _token(heart, tenant)
        client.execute("select enter(%s)", [token])
        assert client.execute("select current_tenant()").fetchone() == (tenant,)
    assert client.execute("select current_tenant()").fetchone() == (None,)
    made = client.execute("select created from enqueue(%s, 'echo', p_token => %s)", [tenant, token]).fetchone()
    assert made == (True,)
    assert client.execute("select current_tenant()").fetchone() == (None,)


def _token(heart, tenant):
    """As an application signs it: good for some seconds, in any transaction."""
    return heart.one(
        "select s.said || '.' || hmac(k.inner_pad, k.outer_pad, s.said) from context_key k,"
        " lateral (select concat_ws('.', k.kid, 't', %s::uuid, 'o', extract(epoch from now())::bigint + 60, 'me')"
        " as said) s where k.not_after is null limit 1",
        [tenant],
    )


@pytest.mark.covers("D21")
def test_d21_a_definition_that_comes_back_unchanged_loses_its_mark(lane):
    declared = {"echo": {"max_attempts": 3, "timeout_seconds": 600, "backoff_jitter": 0}}
    lane.heart.sync({})
    assert lane.heart.one("select is_deleted_from_code from definition") == (True,)
    lane.heart.sync(declared)
    assert lane.heart.one("select is_deleted_from_code from definition") == (False,)
