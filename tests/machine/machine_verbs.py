"""Rules that say one verb."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule
from machine_base import SideBySide, fences, say_word, word_of
from machine_draws import (
    LEASE,
    MICROSECOND,
    definitions,
    few,
    held,
    index,
    items,
    policies,
    queues,
    sessions,
    tenants,
    words,
)
from machine_place import seen

from language import Claim


class Verbs(SideBySide):
    """One verb each, about whatever there is."""

    # A job goes in.

    @initialize(
        given=st.lists(st.tuples(tenants, definitions, items), min_size=4, max_size=8),
        takes=st.lists(st.tuples(sessions, queues, st.integers(1, 3)), min_size=2, max_size=4),
    )
    def begin(self, given: list[tuple[int, str, dict[str, Any]]], takes: list[tuple[int, str, int]]) -> None:
        for tenant, definition, options in given:
            self.enqueue(0, tenant, definition, options, None)
        for session, queue, jobs in takes:
            self.claim(session, queue, jobs, None)

    @rule(session=sessions, tenant=tenants, definition=definitions, given=items, held=held)
    def enqueue(self, session: int, tenant: int, definition: str, given: dict[str, Any], held: int | None) -> None:
        who = self.tenants[tenant]
        with self.beside(held, [job for job in self.jobs if self.world.jobs[job].key]) as rows:
            found = self.hearts[session].enqueue(who, definition, **given)
        answer = word_of(found)
        self.expect("enqueue", answer, tenant=who, definition=definition, id=found.job_id, held=rows, **given)
        self.count("enqueue", answer[0])

    @rule(
        session=sessions,
        tenant=tenants,
        given=st.lists(st.tuples(definitions, items), min_size=2, max_size=4),
        policy=policies,
    )
    def enqueue_many(self, session: int, tenant: int, given: list[tuple[str, dict[str, Any]]], policy: str) -> None:
        who = self.tenants[tenant]
        batch = [{"definition": definition} | options for definition, options in given]
        for item in batch:
            if "dedupe_key" in item:
                item["dedupe"] = policy
        found = self.hearts[session].enqueue_many(who, batch)
        self.expect(
            "enqueue_many",
            [word_of(each) for each in found],
            tenant=who,
            items=batch,
            ids=[each.job_id for each in found],
        )
        self.count("enqueue_many")

    @rule(session=sessions, tenant=tenants, place=index)
    def run_again(self, session: int, tenant: int, place: int) -> None:
        who, job = self.tenants[tenant], self.job_at(place)
        found = self.hearts[session].run_again(who, job)
        answer = found.refusal or "created"
        self.expect("run_again", answer, tenant=who, job=job, id=found.job_id)
        self.count("run_again", answer)

    # A job comes out.

    @rule(session=sessions, queue=queues, jobs=st.sampled_from([1, 2, 3, 7]), held=held)
    def claim(self, session: int, queue: str, jobs: int, held: int | None) -> None:
        with self.beside(held, self.in_phase("ready")) as rows:
            taken = self.hearts[session].claim(self.workers[session], jobs, queue=queue)
        self.took(session, queue, taken, "claim", len(taken), jobs=jobs, held=rows)

    def took(self, session: int, queue: str, taken: Sequence[Claim], verb: str, answer: Any, **args: Any) -> None:
        self.expect(
            verb, answer, worker=self.workers[session], queue=queue, taken=[claim.job_id for claim in taken], **args
        )
        for claim in taken:
            job = self.world.jobs[claim.job_id]
            assert (claim.attempt, claim.max_attempts) == (job.attempt, job.max_attempts)
        self.claims += taken
        self.count(verb, "some" if taken else "none")

    @rule(session=sessions, places=few, quota=st.integers(1, 2), held=held)
    def finish_and_claim(self, session: int, places: list[int], quota: int, held: int | None) -> None:
        done = self.batch_of(session, places)
        lanes = [(who, self.def_ids[key]) for who in sorted(self.tenants) for key in ("echo", "mail")]
        if session == 2:
            lanes = lanes[::2]
        with self.beside(held, [*(claim.job_id for claim in done), *self.in_phase("ready")]) as rows:
            said, taken = self.hearts[session].finish_and_claim(
                self.workers[session], done, lanes=lanes, quotas=[quota] * len(lanes)
            )
        answers = [answer.name.lower() for answer in said]
        args = {"items": fences(done), "tenants": self.tenants, "quota": quota, "held": rows}
        self.took(session, "default", taken, "finish_and_claim", (answers, len(taken)), **args)
        for answer in answers:
            self.count("finish_and_claim", answer)

    # The owner speaks.

    def batch_of(self, session: int, places: Sequence[int]) -> list[Claim]:
        """What a worker was ever given, in any order, the same twice included."""
        mine = [claim for claim in self.claims if claim.worker_id == self.workers[session]]
        return [mine[-1 - place % len(mine)] for place in places] if mine else []

    def report(self, session: int, claims: Sequence[Claim], word: str, held: int | None = None) -> list[str]:
        with self.beside(held, [claim.job_id for claim in claims]) as rows:
            answers = say_word(self.hearts[session], claims, word, self.workers[session])
        permanent, delay = word == "failed for good", {"snoozed": 30, "released": 0}.get(word)
        self.expect(
            "report",
            answers,
            worker=self.workers[session],
            items=fences(claims),
            word="failed" if permanent else word,
            permanent=permanent,
            delay=delay,
            held=rows,
        )
        for answer in answers:
            self.count(word, answer)
        return answers

    @rule(session=sessions, places=few, word=words, held=held)
    def speak(self, session: int, places: list[int], word: str, held: int | None) -> None:
        claims = self.batch_of(session, places)
        if claims:
            self.report(session, claims, word, held)

    def keep(self, session: int, claims: Sequence[Claim], held: int | None = None) -> list[str]:
        with self.beside(held, [claim.job_id for claim in claims]) as rows:
            found = self.hearts[session].extend(claims, worker=self.workers[session])
        answers = [answer.name.lower() for answer in found]
        self.expect("extend", answers, worker=self.workers[session], items=fences(claims), held=rows)
        for answer in answers:
            self.count("extend", answer)
        return answers

    @rule(session=sessions, places=few, held=held)
    def extend(self, session: int, places: list[int], held: int | None) -> None:
        claims = self.batch_of(session, places)
        if claims:
            self.keep(session, claims, held)

    # The passes.

    def pass_over(self, session: int, verb: str, held: int | None = None) -> None:
        with self.beside(held, self.jobs) as rows:
            found = getattr(self.hearts[session], verb)()
        dues = (
            {job: row[4] for job, row in seen(self.heart.conn).items() if row[0] == "later"} if verb == "sweep" else {}
        )
        match verb:
            case "sweep":
                answer: Any = (found.lost, found.timed_out)
            case "promote":
                answer = found.promoted
            case _:
                answer = found
        self.expect(verb, answer, dues=dues, held=rows)
        self.count(verb, "some" if answer not in {0, (0, 0)} else "none")

    @rule(session=sessions, verb=st.sampled_from(["sweep", "promote", "promote", "expire"]), held=held)
    def upkeep(self, session: int, verb: str, held: int | None) -> None:
        self.pass_over(session, verb, held)

    # What people do.

    @rule(
        session=sessions,
        tenant=tenants,
        operation=st.sampled_from(["cancel", "retry", "retry", "reschedule", "run_now", "force_cancel"]),
        places=st.lists(index, min_size=1, max_size=3),
        delay=st.sampled_from([0, 1, LEASE]),
        held=held,
    )
    def operate(
        self, session: int, tenant: int, operation: str, places: list[int], delay: int, held: int | None
    ) -> None:
        jobs = list(dict.fromkeys(self.job_at(place) for place in places))
        self.act(session, tenant, operation, jobs, delay=delay, held=held)

    def act(
        self, session: int, tenant: int, operation: str, jobs: list[UUID], *, delay: int = 0, held: int | None = None
    ) -> None:
        who = self.tenants[tenant]
        more = {"delay_seconds": delay} if operation == "reschedule" else {}
        with self.beside(held, jobs) as rows:
            found = getattr(self.hearts[session], operation)(who, jobs, **more)
        answers = [each.answer for each in found]
        self.expect(
            "operate", answers, operation=operation, tenant=who, jobs=jobs, held=rows, delay=more.get("delay_seconds")
        )
        for answer in answers:
            self.count(operation, answer)

    @rule(
        what=st.sampled_from(["queue", "definition", "tenant", "lane", "all lanes", "suspended"]),
        place=st.integers(0, 1),
    )
    def hold_back(self, what: str, place: int) -> None:
        """Pauses what is not paused, resumes what is: too many pauses would leave nothing to see."""
        mark, pause, resume = self.pause_of(what, place)
        is_on = mark not in self.world.held_back
        (pause if is_on else resume)()
        self.expect("hold_back", None, mark=mark, on=is_on)
        self.count(what, "paused" if is_on else "resumed")

    def pause_of(self, what: str, place: int) -> tuple[tuple[str, Any], Any, Any]:
        who, heart = self.tenants[place], self.hearts[place]
        definition, queue = ("echo", "rush")[place], ("default", "express")[place]
        match what:
            case "queue":
                return (what, queue), lambda: heart.pause_queue(queue), lambda: heart.resume_queue(queue)
            case "definition":
                return (
                    (what, definition),
                    lambda: heart.pause_definition(definition),
                    lambda: heart.resume_definition(definition),
                )
            case "tenant":
                return (what, who), lambda: heart.pause_tenant(who), lambda: heart.resume_tenant(who)
            case "suspended":
                return (what, who), lambda: heart.suspend_tenant(who), lambda: heart.unsuspend_tenant(who)
            case _:
                lane = definition if what == "lane" else None
                return (
                    ("lane", (who, lane)),
                    lambda: heart.pause_lane(who, lane),
                    lambda: heart.resume_lane(who, lane),
                )

    @rule()
    def resume_all(self) -> None:
        for what in ("queue", "definition", "tenant", "lane", "all lanes", "suspended"):
            for place in (0, 1):
                if self.pause_of(what, place)[0] in self.world.held_back:
                    self.hold_back(what, place)

    # Time.

    @rule(by=st.sampled_from([timedelta(seconds=1), timedelta(seconds=LEASE), MICROSECOND]))
    def wait(self, by: timedelta) -> None:
        self.move(by)
