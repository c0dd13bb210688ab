"""Rules that say several verbs: what single verbs meet too rarely."""

from collections import Counter
from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from machine_base import say_word
from machine_draws import LEASE, MICROSECOND, WORDS, index, sessions, tenants, words
from machine_place import Place
from machine_verbs import Verbs

from kit.database import Database
from language import Claim

# where a job must stand for an operator's verb, and what is answered then; a retry may meet a twin or a success
QUEUED = ("ready", "later", "waiting")
CAN_BE = {
    "cancel": (QUEUED, "canceled"),
    "force_cancel": ((*QUEUED, "running"), "canceled"),
    "retry": (("ended",), "queued"),
    "reschedule": (QUEUED, "queued"),
    "run_now": (QUEUED, "queued"),
}


class HeartMachine(Verbs):
    """Lost owners, late words, cuts, crashes, pauses, twins."""

    @precondition(lambda self: self.owned)
    @rule(place=index, thief=sessions)
    def lose(self, place: int, thief: int) -> None:
        """An owner is not heard of; its job is swept and claimed elsewhere; then it speaks."""
        claim = self.owned[place % len(self.owned)]
        until = self.world.jobs[claim.job_id].until
        assert until is not None
        self.move(max(until - self.now, timedelta(0)))
        self.pass_over(thief, "sweep")
        self.move(timedelta(seconds=1))
        self.pass_over(thief, "promote")
        self.claim(thief, self.world.definitions[self.key_of(claim)].queue, 7, None)
        self.say_everything(claim)
        self.count("lose")

    def say_everything(self, claim: Claim, session: int | None = None) -> None:
        """Whoever does not own an attempt changes nothing, whatever it says."""
        speaker = self.workers.index(claim.worker_id) if session is None else session
        for word in WORDS:
            (answer,) = self.report(speaker, [claim], word)
            assert answer in {"stale", "duplicate"}
        assert self.keep(speaker, [claim]) == ["stale"]

    def key_of(self, claim: Claim) -> str:
        return self.world.jobs[claim.job_id].definition

    @precondition(lambda self: len(self.owned) < len(self.claims))
    @rule(place=index)
    def late(self, place: int) -> None:
        """An old owner speaks, and extends."""
        old = [claim for claim in self.claims if not self.is_owned(claim)]
        self.say_everything(old[place % len(old)])
        self.count("late")

    @precondition(lambda self: self.owned)
    @rule(place=index, thief=sessions)
    def speak_for_another(self, place: int, thief: int) -> None:
        """The right attempt, said by another instance."""
        claim = self.owned[place % len(self.owned)]
        self.move(MICROSECOND)
        if self.workers[thief] != claim.worker_id:
            self.say_everything(claim, thief)
            self.count("speak_for_another")

    @precondition(lambda self: self.owned)
    @rule(place=index)
    def hold_on(self, place: int) -> None:
        """An owner keeps its lease at the last moment, and past its deadline as long as the grace lasts."""
        claim = self.owned[place % len(self.owned)]
        until = self.world.jobs[claim.job_id].until
        assert until is not None
        self.move(max(until - self.now, timedelta(0)))
        assert self.keep(self.workers.index(claim.worker_id), [claim]) in (["ok"], ["cancel"])
        self.count("hold_on")

    @precondition(lambda self: self.owned)
    @rule(place=index, word=words)
    def cut(self, place: int, word: str) -> None:
        """The answer is lost on its way: the word is said again, and is a duplicate."""
        claim = self.owned[place % len(self.owned)]
        session = self.workers.index(claim.worker_id)
        assert self.report(session, [claim], word) == ["accepted"]
        assert self.report(session, [claim], word) == ["duplicate"]
        self.count("cut")

    @rule(session=sessions, tenant=tenants, place=index, word=words)
    def crash(self, session: int, tenant: int, place: int, word: str) -> None:
        """A client that dies before its commit leaves nothing."""
        heart, who = self.hearts[session], self.tenants[tenant]
        with self.lost(session):
            heart.enqueue(who, "echo", dedupe_key="k", idempotency_key="i")
            heart.claim(self.workers[session], 3)
            if self.claims:
                claim = self.claims[place % len(self.claims)]
                say_word(heart, [claim], word, claim.worker_id)
            heart.promote()
            heart.cancel(who, [self.job_at(place)])
        self.count("crash")

    @precondition(lambda self: self.owned)
    @rule(session=sessions, what=st.sampled_from(["queue", "definition", "tenant", "lane", "suspended"]), word=words)
    def pause_while_running(self, session: int, what: str, word: str) -> None:
        """A pause holds back claims alone: what runs goes on to its end."""
        claim = self.owned[-1]
        mark, pause, resume = self.pause_of(what, 0)
        self.enqueue(session, 0, "echo", {}, None)
        pause()
        self.expect("hold_back", None, mark=mark, on=True)
        self.claim(session, "default", 7, None)
        (answer,) = self.report(self.workers.index(claim.worker_id), [claim], word)
        resume()
        self.expect("hold_back", None, mark=mark, on=False)
        self.count("pause_while_running", answer)

    @precondition(lambda self: self.owned)
    @rule(place=index, word=st.sampled_from([*WORDS, "sweep"]), session=sessions)
    def cancel_while_running(self, place: int, word: str, session: int) -> None:
        """A cancel that was asked for wins over every end but success."""
        claim = self.owned[place % len(self.owned)]
        owner = self.workers.index(claim.worker_id)
        self.act(session, self.tenants.index(claim.tenant_id), "cancel", [claim.job_id])
        assert self.keep(owner, [claim]) == ["cancel"]
        if word == "sweep":
            self.move(timedelta(hours=2))
            self.pass_over(session, "sweep")
        else:
            self.report(owner, [claim], word)
        self.count("cancel_while_running")

    @rule(tenant=tenants, priorities=st.lists(st.integers(0, 3), min_size=2, max_size=4), session=sessions)
    def in_order_of_rank(self, tenant: int, priorities: list[int], session: int) -> None:
        for priority in priorities:
            self.enqueue(session, tenant, "echo", {"priority": priority}, None)
        self.claim(session, "default", 1, None)
        self.count("in_order_of_rank")

    @rule(session=sessions, place=index, operation=st.sampled_from(list(CAN_BE)), delay=st.sampled_from([0, LEASE]))
    def operate_on_what_can_be(self, session: int, place: int, operation: str, delay: int) -> None:
        """Operators act on jobs that are where the verb can take them."""
        phases, answer = CAN_BE[operation]
        jobs = [job for job in self.world.jobs.values() if job.phase in phases]
        if jobs:
            job = jobs[place % len(jobs)]
            before = self.tally[f"{operation} {answer}"]
            self.act(session, self.tenants.index(job.tenant), operation, [job.id], delay=delay)
            assert operation == "retry" or self.tally[f"{operation} {answer}"] == before + 1

    @rule(session=sessions, tenant=tenants, place=index)
    def retry_beside_a_twin(self, session: int, tenant: int, place: int) -> None:
        """An ended job's key is held by a twin meanwhile."""
        who = self.tenants[tenant]
        ended = [job for job in self.world.jobs.values() if job.tenant == who and job.key and job.phase == "ended"]
        if not ended:
            return
        job = ended[place % len(ended)]
        self.enqueue(session, tenant, job.definition, {"dedupe_key": job.key, "dedupe": "requeue"}, None)
        self.act(session, tenant, "retry", [job.id])
        self.act(session, tenant, "run_now", [job.id])
        self.count("retry_beside_a_twin")


def machine_over(database: Database) -> type[HeartMachine]:
    """The machine with its place and counts."""
    return type("Machine", (HeartMachine,), {"place": Place(database), "tally": Counter()})
