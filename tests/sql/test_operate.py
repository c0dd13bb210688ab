"""operate.sql, retry.sql, reschedule.sql: what people do to jobs is answered for each of them and written down."""

from datetime import datetime, timedelta
from uuid import uuid4

import pytest

from language import Answer


def audit(lane, verb):
    return lane.heart.rows(
        "select actor, target, reason, before, after from audit where tenant_id = %s and verb = %s order by id",
        [lane.tenant, verb],
    )


def dead(lane, **options):
    claim = lane.take(max_attempts=1, **options)
    lane.heart.fail_one(claim)
    return claim.job_id


class TestCancel:
    def test_a_queued_job_is_canceled_wherever_it_stands(self, lane):
        twin = lane.take(dedupe_key="k")
        jobs = [lane.job(), lane.job(delay_seconds=60), lane.job(dedupe_key="k", dedupe="requeue")]
        answers = lane.heart.cancel(lane.tenant, jobs, reason="not needed")
        assert [(found.job_id, found.answer, found.state) for found in answers] == [
            (job, "canceled", "canceled") for job in jobs
        ]
        for job in jobs:
            (attempt,) = lane.heart.attempts(job)
            assert (attempt.attempt, attempt.outcome, attempt.final_state) == (0, "canceled", "canceled")
            assert attempt.reason == "not needed"
        assert lane.state(twin) == "running"
        assert lane.claimed(5) == []

    def test_a_running_job_is_asked_to_stop_and_goes_on_until_its_owner_says_so(self, lane):
        claim = lane.take()
        for _ in range(2):
            assert lane.heart.cancel_one(lane.tenant, claim.job_id).answer == "requested"
        assert lane.state(claim) == "running"
        assert len(audit(lane, "cancel")) == 1, "asked twice, changed once"
        assert lane.heart.cancel_attempt_one(claim) == Answer.ACCEPTED

    def test_what_has_ended_or_is_not_there_is_told_apart(self, lane):
        done = lane.take()
        lane.heart.complete_one(done)
        job, unknown = lane.job(), uuid4()
        answers = lane.heart.cancel(lane.tenant, [unknown, done.job_id, job])
        assert [found.answer for found in answers] == ["not_found", "ended", "canceled"]
        assert [found.state for found in answers] == [None, "succeeded", "canceled"]

    def test_a_job_named_twice_is_canceled_once(self, lane):
        job = lane.job()
        assert [found.answer for found in lane.heart.cancel(lane.tenant, [job, job])] == ["canceled"] * 2
        assert len(lane.heart.attempts(job)) == 1
        assert len(audit(lane, "cancel")) == 1

    def test_it_is_written_down_with_who_when_and_why(self, lane):
        job = lane.job()
        lane.heart.cancel_one(lane.tenant, job, reason="not needed", actor="user:7")
        assert audit(lane, "cancel") == [("user:7", str(job), "not needed", {"state": "queued"}, {"state": "canceled"})]

    def test_what_changed_nothing_is_not_written_down(self, lane):
        lane.heart.cancel_one(lane.tenant, uuid4())
        assert audit(lane, "cancel") == []

    def test_a_held_job_is_busy_and_is_not_waited_for(self, database, heart):
        heart.define()
        tenant = heart.tenant()
        held, free, running = heart.job(tenant), heart.job(tenant), heart.job(tenant)
        heart.worker().claim(1)
        heart.rows("set statement_timeout = '10s'")
        with database.connect(autocommit=False) as holder:
            holder.execute("select from live where job_id = any (%s) for update", [[held, running]])
            for verb in (heart.cancel, heart.run_now):
                answers = verb(tenant, [held, free])
                assert answers[0].answer in ("busy", "running")
            assert heart.force_cancel_one(tenant, held).answer == "busy"
        assert heart.cancel_one(tenant, running).answer in ("canceled", "requested")


@pytest.mark.parametrize("verb", ["cancel", "retry", "run_now", "reschedule", "force_cancel"])
class TestEveryVerbOfOperators:
    def call(self, lane, verb, jobs, **options):
        extra = {"delay_seconds": 5} if verb == "reschedule" else {}
        return getattr(lane.heart, verb)(lane.tenant, jobs, **extra, **options)

    @pytest.mark.parametrize("count", [0, 1001])
    def test_takes_1_to_1000_jobs(self, lane, refuses, verb, count):
        with refuses("out_of_range", "p_jobs"):
            self.call(lane, verb, [uuid4()] * count)

    def test_takes_a_reason_of_at_most_1000_characters(self, lane, refuses, verb):
        with refuses("too_large", "p_reason"):
            self.call(lane, verb, [lane.job()], reason="x" * 1001)
        assert self.call(lane, verb, [lane.job()], reason="x" * 1000)

    def test_answers_for_each_job_in_its_place(self, lane, verb):
        jobs = [uuid4() if n % 2 else lane.job() for n in range(7)]
        answers = self.call(lane, verb, jobs)
        assert [found.job_id for found in answers] == jobs
        assert [found.answer == "not_found" for found in answers] == [bool(n % 2) for n in range(7)]

    def test_touches_no_job_of_another_tenant(self, lane, verb):
        theirs = lane.heart.job(lane.other("zeta"))
        before = lane.heart.surface()
        (answer,) = self.call(lane, verb, [theirs])
        assert (answer.answer, answer.state) == ("not_found", None)
        assert lane.heart.surface() == before


class TestForceCancel:
    def test_a_running_job_ends_and_its_owner_is_told_so(self, lane):
        claim = lane.take(dedupe_key="k")
        answer = lane.heart.force_cancel_one(lane.tenant, claim.job_id, reason="it hangs")
        assert (answer.answer, answer.state) == ("canceled", "canceled")
        (attempt,) = lane.heart.attempts(claim.job_id)
        assert (attempt.attempt, attempt.outcome, attempt.reason) == (1, "canceled", "it hangs")
        assert lane.heart.extend_one(claim) == 0
        assert lane.heart.count("job_key") == 0

    def test_queued_jobs_end_too_and_ended_ones_stay(self, lane):
        done = dead(lane)
        queued, scheduled = lane.job(), lane.job(delay_seconds=5)
        answers = lane.heart.force_cancel(lane.tenant, [queued, scheduled, done])
        assert [found.answer for found in answers] == ["canceled", "canceled", "ended"]

    @pytest.mark.parametrize("reason", ["", None])
    def test_it_asks_for_a_reason(self, lane, refuses, reason):
        claim = lane.take()
        with refuses("required", "p_reason"):
            lane.heart.rows("select from force_cancel(%s, array[%s]::uuid[], %s)", [lane.tenant, claim.job_id, reason])
        assert lane.state(claim) == "running"


class TestRetry:
    def test_the_attempt_number_goes_on(self, lane):
        job = dead(lane)
        answer = lane.heart.retry_one(lane.tenant, job, reason="mended")
        assert (answer.answer, answer.state) == ("queued", "queued")
        claim = lane.claim_one()
        assert (claim.job_id, claim.attempt, claim.max_attempts) == (job, 2, 2)
        lane.heart.fail_one(claim)
        assert lane.state(job) == "dead_letter"
        lane.heart.retry_one(lane.tenant, job)
        assert lane.claim_one().attempt == 3
        assert [attempt.attempt for attempt in lane.heart.attempts(job)] == [1, 2]

    def test_attempts_that_are_left_stay_left(self, lane):
        claim = lane.take(max_attempts=5)
        lane.heart.fail_one(claim, permanent=True)
        lane.heart.retry_one(lane.tenant, claim.job_id)
        assert lane.claim_one().max_attempts == 5

    def test_a_late_word_of_an_attempt_before_the_retry_is_stale(self, lane):
        first = lane.take(max_attempts=1)
        lane.heart.fail_one(first)
        lane.heart.retry_one(lane.tenant, first.job_id)
        second = lane.claim_one()
        assert second.attempt == 2
        assert lane.heart.complete_one(first) == Answer.STALE
        assert lane.heart.complete_one(second) == Answer.ACCEPTED

    @pytest.mark.parametrize("end", ["failed", "dead_letter", "canceled", "canceled while queued"])
    def test_every_bad_end_can_be_retried(self, lane, end):
        job = lane.job(max_attempts=1)
        if end == "canceled while queued":
            lane.heart.cancel_one(lane.tenant, job)
        else:
            claim = lane.claim_one()
            if end == "canceled":
                lane.heart.cancel_attempt_one(claim)
            else:
                lane.heart.fail_one(claim, permanent=end == "failed")
        assert lane.heart.retry_one(lane.tenant, job).answer == "queued"
        assert lane.claimed(5) == [job]
        assert lane.row("live", job)["is_cancel_requested"] is False

    def test_a_success_is_never_revived(self, lane):
        claim = lane.take()
        lane.heart.complete_one(claim)
        answer = lane.heart.retry_one(lane.tenant, claim.job_id)
        assert (answer.answer, answer.state) == ("succeeded", "succeeded")
        assert lane.claimed(5) == []

    def test_an_active_job_is_left_alone(self, lane):
        queued, running = lane.job(), None
        assert lane.heart.retry_one(lane.tenant, queued).answer == "active"
        running = lane.claim_one()
        answer = lane.heart.retry_one(lane.tenant, running.job_id)
        assert (answer.answer, answer.state) == ("active", "running")

    def test_an_active_twin_is_in_the_way_and_is_named(self, lane):
        job = dead(lane, dedupe_key="k")
        twin = lane.job(dedupe_key="k")
        other = dead(lane) if lane.heart.cancel_one(lane.tenant, twin).answer != "canceled" else None
        assert other is None
        twin = lane.job(dedupe_key="k")
        answer = lane.heart.retry_one(lane.tenant, job)
        assert (answer.answer, answer.active_twin) == ("conflict", twin)
        assert lane.state(job) == "dead_letter"

    def test_a_conflict_stops_none_of_the_others(self, lane):
        blocked = dead(lane, dedupe_key="k")
        free = dead(lane)
        lane.job(dedupe_key="k")
        answers = lane.heart.retry(lane.tenant, [blocked, free, blocked])
        assert [found.answer for found in answers] == ["conflict", "queued", "conflict"]

    def test_a_retried_job_holds_its_key_again(self, lane):
        job = dead(lane, dedupe_key="k")
        lane.heart.retry_one(lane.tenant, job)
        again = lane.heart.enqueue(lane.tenant, dedupe_key="k")
        assert (again.job_id, again.created) == (job, False)
        lane.heart.complete_one(lane.claim_one())
        assert lane.heart.enqueue(lane.tenant, dedupe_key="k").created

    def test_it_is_written_down_with_what_it_was(self, lane):
        job = dead(lane)
        lane.heart.retry_one(lane.tenant, job, reason="mended", actor="user:7")
        ((actor, target, reason, before, after),) = audit(lane, "retry")
        assert (actor, target, reason) == ("user:7", str(job), "mended")
        assert before["state"] == "dead_letter"
        assert after["state"] == "queued"


class TestRunAgain:
    def test_a_new_job_from_an_old_one_in_any_state(self, lane):
        options = {
            "payload": {"n": 1},
            "labels": {"a": "b"},
            "correlation_id": "c",
            "priority": 3,
            "timeout_seconds": 9,
        }
        lane.job(payload={"n": 0})
        old = lane.job(**options, max_attempts=7, dedupe_key="k", idempotency_key="i")
        lane.job(payload={"n": 2})
        for _ in range(2):
            answer = lane.heart.run_again(lane.tenant, old)
            assert answer.created
            new, kept = lane.row("job", answer.job_id), lane.row("job", old)
            assert new["rerun_of"] == str(old)
            assert new["dedupe_key"] is None
            for name in (
                "payload",
                "labels",
                "correlation_id",
                "priority",
                "timeout_seconds",
                "max_attempts",
                "def_id",
            ):
                assert new[name] == kept[name], name

    def test_with_another_payload(self, lane):
        answer = lane.heart.run_again(lane.tenant, lane.job(payload={"n": 1}), payload={"n": 2})
        assert lane.row("job", answer.job_id)["payload"] == {"n": 2}

    def test_an_unknown_job_and_a_disabled_definition_are_refusals(self, lane):
        answer = lane.heart.run_again(lane.tenant, uuid4())
        assert (answer.created, answer.refusal, answer.field) == (False, "unknown", "job")
        job = lane.job()
        lane.heart.override("echo", is_enabled=False)
        assert lane.heart.run_again(lane.tenant, job).refusal == "disabled"

    def test_it_is_written_down(self, lane):
        old = lane.job()
        new = lane.heart.run_again(lane.tenant, old, reason="once more")
        ((_, target, reason, _, after),) = audit(lane, "run_again")
        assert (target, reason, after) == (str(old), "once more", {"job": str(new.job_id)})


class TestReschedule:
    def test_a_ready_job_is_put_off_and_a_scheduled_one_moved(self, lane, clock):
        ready, scheduled = lane.job(priority=3), lane.job(delay_seconds=60)
        answers = lane.heart.reschedule(lane.tenant, [ready, scheduled], delay_seconds=30)
        assert [(found.answer, found.state) for found in answers] == [("queued", "queued")] * 2
        assert lane.claimed(5) == []
        clock.move(30)
        assert lane.heart.promote().promoted == 2
        assert lane.claimed(5) == [ready, scheduled]

    def test_a_time_that_is_over_makes_it_ready(self, lane, clock):
        job = lane.job(delay_seconds=60)
        lane.heart.reschedule_one(lane.tenant, job, run_at=clock.now() - timedelta(hours=1))
        assert lane.claimed(5) == [job]

    def test_a_running_or_ended_job_cannot(self, lane):
        running = lane.take()
        done = dead(lane)
        answers = lane.heart.reschedule(lane.tenant, [running.job_id, done], delay_seconds=5)
        assert [found.answer for found in answers] == ["running", "ended"]
        assert audit(lane, "reschedule") == []

    def test_a_successor_takes_the_time_with_it(self, lane, clock):
        twin = lane.take(dedupe_key="k")
        successor = lane.job(dedupe_key="k", dedupe="requeue")
        assert lane.heart.reschedule_one(lane.tenant, successor, delay_seconds=60).answer == "queued"
        lane.heart.complete_one(twin)
        lane.heart.promote()
        lane.heart.promote()
        assert lane.phase(successor) == "scheduled"
        assert lane.heart.promote().next_due_at == clock.now() + timedelta(seconds=60)

    def test_what_it_carries_stays_with_it(self, lane):
        job = lane.job(priority=3, max_attempts=9, timeout_seconds=7, dedupe_key="k", expires_seconds=600)
        before = lane.row("live", job)
        lane.heart.reschedule_one(lane.tenant, job, delay_seconds=60)
        lane.heart.run_now_one(lane.tenant, job)
        after = lane.row("live", job)
        for name in ("attempt", "max_attempts", "priority", "releases", "is_keyed", "timeout_seconds", "expires_at"):
            assert after[name] == before[name], name

    @pytest.mark.parametrize(
        ("options", "code", "field"),
        [
            ({}, "required", "p_run_at"),
            ({"delay_seconds": -1}, "out_of_range", "p_delay_seconds"),
            ({"delay_seconds": 315360001}, "out_of_range", "p_delay_seconds"),
            ({"delay_seconds": float("nan")}, "out_of_range", "p_delay_seconds"),
        ],
    )
    def test_a_time_that_is_none_is_refused(self, lane, refuses, options, code, field):
        with refuses(code, field):
            lane.heart.reschedule_one(lane.tenant, lane.job(), **options)

    def test_two_times_or_one_out_of_reach_are_refused(self, lane, refuses, clock):
        with refuses("conflict", "p_delay_seconds"):
            lane.heart.reschedule_one(lane.tenant, lane.job(), run_at=clock.now(), delay_seconds=5)
        with refuses("out_of_range", "p_run_at"):
            lane.heart.reschedule_one(lane.tenant, lane.job(), run_at=clock.now() + timedelta(days=3700))

    def test_run_now_makes_a_scheduled_or_retrying_job_ready(self, lane):
        claim = lane.take()
        lane.heart.fail_one(claim)
        scheduled = lane.job(delay_seconds=60)
        answers = lane.heart.run_now(lane.tenant, [claim.job_id, scheduled])
        assert [found.answer for found in answers] == ["queued", "queued"]
        assert set(lane.claimed(5)) == {claim.job_id, scheduled}

    def test_a_ready_job_keeps_its_place_when_it_is_asked_to_run_now(self, lane, clock):
        first = lane.job()
        clock.move(1)
        second = lane.job()
        clock.move(1)
        lane.heart.run_now_one(lane.tenant, first)
        assert lane.claimed(2) == [first, second]


class TestWhatIsWrittenDown:
    def test_a_ready_job_that_is_put_off_is_written_down_once_with_its_time_before(self, lane, clock):
        job = lane.job()
        lane.heart.reschedule_one(lane.tenant, job, delay_seconds=60)
        ((_, target, _, before, after),) = audit(lane, "reschedule")
        due = clock.now() + timedelta(seconds=60)
        assert target == str(job)
        assert [datetime.fromisoformat(each["run_at"]) for each in (before, after)] == [clock.now(), due]

    def test_a_job_that_is_ready_already_is_not_changed_by_run_now(self, lane):
        assert lane.heart.run_now_one(lane.tenant, lane.job()).answer == "queued"
        assert audit(lane, "run_now") == []

    @pytest.mark.parametrize("verb", ["run_again", "resume_lane"])
    def test_a_reason_that_nobody_would_read_is_refused(self, lane, refuses, verb):
        job = lane.job()
        lane.heart.rows("select enter_tenant(%s, 'a', 'tester')", [lane.tenant])
        call = {
            "run_again": ("select run_again(%s, %s, p_reason => %s)", [lane.tenant, job]),
            "resume_lane": ("select resume_lane(%s, null, %s)", [lane.tenant]),
        }[verb]
        with refuses("too_large", "p_reason"):
            lane.heart.rows(call[0], [*call[1], "x" * 1001])


def test_refunds_of_a_job_are_kept_when_it_is_retried(lane):
    job = lane.job(max_attempts=3)
    for _ in range(4):
        lane.heart.snooze([lane.claim_one()], delays_seconds=[0])
    lane.heart.release_one(lane.claim_one())
    lane.heart.cancel_one(lane.tenant, job)
    lane.heart.retry_one(lane.tenant, job)
    row = lane.row("live", job)
    assert (row["attempt"], row["max_attempts"], row["releases"]) == (5, 8, 1)


def test_a_successor_cannot_be_dated_back(lane, clock):
    """In a strict queue it would pass everybody."""
    lane.heart.set_queue(is_strict=True)
    twin = lane.take(dedupe_key="k")
    successor = lane.job(dedupe_key="k", dedupe="requeue")
    lane.heart.reschedule_one(lane.tenant, successor, run_at=clock.now() - timedelta(days=3000))
    urgent = lane.job(priority=0)
    lane.heart.complete_one(twin)
    lane.heart.promote()
    lane.heart.promote()
    assert lane.claimed(2) == [urgent, successor]
    assert lane.row("live", successor)["ready_at"] >= lane.row("live", urgent)["ready_at"]


def test_a_verb_over_all_tenants_is_written_down_under_the_login_whatever_context_is_there(lane):
    zeta = lane.other("zeta")
    lane.heart.rows("select enter_tenant(%s, 'r', 'alice')", [lane.tenant])
    lane.heart.pause_tenant(zeta)
    assert lane.heart.rows("select actor from audit where tenant_id = %s and verb = 'pause'", [zeta]) == [
        ("login:postgres",)
    ]
    assert lane.heart.one("select paused_by from tenant_control where tenant_id = %s", [zeta]) == ("login:postgres",)
