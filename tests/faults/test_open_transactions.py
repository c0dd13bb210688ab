"""F23: a client that leaves its transaction open for three leases delays no other job, lease or tenant."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from kit.lab import WAITS, Lab
from language import LEASE, Answer, Claim, ExtendAnswer, Heart


class Bystanders:
    """Two tenants at work: one of them, or their operator, leaves a transaction open."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        heart = lab.heart
        heart.define("echo")
        heart.define("held", queue="held")
        self.acme = heart.tenant("acme")
        self.globex = heart.tenant("globex")
        self.worker = heart.worker(slots=100)
        self.jobs = {name: heart.job(self.acme, payload=name) for name in ("held", "beside")}
        self.jobs["foreign"] = heart.job(self.globex, payload="foreign")
        self.claims: dict[str, Claim] = {claim.payload: claim for claim in self.worker.claim(3)}
        self.jobs["queued"] = heart.job(self.acme, definition="held", dedupe_key="k", payload="queued")
        self.jobs["failed"] = self._failed("f")
        # its key is that of a job which runs meanwhile
        self.jobs["twin's"] = self._failed("t")
        self.jobs["twin"] = heart.job(self.acme, dedupe_key="t", payload="twin")
        self.claims["twin"] = self.worker.claim_one()

    def _failed(self, key: str) -> UUID:
        job = self.lab.heart.job(self.acme, dedupe_key=key)
        (claim,) = self.worker.claim(1)
        self.lab.heart.fail([claim], permanent=[True])
        return job


@pytest.fixture
def lab(database):
    with Lab(database, "client", "worker", "passes", "operator", deadline=5) as lab:
        yield lab


@pytest.fixture
def by(lab) -> Bystanders:
    return Bystanders(lab)


Act = Callable[[Heart, Bystanders], object]
# What is said in the open transaction, and whose word is answered busy because of it.
OPEN: dict[str, tuple[Act, str | None]] = {
    "cancel of a running job": (lambda heart, by: heart.cancel_one(by.acme, by.jobs["held"]), "held"),
    "forced cancel of a running job": (lambda heart, by: heart.force_cancel_one(by.acme, by.jobs["held"]), "held"),
    "report in a transaction of a handler": (lambda heart, by: heart.complete_one(by.claims["held"]), "held"),
    "extension": (lambda heart, by: heart.extend_one(by.claims["held"]), "held"),
    "enqueue with the key of a queued twin": (
        lambda heart, by: heart.enqueue(by.acme, "held", dedupe_key="k", dedupe="requeue"),
        None,
    ),
    "enqueue in place of a queued twin": (
        lambda heart, by: heart.enqueue(by.acme, "held", dedupe_key="k", dedupe="replace"),
        None,
    ),
    "enqueue with a dedupe key": (lambda heart, by: heart.enqueue(by.acme, dedupe_key="new"), None),
    "enqueue with the key of an ended job": (lambda heart, by: heart.enqueue(by.acme, dedupe_key="f"), None),
    "enqueue of many": (lambda heart, by: heart.enqueue_many(by.acme, [{}] * 100), None),
    "retry beside an active twin": (lambda heart, by: heart.retry_one(by.acme, by.jobs["twin's"]), None),
    "retry": (lambda heart, by: heart.retry_one(by.acme, by.jobs["failed"]), None),
    "reschedule": (lambda heart, by: heart.reschedule_one(by.acme, by.jobs["queued"], delay_seconds=5), None),
    "claim": (lambda heart, by: heart.claim(by.worker, 5, queue="held"), None),
    "pause of a lane": (lambda heart, by: heart.pause_lane(by.acme, "echo"), None),
    "pause of a tenant": (lambda heart, by: heart.pause_tenant(by.acme), None),
    "pause of the queue": (lambda heart, _: heart.pause_queue(), None),
    "pause of the definition": (lambda heart, _: heart.pause_definition("echo"), None),
    "suspension": (lambda heart, by: heart.suspend_tenant(by.acme), None),
    "weight": (lambda heart, by: heart.set_weight(by.acme, 5), None),
    "override": (lambda heart, _: heart.override("echo", priority=5), None),
    "sync": (lambda heart, _: heart.sync({"echo": {"priority": 7}, "held": {"queue": "held"}}), None),
    "drain of the worker": (lambda heart, by: heart.drain_worker(by.worker), None),
    "registration of the worker": (lambda heart, by: heart.register(by.worker.id), None),
    "sweep": (lambda heart, _: heart.sweep(), None),
    "promote": (lambda heart, _: heart.promote(), None),
    "expire": (lambda heart, _: heart.expire(), None),
}


@pytest.mark.parametrize("open_", OPEN)
def test_leases_of_other_jobs_are_kept_for_three_leases_and_their_reports_are_taken(lab, by, open_):
    act, held = OPEN[open_]
    names = ("held", "beside", "foreign")
    free = [name for name in names if name != held]
    lab.begin("client")
    lab("client", lambda heart: act(heart, by))
    for _ in range(9):
        lab.tick(LEASE / 3)
        kept = dict(zip(names, lab("worker", "extend", [by.claims[name] for name in names]), strict=True))
        assert [kept[name] for name in free] == [ExtendAnswer.OK] * len(free)
        if held is not None:
            assert kept[held] == ExtendAnswer.BUSY
        # the sweep finds what nobody extended, and waits for nobody who holds it
        lab("passes", "sweep")
        lab("passes", "promote")
        lab("passes", "expire")
    answers = dict(zip(names, lab("worker", "complete", [by.claims[name] for name in names]), strict=True))
    assert [answers[name] for name in free] == [Answer.ACCEPTED] * len(free)
    lab.rollback("client")
    assert {lab.heart.state(by.jobs[name]) for name in free} == {"succeeded"}
    lab.verify()


@pytest.mark.parametrize("open_", OPEN)
def test_another_tenant_goes_on_through_all_of_a_life(lab, by, open_):
    act, _ = OPEN[open_]
    lab.begin("client")
    lab("client", lambda heart: act(heart, by))
    other = by.worker.on(lab.heart_of("worker"))

    def claimed(**options: Any) -> Claim:
        job = lab("operator", "job", by.globex, **options)
        claims = {claim.job_id: claim for claim in lab("worker", lambda _: other.claim(10))}
        return claims[job]

    assert lab("worker", "complete_one", claimed()) == Answer.ACCEPTED
    assert lab("worker", "release_one", claimed()) == Answer.ACCEPTED
    assert lab("worker", "fail", [claimed(dedupe_key="k")], permanent=[True]) == [Answer.ACCEPTED]
    ended = claimed(dedupe_key="f")
    assert lab("operator", "cancel_one", by.globex, ended.job_id).answer == "requested"
    assert lab("worker", "cancel_attempt_one", ended) == Answer.ACCEPTED
    assert lab("operator", "retry_one", by.globex, ended.job_id).answer == "queued"
    assert lab("operator", "reschedule_one", by.globex, ended.job_id, delay_seconds=5).answer == "queued"
    assert lab("operator", "run_now_one", by.globex, ended.job_id).answer == "queued"
    assert lab("operator", "force_cancel_one", by.globex, by.jobs["foreign"]).answer == "canceled"
    lab.rollback("client")
    lab.verify()


def test_a_job_of_the_same_tenant_whose_key_is_held_is_answered_busy_and_not_waited_for(lab, by):
    lab.begin("client")
    lab("client", "enqueue", by.acme, dedupe_key="f")

    def retry(heart: Heart) -> str:
        return heart.retry_one(by.acme, by.jobs["failed"]).answer

    answer = lab.may_wait("operator", retry)
    if answer is WAITS:
        # five milliseconds at most: enough for one that is about to commit
        while lab.is_waiting("operator"):
            pass
        answer = lab.answer("operator")
    assert answer == "busy"
    lab.commit("client")
    assert lab("operator", retry) == "conflict"
    lab.verify()


def test_a_worker_s_claim_passes_over_what_an_open_transaction_holds(lab, by):
    first, second = (lab.heart.job(by.acme) for _ in range(2))
    lab.begin("client")
    lab("client", "cancel_one", by.acme, first)
    claims = lab("worker", lambda heart: by.worker.on(heart).claim(5))
    assert [claim.job_id for claim in claims] == [second]
    lab.rollback("client")
    claims = lab("worker", lambda heart: by.worker.on(heart).claim(5))
    assert [claim.job_id for claim in claims] == [first]
