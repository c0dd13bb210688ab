"""read.sql: lists and details: every job exactly once over the pages, filters as a plain filter over all rows."""

import itertools
from datetime import timedelta
from uuid import uuid4

import pytest

STATES = ("queued", "scheduled", "retrying", "waiting", "running", "succeeded", "failed", "dead_letter", "canceled")


def page(lane, before=None, **options):
    rows = lane.heart.call_as(
        lane.tenant, "list_jobs", "job_id", "next_before", scope="r", tenant=lane.tenant, before=before, **options
    )
    jobs = [job for job, _ in rows if job is not None]
    cursors = [cursor for job, cursor in rows if job is None]
    return jobs, cursors[0] if cursors else None


def pages(lane, **options):
    """All pages, one after the other."""
    found, cursor = page(lane, **options)
    while cursor is not None:
        more, following = page(lane, before=cursor, **options)
        assert following is None or following < cursor, "each page goes further back"
        found, cursor = found + more, following
    return found


def everything(lane):
    """What a plain filter sees: id, definition, queue, state, phase."""
    return {
        job: (definition, queue, state, phase)
        for job, definition, queue, state, phase in lane.heart.rows(
            """
            select j.id, d.key, q.name, state_of(j.tenant_id, j.id),
                case when exists (select from waiting w where w.job_id = j.id) then 'waiting'
                    when exists (select from later l where l.job_id = j.id and l.attempt > 0) then 'retrying'
                    when exists (select from later l where l.job_id = j.id) then 'scheduled' end
            from job j join definition d on d.def_id = j.def_id join queue q on q.queue_id = j.queue_id
            where j.tenant_id = %s
            """,
            [lane.tenant],
        )
    }


ENDS = {
    "succeeded": lambda heart, claim: heart.complete_one(claim),
    "dead_letter": lambda heart, claim: heart.fail_one(claim),
    "failed": lambda heart, claim: heart.fail_one(claim, permanent=True),
    "canceled": lambda heart, claim: heart.cancel_attempt_one(claim),
    "retrying": lambda heart, claim: heart.snooze_one(claim, 500),
    "running": lambda _heart, _claim: None,
}


@pytest.fixture
def busy(lane, clock):
    """Some of everything, of two definitions in two queues, and as much of another tenant."""
    lane.heart.define("mail", queue="mails")
    zeta, worker = lane.other("zeta"), lane.heart.worker()
    kinds = (("echo", "default"), ("mail", "mails"))
    for tenant, (definition, queue), end in itertools.product((lane.tenant, zeta) * 2, kinds, ENDS.values()):
        lane.heart.enqueue(tenant, definition, max_attempts=1)
        (claim,) = worker.claim(1, queue)
        end(lane.heart, claim)
        clock.move(0.001)
    for definition, queue in kinds:
        lane.job(definition, delay_seconds=60)
        lane.heart.cancel_one(lane.tenant, lane.job(definition))
        lane.job(definition, dedupe_key="k")
        worker.claim(1, queue)
        lane.job(definition, dedupe_key="k", dedupe="requeue")
        lane.job(definition)
    return lane


def test_every_job_of_the_tenant_is_on_one_page_newest_first(busy):
    for limit in (1, 7, 50, 200):
        assert pages(busy, limit=limit) == sorted(everything(busy), reverse=True)


def test_a_filter_is_that_of_plain_python_over_all_rows(busy):
    rows = everything(busy)
    for state, definition, queue in itertools.product((None, *STATES), (None, "echo", "mail"), (None, "mails")):
        expected = [
            job
            for job, (job_definition, job_queue, *words) in rows.items()
            if state in (None, *words) and definition in (None, job_definition) and queue in (None, job_queue)
        ]
        found = pages(busy, limit=5, state=state, definition=definition, queue=queue)
        assert found == sorted(expected, reverse=True), (state, definition, queue)


def test_the_filters_met_some_of_every_state(busy):
    """Or the comparison above would prove nothing."""
    seen = {word for _, _, *words in everything(busy).values() for word in words}
    assert set(STATES) <= seen


@pytest.mark.parametrize(
    ("word", "state"), [("completed", "succeeded"), ("success", "succeeded"), ("dead", "dead_letter")]
)
def test_old_words_for_a_state_are_understood(busy, word, state):
    assert pages(busy, state=word) == pages(busy, state=state)


def test_jobs_with_many_attempts_hide_none_of_the_others(lane, clock):
    """1,000 rows of history may be those of ten jobs."""
    old = [lane.job(delay_seconds=3600) for _ in range(20)]
    done = [lane.take() for _ in range(20)]
    for claim in done:
        lane.heart.complete_one(claim)
    clock.move(1)
    often = [lane.job(max_attempts=100) for _ in range(12)]
    lane.heart.rows(
        """
        insert into attempt (tenant_id, job_id, ready_at, started_at, ended_at, worker_id, attempt, def_id, queue_id,
            outcome)
        select l.tenant_id, l.job_id, clock(), clock(), clock(), %s, n, l.def_id, l.queue_id, 2
        from live l, generate_series(1, 99) n where l.job_id = any (%s)
        """,
        [lane.worker.id, often],
    )
    expected = sorted([*old, *(claim.job_id for claim in done), *often], reverse=True)
    for limit in (5, 50, 200):
        assert pages(lane, limit=limit) == expected
    assert pages(lane, state="succeeded") == sorted((claim.job_id for claim in done), reverse=True)
    assert pages(lane, queue="default", limit=200) == expected


def test_a_thousand_of_each_phase_are_paged_together(lane, clock):
    """More than one source is cut: nothing below the nearest cut is shown before its page."""
    expected = []
    for _ in range(2):
        for options in ({}, {"delay_seconds": 3600}):
            answers = lane.heart.enqueue_many(lane.tenant, [options] * 700)
            expected += [answer.job_id for answer in answers]
            clock.move(0.001)
    assert pages(lane, limit=200) == sorted(expected, reverse=True)
    assert pages(lane, state="queued", limit=200) == sorted(expected, reverse=True)


def test_a_filter_that_finds_nothing_in_a_thousand_says_how_far_it_looked(lane):
    old = lane.job()
    lane.heart.cancel_one(lane.tenant, old)
    lane.heart.enqueue_many(lane.tenant, [{}] * 1500)
    lane.heart.define("rare")
    rare = lane.job("rare")
    assert pages(lane, state="canceled") == [old]
    first, cursor = page(lane, queue="default", state="succeeded")
    assert first == []
    assert cursor is not None
    assert pages(lane, definition="rare") == [rare]
    assert len(pages(lane, state="queued", limit=200)) == 1501


@pytest.mark.parametrize("limit", [0, -1, 201])
@pytest.mark.parametrize("function", ["list_jobs", "list_audit", "list_definitions", "list_workers", "list_tenants"])
def test_a_page_has_1_to_200_rows(lane, refuses, function, limit):
    lane.heart.rows("select enter_tenant(%s, 'a', 'me')", [lane.tenant])
    tenant = "p_tenant => %s, " if function in ("list_jobs", "list_audit") else ""
    with refuses("out_of_range", "p_limit"):
        lane.heart.rows(f"select from {function}({tenant}p_limit => {limit})", [lane.tenant] if tenant else None)


@pytest.mark.parametrize(
    ("name", "field"), [("state", "p_state"), ("definition", "p_definition"), ("queue", "p_queue")]
)
def test_a_filter_that_is_none_is_refused(lane, refuses, name, field):
    with refuses("malformed" if name == "state" else "unknown", field):
        page(lane, **{name: "nothing"})


class TestOneJob:
    def get(self, lane, job):
        columns = (
            "definition", "queue", "state", "attempt", "max_attempts", "priority", "source", "created_by",
            "scheduled_for", "created_at", "started_at", "ended_at", "reason", "correlation_id", "dedupe_key",
            "idempotency_key", "labels", "payload", "result", "error", "is_cancel_requested", "worker_id",
        )  # fmt: skip
        rows = lane.heart.call_as(lane.tenant, "get_job", *columns, scope="r", tenant=lane.tenant, job=job)
        return dict(zip(columns, rows[0], strict=True)) if rows else None

    def test_says_everything_about_it(self, lane, clock):
        begun = clock.now()
        job = lane.job(
            payload={"a": 1}, labels={"b": "c"}, correlation_id="d", dedupe_key="e", idempotency_key="f", priority=7
        )
        found = self.get(lane, job)
        assert found is not None
        assert (found["definition"], found["queue"], found["state"], found["source"]) == (
            "echo",
            "default",
            "queued",
            "manual",
        )
        assert (found["payload"], found["labels"], found["priority"]) == ({"a": 1}, {"b": "c"}, 7)
        assert (found["correlation_id"], found["dedupe_key"], found["idempotency_key"]) == ("d", "e", "f")
        assert (found["created_by"], found["scheduled_for"], found["attempt"]) == ("tester", begun, 0)
        assert abs((found["created_at"] - begun).total_seconds()) < 0.001

    def test_follows_it_through_its_life(self, lane, clock):
        job = lane.job(max_attempts=2)
        clock.move(1)
        claim = lane.claim_one()
        running = self.get(lane, job)
        assert (running["state"], running["attempt"], running["started_at"]) == ("running", 1, clock.now())
        assert running["worker_id"] == lane.worker.id
        lane.heart.cancel_one(lane.tenant, job)
        assert self.get(lane, job)["is_cancel_requested"] is True
        lane.heart.complete_one(claim, result={"r": 1})
        ended = self.get(lane, job)
        assert (ended["state"], ended["result"], ended["ended_at"]) == ("succeeded", {"r": 1}, clock.now())

    def test_says_when_it_is_tried_again(self, lane, clock):
        claim = lane.take()
        lane.heart.fail_one(claim, error={"e": 1}, retry_in_seconds=77)
        found = self.get(lane, claim.job_id)
        assert (found["state"], found["scheduled_for"]) == ("queued", clock.now() + timedelta(seconds=77))

    def test_says_why_it_ended_without_an_attempt(self, lane):
        job = lane.job()
        lane.heart.cancel_one(lane.tenant, job, reason="not needed")
        found = self.get(lane, job)
        assert (found["state"], found["reason"]) == ("canceled", "not needed")

    def test_there_is_no_row_for_one_that_is_not_there_or_of_another(self, lane):
        assert self.get(lane, uuid4()) is None
        assert self.get(lane, lane.heart.job(lane.other("zeta"))) is None

    def test_its_attempts_are_listed_newest_first_with_the_running_one(self, lane):
        job = lane.job(max_attempts=5)
        for _ in range(3):
            lane.heart.fail_one(lane.claim_one(), retry_in_seconds=0)
        lane.claim_one()

        def attempts(**options):
            return lane.heart.call_as(
                lane.tenant, "list_attempts", "attempt", "outcome", scope="r", tenant=lane.tenant, job=job, **options
            )

        assert attempts() == [(4, "running"), (3, "failed"), (2, "failed"), (1, "failed")]
        assert attempts(limit=2) == [(4, "running"), (3, "failed")]
        assert attempts(before=3, limit=1) == [(2, "failed")]


class TestCounts:
    def counts(self, lane):
        rows = lane.heart.call_as(lane.tenant, "count_jobs", "state", "jobs", "is_exact", scope="r", tenant=lane.tenant)
        return {state: (jobs, is_exact) for state, jobs, is_exact in rows}

    def test_what_is_not_done_is_counted_by_phase(self, lane):
        lane.heart.job(lane.other("zeta"))
        assert self.counts(lane) == {}
        twin = lane.take(dedupe_key="k")
        lane.job(dedupe_key="k", dedupe="requeue")
        retrying = lane.take()
        lane.heart.fail_one(retrying)
        for _ in range(3):
            lane.job()
        lane.job(delay_seconds=5)
        assert self.counts(lane) == {
            "ready": (3, True),
            "running": (1, True),
            "scheduled": (1, True),
            "retrying": (1, True),
            "waiting": (1, True),
        }
        assert lane.state(twin) == "running"

    def test_beyond_ten_thousand_it_says_at_least(self, lane):
        for _ in range(2):
            lane.heart.enqueue_many(lane.tenant, [{}] * 6000)
        jobs, is_exact = self.counts(lane)["ready"]
        assert (jobs > 10000, is_exact) == (True, False)


class TestAudit:
    def rows(self, lane, **options):
        return lane.heart.call_as(
            lane.tenant, "list_audit", "id", "verb", "target", "actor", scope="a", tenant=lane.tenant, **options
        )

    def test_it_lists_the_newest_first_and_pages_by_id(self, lane):
        jobs = [lane.job() for _ in range(5)]
        for job in jobs:
            lane.heart.cancel_one(lane.tenant, job, actor="user:7")
        found = self.rows(lane)
        assert [row[2] for row in found[:5]] == [str(job) for job in reversed(jobs)]
        assert found[5][1] == "create"
        seen, cursor = [], None
        while rows := self.rows(lane, before=cursor, limit=2):
            assert len(rows) <= 2
            seen += rows
            cursor = rows[-1][0]
        assert seen == found

    def test_it_says_nothing_of_other_tenants(self, lane):
        zeta = lane.other("zeta")
        lane.heart.cancel_one(zeta, lane.heart.job(zeta))
        assert [row[1] for row in self.rows(lane)] == ["create"]


def test_queues_definitions_and_tenants_are_listed_by_name(lane):
    lane.heart.define("zz", queue="aa")
    lane.heart.define("aa")
    lane.other("aa")
    assert [row[0] for row in lane.heart.call("list_queues", "queue")] == ["aa", "default"]
    assert [row[0] for row in lane.heart.call("list_definitions", "definition")] == ["aa", "echo", "zz"]
    assert [row[0] for row in lane.heart.call("list_definitions", "definition", after="aa", limit=1)] == ["echo"]
    assert [row[0] for row in lane.heart.call("list_tenants", "slug")] == ["aa", "acme", "system"]
    assert [row[0] for row in lane.heart.call("list_tenants", "slug", after="acme")] == ["system"]
