"""The verbs that tests speak say what they were told, each on one connection or on several."""

from uuid import uuid4

import psycopg
import pytest

from language import LEASE, Answer, EnqueueAnswer, ExtendAnswer, Heart, Promoted, Swept


@pytest.fixture
def heart(sql) -> Heart:
    heart = Heart(sql)
    heart.define("echo", max_attempts=2)
    return heart


@pytest.fixture
def acme(heart: Heart):
    return heart.tenant()


def test_a_job_goes_in_and_comes_out(heart: Heart, acme):
    job = heart.job(acme, payload={"n": 1})
    worker = heart.worker()
    claim = worker.claim_one()
    assert (claim.job_id, claim.payload, claim.attempt, claim.worker_id) == (job, {"n": 1}, 1, worker.id)
    assert heart.state(job) == "running"
    assert worker.complete_one(claim, result={"ok": True}) == Answer.ACCEPTED
    assert worker.complete_one(claim) == Answer.DUPLICATE
    assert heart.state(job) == "succeeded"
    assert [(a.outcome, a.result) for a in heart.attempts(job)] == [("succeeded", {"ok": True})]


def test_options_and_refusals_of_an_enqueue_are_told(heart: Heart, acme):
    first = heart.enqueue(acme, idempotency_key="i", labels={"a": "b"}, priority=5)
    assert heart.enqueue(acme, idempotency_key="i") == EnqueueAnswer(first.job_id, False, *[None] * 4)  # noqa: FBT003
    refused = heart.enqueue(acme, "ech")
    assert (refused.job_id, refused.refusal, refused.field) == (None, "unknown", "definition")
    assert heart.row("job", first.job_id)["labels"] == {"a": "b"}
    with pytest.raises(AssertionError, match="created=False"):
        heart.job(acme, idempotency_key="i")


def test_many_items_are_answered_in_their_order(heart: Heart, acme):
    heart.define("other")
    answers = heart.enqueue_many(acme, [{}, {"payload": 1, "priority": 9999}, {"definition": "other"}])
    assert [answer.refusal for answer in answers] == [None, "out_of_range", None]
    assert [heart.row("job", a.job_id)["def_id"] for a in (answers[0], answers[2])] == [
        heart.def_id("echo"),
        heart.def_id("other"),
    ]


def test_a_definition_is_added_to_those_that_were_declared(heart: Heart):
    heart.define("second", queue="slow")
    assert heart.rows("select key, is_deleted_from_code from definition order by 1") == [
        ("echo", False),
        ("second", False),
    ]
    assert {queue for _, _, queue in heart.register(uuid4())} == {"default", "slow"}


def test_the_words_of_an_owner_are_answered_per_item(heart: Heart, acme):
    heart.enqueue_many(acme, [{}] * 5)
    worker = heart.worker()
    one, two, three, four, five = worker.claim(5)
    assert worker.trailer.has_more
    assert worker.extend([one, two]) == [ExtendAnswer.OK] * 2
    assert worker.complete([one, one]) == [Answer.ACCEPTED, Answer.DUPLICATE]
    assert worker.fail([two], errors=[{"why": 1}], permanent=[True]) == [Answer.ACCEPTED]
    assert worker.snooze_one(three, 5) == worker.release_one(four) == worker.cancel_attempt_one(five) == Answer.ACCEPTED
    phases = [heart.phase(claim.job_id) for claim in (one, two, three, four, five)]
    assert phases == ["succeeded", "failed", "retrying", "ready", "canceled"]
    assert worker.finish_and_claim([one], lanes=[(acme, heart.def_id())], quotas=[1])[0] == [Answer.DUPLICATE]


def test_another_instance_can_speak_about_a_claim(heart: Heart, acme):
    heart.job(acme)
    owner, stranger = heart.worker(), heart.worker()
    claim = owner.claim_one()
    assert stranger.complete_one(claim) == Answer.STALE
    assert heart.complete_one(claim, worker=uuid4()) == Answer.STALE
    assert stranger.extend_one(claim) == ExtendAnswer.STALE
    assert heart.complete_one(claim) == Answer.ACCEPTED
    with pytest.raises(ValueError, match="claims are of several instances"):
        heart.complete([claim, *heart_claims(heart, acme, stranger)])


def heart_claims(heart: Heart, tenant, worker):
    heart.job(tenant)
    return worker.claim(1)


def test_passes_answer_with_what_they_did(heart: Heart, acme, clock):
    heart.job(acme)
    worker = heart.worker()
    worker.claim_one()
    clock.move(LEASE + 1)
    assert heart.sweep() == Swept(swept=1, lost=1, timed_out=0, failed=0)
    heart.job(acme, expires_seconds=1)
    late = heart.job(acme, delay_seconds=30)
    clock.move(10)
    assert heart.expire() == 1
    assert heart.promote() == Promoted(promoted=1, handed_over=0, next_due_at=clock.move(20))
    assert heart.promote().promoted == 1
    assert heart.phase(late) == "ready"


def test_the_verbs_of_operators_answer_per_job(heart: Heart, acme):
    job = heart.job(acme, payload=[1])
    assert heart.reschedule_one(acme, job, delay_seconds=60).answer == "queued"
    assert heart.run_now_one(acme, job).state == "queued"
    assert heart.cancel_one(acme, job, reason="test").answer == "canceled"
    assert heart.retry_one(acme, job).answer == "queued"
    assert heart.force_cancel_one(acme, job).answer == "canceled"
    again = heart.run_again(acme, job)
    assert again.created
    assert heart.row("job", again.job_id)["payload"] == [1]
    assert heart.cancel_one(acme, uuid4()).answer == "not_found"


def test_what_is_paused_or_suspended_is_not_claimed(heart: Heart, acme):
    heart.job(acme)
    worker = heart.worker()
    for pause, resume in (
        (heart.pause_queue, heart.resume_queue),
        (heart.pause_definition, heart.resume_definition),
        (lambda: heart.pause_tenant(acme), lambda: heart.resume_tenant(acme)),
        (lambda: heart.suspend_tenant(acme), lambda: heart.unsuspend_tenant(acme)),
        (lambda: heart.pause_lane(acme), lambda: heart.resume_lane(acme)),
        (lambda: heart.pause_lane(acme, None), lambda: heart.resume_lane(acme, None)),
        (lambda: heart.override(is_enabled=False), lambda: heart.override(is_enabled=None)),
    ):
        pause()
        assert worker.claim(1) == []
        resume()
    assert len(worker.claim(1)) == 1


def test_a_verb_without_the_scope_it_needs_is_refused(heart: Heart, acme):
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        heart.enqueue(acme, scope="r")


def test_in_a_transaction_of_the_caller_the_verbs_commit_nothing(database):
    heart = Heart(database)
    heart.define()
    tenant = heart.tenant()
    with heart.conn.transaction(force_rollback=True):
        job = heart.job(tenant)
        assert Heart(database).state(job) is None
    assert heart.state(job) is None
    kept = heart.job(tenant)
    assert heart.on(database).state(kept) == "queued"
