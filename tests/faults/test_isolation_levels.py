"""F14: callers bring their own transactions. What they enqueue and cancel is right at every level, or a clean 40001."""

import psycopg
import pytest

from kit.lab import Lab
from language import Answer, Claim, Heart

LEVELS = ("read committed", "repeatable read", "serializable")
ABOVE = LEVELS[1:]


@pytest.fixture
def lab(database):
    with Lab(database, "caller", "other") as lab:
        lab.heart.define("echo")
        yield lab


@pytest.fixture
def tenant(lab):
    return lab.heart.tenant("acme")


@pytest.fixture
def worker(lab):
    return lab.heart.worker(slots=100)


@pytest.fixture
def claim(lab, tenant, worker) -> Claim:
    lab.heart.job(tenant)
    return worker.claim_one()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("options", [{}, {"delay_seconds": 10}, {"dedupe_key": "k"}, {"idempotency_key": "i"}], ids=str)
def test_what_is_enqueued_is_there_with_the_commit_and_not_before(lab, tenant, worker, options, level):
    lab.begin("caller", isolation=level)
    answer = lab("caller", "enqueue", tenant, **options)
    assert answer.created
    assert lab("other", "state", answer.job_id) is None
    assert worker.claim(5) == []
    lab.commit("caller")
    assert lab("other", "state", answer.job_id) == "queued"
    lab.verify()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("options", [{}, {"delay_seconds": 10}, {"dedupe_key": "k"}, {"idempotency_key": "i"}], ids=str)
def test_what_is_rolled_back_leaves_nothing_behind(lab, tenant, options, level):
    before = lab.heart.surface()
    lab.begin("caller", isolation=level)
    assert lab("caller", "enqueue", tenant, **options).created
    assert all(answer.created for answer in lab("caller", "enqueue_many", tenant, [{}, {}, {}]))
    lab.rollback("caller")
    assert lab.heart.surface() == before
    assert lab.heart.enqueue(tenant, **options).created


@pytest.mark.parametrize("level", LEVELS)
def test_a_savepoint_takes_back_what_was_said_after_it_and_no_more(lab, tenant, level):
    lab.begin("caller", isolation=level)
    kept = lab("caller", "enqueue", tenant, dedupe_key="kept").job_id
    lab("caller", "savepoint here")
    gone = lab("caller", "enqueue", tenant, dedupe_key="gone").job_id
    assert lab("caller", "cancel_one", tenant, kept).answer == "canceled"
    lab("caller", "rollback to savepoint here")
    again = lab("caller", "enqueue", tenant, dedupe_key="gone")
    assert again.created
    lab.commit("caller")
    states = [lab.heart.state(job) for job in (kept, gone, again.job_id)]
    assert states == ["queued", None, "queued"]
    lab.verify()


@pytest.mark.parametrize("level", LEVELS)
def test_a_refused_item_does_not_end_the_transaction_that_carries_it(lab, tenant, level):
    lab.begin("caller", isolation=level)
    lab("caller", "create temporary table business (n integer)")
    lab("caller", "insert into business values (1)")
    assert lab("caller", "enqueue", tenant, "unheard of").refusal == "unknown"
    assert lab("caller", "select n from business") == [(1,)]
    lab.commit("caller")
    assert lab("caller", "select n from business") == [(1,)]


@pytest.mark.parametrize("level", ABOVE)
@pytest.mark.parametrize("policy", ["skip", "requeue", "replace", "error"])
@pytest.mark.parametrize("key", ["dedupe_key", "idempotency_key"])
def test_a_key_that_was_taken_after_the_snapshot_is_a_clean_serialization_failure(lab, tenant, key, policy, level):
    options = {key: "k"} | ({"dedupe": policy} if key == "dedupe_key" else {})
    lab.begin("caller", isolation=level)
    lab("caller", "select count(*) from job_key")
    first = lab("other", "enqueue", tenant, **options)
    with pytest.raises(psycopg.errors.SerializationFailure):
        lab("caller", "enqueue", tenant, **options)
    lab.rollback("caller")
    again = lab("caller", "enqueue", tenant, **options)
    if policy == "replace" and key == "dedupe_key":
        assert (again.created, lab.heart.state(first.job_id)) == (True, "canceled")
    else:
        assert (again.created, again.job_id) == (False, first.job_id)
    lab.verify()


@pytest.mark.parametrize("level", ABOVE)
def test_a_cancel_of_a_job_that_was_claimed_after_the_snapshot_is_a_clean_serialization_failure(
    lab, tenant, worker, level
):
    job = lab.heart.job(tenant)
    lab.begin("caller", isolation=level)
    lab("caller", "select count(*) from live")
    (claim,) = worker.claim(5)
    with pytest.raises(psycopg.errors.SerializationFailure):
        lab("caller", "cancel_one", tenant, job)
    lab.rollback("caller")
    assert lab("caller", "cancel_one", tenant, job).answer == "requested"
    assert lab.heart.cancel_attempt_one(claim) == Answer.ACCEPTED
    lab.verify()


@pytest.mark.parametrize("level", ABOVE)
@pytest.mark.parametrize("verb", ["cancel_one", "run_now_one"])
def test_a_job_that_became_ready_after_the_snapshot_is_a_clean_serialization_failure(lab, tenant, verb, level):
    job = lab.heart.job(tenant, delay_seconds=10)
    lab.begin("caller", isolation=level)
    lab("caller", "select count(*) from later")
    lab.tick(10)
    assert lab("other", "promote").promoted == 1
    with pytest.raises(psycopg.errors.SerializationFailure):
        lab("caller", verb, tenant, job)
    lab.rollback("caller")
    assert lab("caller", verb, tenant, job).answer in ("canceled", "queued")
    lab.verify()


@pytest.mark.parametrize("level", ABOVE)
def test_two_serializable_callers_that_read_and_enqueue_lose_nothing(lab, tenant, level):
    """Each adds a job where it sees none: only one of them where the level is serializable, else both."""

    def add(heart: Heart) -> bool:
        if heart.one("select count(*) from live")[0] == 0:
            return heart.enqueue(tenant).created
        return False

    lab.begin("caller", isolation=level)
    lab.begin("other", isolation=level)
    assert lab("caller", add)
    assert lab("other", add)
    lab.commit("caller")
    try:
        lab.commit("other")
        committed = 2
    except psycopg.errors.SerializationFailure:
        committed = 1
    assert lab.heart.count("live") == committed
    assert committed == (1 if level == "serializable" else 2)
    lab.verify()


WORKER_VERBS = {
    "claim": lambda heart, claim: heart.claim(claim.worker_id),
    "finish_and_claim": lambda heart, claim: heart.finish_and_claim(
        claim.worker_id, [claim], lanes=[(claim.tenant_id, claim.def_id)], quotas=[1]
    ),
    "claim_tenant": lambda heart, claim: heart.claim_tenant(claim.worker_id, claim.tenant_id, [claim.def_id]),
    "extend": lambda heart, claim: heart.extend_one(claim),
    "complete": lambda heart, claim: heart.complete_one(claim),
    "fail": lambda heart, claim: heart.fail_one(claim),
    "snooze": lambda heart, claim: heart.snooze_one(claim, 5),
    "release": lambda heart, claim: heart.release_one(claim),
    "cancel_attempt": lambda heart, claim: heart.cancel_attempt_one(claim),
    "sweep": lambda heart, _: heart.sweep(),
    "promote": lambda heart, _: heart.promote(),
    "expire": lambda heart, _: heart.expire(),
}


@pytest.mark.parametrize("level", ABOVE)
@pytest.mark.parametrize("verb", WORKER_VERBS)
def test_verbs_of_workers_are_refused_above_read_committed(lab, claim, verb, level):
    lab.begin("caller", isolation=level)
    before = lab.heart.surface()
    with pytest.raises(psycopg.errors.ActiveSqlTransaction, match="transaction_isolation") as refused:
        lab("caller", lambda heart: WORKER_VERBS[verb](heart, claim))
    assert refused.value.diag.constraint_name == "isolation"
    assert refused.value.diag.message_hint == "Call worker verbs under read committed."
    lab.rollback("caller")
    assert lab.heart.surface() == before


@pytest.mark.parametrize("verb", ["complete", "fail", "release"])
def test_a_word_of_an_owner_is_as_good_as_the_transaction_that_carries_it(lab, claim, verb):
    lab.begin("caller")
    assert lab("caller", lambda heart: WORKER_VERBS[verb](heart, claim)) == Answer.ACCEPTED
    lab.rollback("caller")
    assert lab.heart.state(claim.job_id) == "running"
    lab.begin("caller")
    lab("caller", "savepoint here")
    assert lab("caller", lambda heart: WORKER_VERBS[verb](heart, claim)) == Answer.ACCEPTED
    assert lab("caller", lambda heart: WORKER_VERBS[verb](heart, claim)) == Answer.DUPLICATE
    lab("caller", "rollback to savepoint here")
    assert lab("caller", "complete_one", claim) == Answer.ACCEPTED
    lab.commit("caller")
    assert lab.heart.state(claim.job_id) == "succeeded"
    lab.verify()


def test_a_prepared_transaction_is_refused_or_holds_its_jobs_until_it_is_decided(lab, tenant, worker):
    lab.begin("caller")
    job = lab("caller", "enqueue", tenant, dedupe_key="k").job_id
    if lab.heart.one("show max_prepared_transactions") == ("0",):
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
            lab("caller", "prepare transaction 'business'")
        lab.rollback("caller")
        assert lab.heart.state(job) is None
        return
    lab("caller", "prepare transaction 'business'")
    assert worker.claim(5) == []
    lab("other", "commit prepared 'business'")
    assert [found.job_id for found in worker.claim(5)] == [job]


@pytest.mark.parametrize("level", ABOVE)
@pytest.mark.parametrize("end", ["completed", "queued", "parked"])
def test_a_retry_under_an_older_snapshot_is_a_clean_40001(lab, tenant, worker, claim, level, end):
    """It would not see that the job was retried since, and by now runs, waits or has succeeded."""
    lab.heart.fail([claim], permanent=[True])
    lab.begin("caller", isolation=level)
    assert lab("caller", "state", claim.job_id) == "failed"
    assert lab.heart.retry_one(tenant, claim.job_id).answer == "queued"
    if end == "completed":
        assert lab.heart.complete_one(worker.claim_one()) == Answer.ACCEPTED
    elif end == "parked":
        assert lab.heart.reschedule_one(tenant, claim.job_id, delay_seconds=1).answer == "queued"
    with pytest.raises(psycopg.errors.SerializationFailure):
        lab("caller", "retry_one", tenant, claim.job_id)
    lab.rollback("caller")
    lab.verify()


@pytest.mark.parametrize("level", ABOVE)
@pytest.mark.parametrize("verb", ["cancel_one", "force_cancel_one"])
def test_a_successor_that_an_older_snapshot_does_not_see_is_handed_over_all_the_same(lab, tenant, worker, level, verb):
    twin = lab.heart.job(tenant, dedupe_key="k")
    lab.begin("other")
    assert lab("other", "reschedule_one", tenant, twin, delay_seconds=3600).answer == "queued"
    lab.begin("caller", isolation=level)
    lab("caller", "select 1 from live limit 1")
    successor = lab.heart.enqueue(tenant, dedupe_key="k", dedupe="requeue").job_id
    lab.rollback("other")
    lab.heart.promote()
    assert lab.heart.count("handover") == 0, "the twin is alive and nobody holds it: its end will tell"
    assert lab("caller", verb, tenant, twin).answer == "canceled"
    lab.commit("caller")
    lab.heart.promote()
    lab.heart.promote()
    assert [claim.job_id for claim in worker.claim(5)] == [successor]
    lab.verify()
