"""finish.sql, close.sql: only the owner decides the end of an attempt, once, and for its own job alone."""

import itertools
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import psycopg
import pytest

from language import LEASE, Answer

VERBS = ("complete_one", "fail_one", "release_one", "cancel_attempt_one", "snooze_one")
ENDS = {
    "complete_one": "succeeded",
    "fail_one": "queued",
    "release_one": "queued",
    "cancel_attempt_one": "canceled",
    "snooze_one": "queued",
}


def say(lane, verb, claim, **options):
    word = getattr(lane.heart, verb)
    return word(claim, 60, **options) if verb == "snooze_one" else word(claim, **options)


@pytest.mark.parametrize("verb", VERBS)
def test_the_owner_s_word_is_accepted_and_said_again_it_is_a_duplicate(lane, verb):
    claim = lane.take()
    assert say(lane, verb, claim) == Answer.ACCEPTED
    assert lane.state(claim) == ENDS[verb]
    before = lane.heart.surface()
    assert say(lane, verb, claim) == Answer.DUPLICATE
    assert lane.heart.surface() == before


@pytest.mark.parametrize(("first", "other"), list(itertools.permutations(VERBS, 2)))
def test_another_word_after_the_first_is_stale_and_changes_nothing(lane, first, other):
    claim = lane.take()
    say(lane, first, claim)
    before = lane.heart.surface()
    assert say(lane, other, claim) == Answer.STALE
    assert lane.heart.surface() == before


@pytest.mark.parametrize("verb", VERBS)
def test_a_late_word_of_a_swept_attempt_is_stale_although_the_same_worker_owns_the_next(lane, clock, verb):
    """The attempt number is half of the fence."""
    first = lane.take()
    clock.move(LEASE)
    lane.heart.sweep()
    clock.move(2)
    lane.heart.promote()
    second = lane.claim_one()
    assert (second.job_id, second.attempt, second.worker_id) == (first.job_id, 2, first.worker_id)
    before = lane.heart.surface()
    assert say(lane, verb, first) == Answer.STALE
    assert lane.heart.surface() == before
    assert say(lane, verb, second) == Answer.ACCEPTED


@pytest.mark.parametrize("verb", VERBS)
def test_the_right_number_from_another_instance_is_stale(lane, verb):
    """The worker instance is the other half."""
    claim = lane.take()
    before = lane.heart.surface()
    assert say(lane, verb, claim, worker=lane.heart.worker().id) == Answer.STALE
    assert say(lane, verb, claim, worker=uuid4()) == Answer.STALE
    say(lane, verb, replace(claim, attempt=2))
    assert {table: rows for table, rows in lane.heart.surface().items() if table != "worker"} == {
        table: rows for table, rows in before.items() if table != "worker"
    }


@pytest.mark.parametrize("verb", VERBS)
def test_a_duplicate_is_the_same_instance_s_word_only(lane, verb):
    claim = lane.take()
    say(lane, verb, claim)
    assert say(lane, verb, claim, worker=lane.heart.worker().id) == Answer.STALE
    assert say(lane, verb, replace(claim, attempt=2)) == Answer.STALE


@pytest.mark.parametrize("verb", VERBS)
def test_a_word_about_a_job_of_another_tenant_or_of_none_is_stale(lane, verb):
    claim = lane.take()
    assert say(lane, verb, replace(claim, tenant_id=lane.other("zeta"))) == Answer.STALE
    assert say(lane, verb, replace(claim, job_id=uuid4())) == Answer.STALE
    assert lane.state(claim) == "running"


@pytest.mark.parametrize("verb", VERBS)
def test_a_queued_job_has_no_owner(lane, verb):
    claim = lane.take()
    lane.heart.release_one(claim)
    assert lane.phase(claim) == "ready"
    assert say(lane, verb, replace(claim, attempt=1), worker=uuid4()) == Answer.STALE
    assert say(lane, verb, replace(claim, attempt=0)) == Answer.STALE


@pytest.mark.parametrize("verb", VERBS)
def test_an_attempt_whose_lease_is_over_is_the_owner_s_until_it_is_swept(lane, clock, verb):
    claim = lane.take()
    clock.move(LEASE * 5)
    assert say(lane, verb, claim) == Answer.ACCEPTED


def test_after_a_forced_cancel_no_word_of_the_owner_is_accepted(lane):
    claim = lane.take()
    lane.heart.force_cancel_one(lane.tenant, claim.job_id)
    before = lane.heart.surface()
    for verb in VERBS:
        assert say(lane, verb, claim) == Answer.STALE, verb
    assert lane.heart.surface() == before
    assert lane.state(claim) == "canceled"


def test_what_the_sweep_ended_is_no_duplicate_of_the_owner_s_own_word(lane, clock):
    """It never said so: its error would be lost in silence."""
    claim = lane.take(timeout_seconds=10)
    clock.move(30)
    assert lane.heart.sweep().timed_out == 1
    assert lane.heart.fail_one(claim, timed_out=True) == Answer.STALE


@pytest.mark.parametrize("verb", ["complete", "fail", "release", "cancel_attempt", "extend", "snooze"])
def test_no_word_is_heard_in_an_older_snapshot(database, heart, verb):
    """It would not see who owns the attempt by now."""
    heart.define()
    heart.job(heart.tenant())
    claim = heart.worker().claim_one()
    for level in ("repeatable read", "serializable"):
        with database.connect(autocommit=False) as conn:
            conn.execute(f"set transaction isolation level {level}")
            options = {"delays_seconds": [5]} if verb == "snooze" else {}
            with pytest.raises(psycopg.errors.ActiveSqlTransaction, match="transaction_isolation"):
                getattr(heart.on(conn), verb)([claim], **options)


def test_a_stale_result_is_kept_nowhere(lane):
    """What a superseded owner sends is not even written down beside what counts."""
    first = lane.take()
    lane.heart.release_one(first)
    second = lane.claim_one()
    lane.heart.complete_one(second, result={"n": 2})
    before = lane.heart.surface()
    assert lane.heart.complete_one(first, result={"n": 1}) == Answer.STALE
    assert lane.heart.complete_one(second, result={"n": 3}) == Answer.DUPLICATE
    assert lane.heart.surface() == before


class TestBatches:
    def test_each_item_of_a_batch_has_its_own_answer_in_its_place(self, lane):
        jobs = [lane.job() for _ in range(5)]
        claims = {claim.job_id: claim for claim in lane.worker.claim(5)}
        ordered = [claims[job] for job in jobs]
        lane.heart.complete_one(ordered[3])
        foreign = replace(ordered[1], job_id=uuid4())
        said = [ordered[4], foreign, ordered[0], ordered[3], ordered[2]]
        assert lane.worker.complete(said) == [
            Answer.ACCEPTED,
            Answer.STALE,
            Answer.ACCEPTED,
            Answer.DUPLICATE,
            Answer.ACCEPTED,
        ]
        assert [lane.state(job) for job in jobs] == ["succeeded", "running", "succeeded", "succeeded", "succeeded"]

    def test_results_and_errors_stay_with_their_items(self, lane):
        for _ in range(4):
            lane.job()
        one, two, three, four = lane.worker.claim(4)
        lane.worker.complete([two, one], results=[{"n": 2}, {"n": 1}])
        lane.worker.fail([four, three], errors=[{"n": 4}, {"n": 3}], permanent=[False, True], reasons=["four", "three"])
        (of_one,), (of_two,) = (lane.heart.attempts(claim.job_id) for claim in (one, two))
        assert (of_one.result, of_two.result) == ({"n": 1}, {"n": 2})
        (of_three,), (of_four,) = (lane.heart.attempts(claim.job_id) for claim in (three, four))
        assert (of_three.error, of_three.reason, lane.state(three)) == ({"n": 3}, "three", "failed")
        assert (of_four.error, of_four.reason, lane.state(four)) == ({"n": 4}, "four", "queued")

    @pytest.mark.parametrize("verb", ["complete", "fail", "release", "cancel_attempt", "snooze"])
    def test_the_same_attempt_twice_in_one_call_ends_once(self, lane, verb):
        claim = lane.take()
        options = {"delays_seconds": [60, 60]} if verb == "snooze" else {}
        answers = getattr(lane.heart, verb)([claim, claim], **options)
        assert sorted(answers) == [Answer.ACCEPTED, Answer.DUPLICATE]
        assert len(lane.heart.attempts(claim.job_id)) == 1

    def test_of_two_words_the_one_that_can_be_taken_is_taken(self, lane):
        claim = lane.take()
        answers = lane.heart.fail([claim, claim], errors=["x" * 70000, "short"])
        assert answers == [Answer.REFUSED, Answer.ACCEPTED]
        assert lane.heart.attempts(claim.job_id)[0].error == "short"

    def test_an_empty_batch_has_no_answers(self, lane):
        assert lane.heart.complete([]) == []
        assert lane.heart.fail([]) == []

    @pytest.mark.parametrize("verb", ["complete", "fail", "release", "cancel_attempt"])
    def test_arrays_of_different_lengths_are_refused(self, lane, refuses, verb):
        claim = lane.take()
        with refuses("malformed", "p_jobs"):
            lane.heart.rows(
                f"select {verb}(%s, array[%s]::uuid[], array[%s, %s]::uuid[], array[1])",
                [lane.worker.id, lane.tenant, claim.job_id, claim.job_id],
            )
        assert lane.state(claim) == "running"


class TestSizes:
    def test_a_result_of_64_kib_is_kept_and_a_byte_more_is_refused(self, lane):
        fits, over = "x" * (65536 - 2), "x" * (65536 - 1)
        claim = lane.take()
        assert lane.heart.complete_one(claim, result=over) == Answer.REFUSED
        assert lane.state(claim) == "running"
        assert lane.heart.complete_one(claim, result=fits) == Answer.ACCEPTED
        (attempt,) = lane.heart.attempts(claim.job_id)
        assert attempt.result == fits

    def test_a_refused_result_stops_no_other_item(self, lane):
        lane.job()
        lane.job()
        one, two = lane.worker.claim(2)
        deep: object = "x"
        for _ in range(40):
            deep = [deep]
        assert lane.worker.complete([one, two], results=[deep, {"ok": True}]) == [Answer.REFUSED, Answer.ACCEPTED]
        assert (lane.state(one), lane.state(two)) == ("running", "succeeded")

    def test_an_abyss_for_a_result_stops_no_other_item(self, lane):
        lane.job()
        lane.job()
        one, two = lane.worker.claim(2)
        depth = lane.abyss()
        (answers,) = lane.heart.one(
            "select complete(%s, %s, %s, '{1,1}', array[(repeat('[', %s) || repeat(']', %s))::jsonb, '1'])",
            [lane.worker.id, [one.tenant_id, two.tenant_id], [one.job_id, two.job_id], depth, depth],
        )
        assert answers == [Answer.REFUSED, Answer.ACCEPTED]

    def test_the_repeat_of_a_refused_word_is_judged_again(self, lane):
        claim = lane.take()
        for _ in range(2):
            assert lane.heart.fail_one(claim, error="x" * 70000) == Answer.REFUSED
        assert lane.heart.fail_one(claim, error="short") == Answer.ACCEPTED

    @pytest.mark.parametrize(("delay", "answer"), [(-1, 4), (315360001, 4), (float("nan"), 4), (0, 1), (315360000, 1)])
    def test_a_snooze_is_between_now_and_ten_years(self, lane, delay, answer):
        claim = lane.take()
        assert lane.heart.snooze_one(claim, delay) == answer
        assert lane.state(claim) == ("running" if answer == Answer.REFUSED else "queued")

    def test_a_reason_is_at_most_2000_characters(self, lane):
        claim = lane.take()
        assert lane.heart.release([claim], reasons=["x" * 2001]) == [Answer.REFUSED]
        assert lane.heart.release([claim], reasons=["x" * 2000]) == [Answer.ACCEPTED]


class TestEnds:
    def test_a_success_is_written_down_with_times_result_and_owner(self, lane, clock):
        job = lane.job()
        clock.move(5)
        claim = lane.claim_one()
        clock.move(7)
        lane.heart.complete_one(claim, result={"sum": 3})
        (attempt,) = lane.heart.attempts(job)
        assert (attempt.attempt, attempt.outcome, attempt.final_state) == (1, "succeeded", "succeeded")
        assert attempt.result == {"sum": 3}
        assert attempt.worker_id == lane.worker.id
        assert attempt.ready_at is not None
        assert attempt.started_at is not None
        assert (attempt.started_at - attempt.ready_at).total_seconds() == 5
        assert (attempt.ended_at - attempt.started_at).total_seconds() == 7
        assert lane.heart.row("live", job) is None

    def test_a_failure_waits_and_the_last_one_is_the_dead_letter(self, lane, clock):
        job = lane.job()
        for number in (1, 2):
            claim = lane.claim_one()
            assert claim.attempt == number
            lane.heart.fail_one(claim, error={"n": number})
            assert lane.phase(job) == "retrying"
            clock.move(3600)
            lane.heart.promote()
        lane.heart.fail_one(lane.claim_one())
        assert lane.state(job) == "dead_letter"
        assert [(a.attempt, a.outcome, a.final_state) for a in lane.heart.attempts(job)] == [
            (1, "failed", None),
            (2, "failed", None),
            (3, "failed", "dead_letter"),
        ]

    def test_a_permanent_failure_is_the_end_although_attempts_are_left(self, lane):
        claim = lane.take()
        lane.heart.fail_one(claim, permanent=True)
        assert lane.state(claim) == "failed"

    def test_a_handler_may_say_when_to_try_again(self, lane, clock):
        claim = lane.take()
        lane.heart.fail_one(claim, retry_in_seconds=77)
        assert lane.heart.promote().next_due_at == clock.now() + timedelta(seconds=77)

    def test_a_failure_that_may_go_on_at_once_keeps_its_place(self, lane):
        claim = lane.take()
        later = lane.job()
        lane.heart.fail_one(claim, retry_in_seconds=0)
        assert lane.phase(claim) == "ready"
        assert lane.claimed(2) == [claim.job_id, later]

    def test_a_timeout_is_a_failure_by_its_own_name(self, lane):
        claim = lane.take()
        lane.heart.fail_one(claim, timed_out=True)
        assert lane.outcomes(claim) == ["timeout"]
        assert lane.phase(claim) == "retrying"

    def test_a_success_after_a_cancel_request_is_a_success(self, lane):
        claim = lane.take()
        lane.heart.cancel_one(lane.tenant, claim.job_id)
        assert lane.heart.complete_one(claim) == Answer.ACCEPTED
        assert lane.state(claim) == "succeeded"

    def test_a_snooze_without_a_delay_is_refused(self, lane, refuses):
        """It would run again at once, for ever."""
        claim = lane.take()
        with refuses("required", "p_delays_seconds"):
            lane.heart.rows(
                "select snooze(%s, array[%s], array[%s], array[%s], null)",
                [claim.worker_id, claim.tenant_id, claim.job_id, claim.attempt],
            )
        assert lane.state(claim) == "running"

    @pytest.mark.parametrize("verb", ["fail_one", "release_one", "cancel_attempt_one", "snooze_one"])
    def test_any_other_end_after_a_cancel_request_is_canceled(self, lane, verb):
        claim = lane.take()
        lane.heart.cancel_one(lane.tenant, claim.job_id)
        assert say(lane, verb, claim) == Answer.ACCEPTED
        assert lane.state(claim) == "canceled"

    def test_a_permanent_failure_after_a_cancel_request_is_canceled(self, lane):
        claim = lane.take()
        lane.heart.cancel_one(lane.tenant, claim.job_id)
        lane.heart.fail_one(claim, permanent=True)
        assert lane.state(claim) == "canceled"


class TestRefunds:
    def test_ten_releases_are_refunded_and_then_they_count(self, lane):
        job = lane.job(max_attempts=2)
        for number in range(1, 11):
            lane.heart.release_one(lane.claim_one())
            assert lane.row("live", job)["attempt"] == number
            assert lane.row("live", job)["max_attempts"] == 2 + number
        lane.heart.release_one(lane.claim_one())
        assert lane.row("live", job)["max_attempts"] == 12
        assert lane.phase(job) == "ready"
        lane.heart.release_one(lane.claim_one())
        assert lane.state(job) == "dead_letter"
        assert lane.outcomes(job) == ["released"] * 12

    def test_how_many_are_free_is_a_setting(self, lane):
        lane.heart.set_setting(free_releases=1)
        job = lane.job(max_attempts=1)
        lane.heart.release_one(lane.claim_one())
        assert lane.phase(job) == "ready"
        lane.heart.release_one(lane.claim_one())
        assert lane.state(job) == "dead_letter"

    def test_a_release_goes_on_at_once_in_its_place(self, lane):
        first, second = lane.job(), lane.job()
        lane.heart.release_one(lane.claim_one())
        assert lane.claimed(2) == [first, second]

    def test_a_snooze_is_always_refunded(self, lane, clock):
        job = lane.job(max_attempts=1)
        for number in range(1, 21):
            lane.heart.snooze_one(lane.claim_one(), 10)
            assert lane.row("later", job)["max_attempts"] == 1 + number
            clock.move(10)
            lane.heart.promote()
        lane.heart.fail_one(lane.claim_one())
        assert lane.state(job) == "dead_letter"

    def test_a_snooze_comes_back_when_it_said(self, lane, clock):
        claim = lane.take()
        lane.heart.snooze_one(claim, 30)
        clock.move(29.999)
        assert lane.heart.promote().promoted == 0
        clock.move(0.001)
        assert lane.heart.promote().promoted == 1
        assert lane.claimed() == [claim.job_id]

    def test_refunds_do_not_make_the_wait_longer(self, lane, clock):
        """The wait counts failures: five snoozes are none."""
        lane.heart.define("slow", backoff_base_seconds=10, backoff_factor=10, backoff_jitter=0, max_attempts=5)
        worker = lane.heart.worker()
        lane.job("slow")
        for _ in range(5):
            lane.heart.snooze_one(worker.claim_one(), 1)
            clock.move(1)
            lane.heart.promote()
        lane.heart.fail_one(worker.claim_one())
        due = lane.heart.promote().next_due_at
        assert due is not None
        assert (due - clock.now()).total_seconds() == 10


@pytest.mark.parametrize(
    "call", ["complete(%s, %s, '{}', '{1}')", "extend(%s, %s, '{}', '{1}')", "fail(%s, %s, '{}', '{1}')"]
)
def test_words_about_no_job_name_no_tenant_and_no_attempt_either(lane, refuses, call):
    with refuses("malformed", "p_jobs"):
        lane.heart.rows(f"select {call}", [lane.worker.id, [lane.tenant]])
