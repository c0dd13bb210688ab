"""The model and the database side by side: rules say a verb to both and compare what they answer and what they hold.

Three connections with a worker each, two tenants of unequal weight, a fair and a strict queue. Each example has a
database of its own. Rows of the database are read after every rule and must be those of the model.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from rows import seen
from world import step
from world_state import LEASE, Definition, Queue, World, look

from kit.clock import EPOCH, Clock
from kit.database import Database
from language import Claim, EnqueueAnswer, Heart

MICROSECOND = timedelta(microseconds=1)
DEFINITIONS = {
    "echo": Definition(),
    "mail": Definition(max_attempts=2, priority=50, timeout_seconds=30),
    "rush": Definition(queue="express", max_attempts=1),
}
QUEUES = {"default": Queue(), "express": Queue(is_strict=True)}
NOBODY = UUID(int=7)
WORDS = ("succeeded", "failed", "failed for good", "snoozed", "released", "canceled")

index = st.integers(0, 30)
few = st.lists(index, min_size=1, max_size=3)
# now and then another session holds the rows of a job
held = st.one_of(st.none(), st.none(), st.none(), index)
tenants = st.integers(0, 1)
sessions = st.integers(0, 2)
queues = st.sampled_from(["default", "default", "express"])
words = st.sampled_from(WORDS)
options = st.fixed_dictionaries(
    {},
    optional={
        "priority": st.sampled_from([0, 50, 100, 101, 1000, 1001]),
        "delay_seconds": st.sampled_from([0, 1, LEASE]),
        "expires_seconds": st.sampled_from([1, 2 * LEASE]),
        "max_attempts": st.integers(1, 3),
        "timeout_seconds": st.sampled_from([1, 70]),
        "idempotency_key": st.sampled_from(["i", "j"]),
    },
)
policies = st.sampled_from(["skip", "replace", "requeue", "error"])
keyed = st.fixed_dictionaries(
    {"dedupe_key": st.sampled_from(["k", "l"])},
    optional={
        "dedupe": policies,
        "dedupe_window_seconds": st.sampled_from([0, 30]),
    },
)
definitions = st.sampled_from([*DEFINITIONS, "echo", "echo", "nothing"])
items = st.builds(lambda key, rest: key | rest, st.one_of(st.just({}), keyed), options)


WEIGHTS = (1, 3)
ABLE = (tuple(DEFINITIONS), tuple(DEFINITIONS), ("echo", "rush"))
# all that an example writes
WRITTEN = ("job", "live", "later", "waiting", "attempt", "job_key", "handover", "stuck", "tenant_pair")


class Place:
    """The database of all examples: emptied before each of them, so that its connections stay warm."""

    def __init__(self, database: Database) -> None:
        self.hearts = [Heart(database) for _ in range(3)]
        self.holder = database.connect(autocommit=False)
        for heart in self.hearts:
            heart.rows("set lock_timeout = '5s'")
        heart = self.hearts[0]
        heart.sync(
            {
                key: {name: getattr(definition, name) for name in definition.__slots__} | {"backoff_jitter": 0}
                for key, definition in DEFINITIONS.items()
            }
        )
        heart.set_queue("express", is_strict=True)
        self.tenants = [heart.tenant("acme"), heart.tenant("rival", weight=WEIGHTS[1])]
        self.workers = [heart.worker(keys).id for keys in ABLE]
        self.def_ids = {key: heart.def_id(key) for key in DEFINITIONS}
        self._audited = [each for (each,) in heart.rows("select id from audit")]

    def empty(self) -> None:
        self.holder.rollback()
        heart = self.hearts[0]
        with heart.transaction():
            for table in WRITTEN:
                heart.rows(f"delete from {table}")
            heart.rows("delete from audit where id <> all (%s)", [self._audited])
            heart.rows("update queue set paused_at = null")
            heart.rows("update definition set paused_at = null")
            heart.rows("update tenant_control set paused_at = null, suspended_at = null")


class HeartMachine(RuleBasedStateMachine):
    """What is said to both; a subclass names where databases come from, and counts (`machine_over`)."""

    place: Place
    tally: Counter[str]

    def __init__(self) -> None:
        super().__init__()
        self.place.empty()
        self.hearts, self.heart, self.holder = self.place.hearts, self.place.hearts[0], self.place.holder
        self.tenants, self.workers, self.def_ids = self.place.tenants, self.place.workers, self.place.def_ids
        self.clock = Clock(self.heart.conn)
        self.now = EPOCH
        self.clock.set(self.now)
        self.claims: list[Claim] = []
        self.world = World(
            definitions=DEFINITIONS,
            queues=QUEUES,
            weights=dict(zip(self.tenants, WEIGHTS, strict=True)),
            workers={worker: frozenset(keys) for worker, keys in zip(self.workers, ABLE, strict=True)},
        )

    def teardown(self) -> None:
        self.heart.verify()
        self.count("example")

    @invariant()
    def the_rows_are_those_of_the_model(self) -> None:
        rows = seen(self.heart.conn)
        model = look(self.world)
        assert rows == model, "\n".join(
            f"{job}: rows {rows.get(job)}, model {model.get(job)}"
            for job in rows.keys() | model.keys()
            if rows.get(job) != model.get(job)
        )

    # Tools of the rules.

    def count(self, verb: str, answer: object = "") -> None:
        self.tally[f"{verb} {answer}".strip()] += 1

    def expect(self, verb: str, answer: Any, **args: Any) -> None:
        """The model answers the same."""
        self.count("steps")
        self.world, expected = step(self.world, verb, args, self.now)
        assert answer == expected, f"{verb} {args}: {answer}, by the model {expected}"

    def move(self, by: timedelta) -> None:
        self.now += by
        self.clock.set(self.now)

    @property
    def jobs(self) -> list[UUID]:
        return list(self.world.jobs)

    def in_phase(self, phase: str) -> list[UUID]:
        return [job.id for job in self.world.jobs.values() if job.phase == phase]

    def job_at(self, place: int) -> UUID:
        return self.jobs[place % len(self.jobs)] if self.jobs else NOBODY

    @property
    def owned(self) -> list[Claim]:
        return [claim for claim in self.claims if self.is_owned(claim)]

    def is_owned(self, claim: Claim) -> bool:
        job = self.world.jobs[claim.job_id]
        return job.phase == "running" and (job.attempt, job.worker) == (claim.attempt, claim.worker_id)

    def session_of(self, claim: Claim) -> Heart:
        return self.hearts[self.workers.index(claim.worker_id)]

    @contextmanager
    def beside(self, place: int | None, among: Sequence[UUID]) -> Iterator[tuple[UUID, ...]]:
        """Another session holds the rows of one of these jobs meanwhile."""
        if place is None or not among:
            yield ()
            return
        job = among[place % len(among)]
        self.count("beside")
        for table in ("live", "later", "waiting"):
            self.holder.execute(f"select from {table} where job_id = %s for update", [job])
        try:
            yield (job,)
        finally:
            self.holder.rollback()

    @contextmanager
    def lost(self, session: int) -> Iterator[None]:
        """The client dies before its commit: nothing of it happened."""
        conn = self.hearts[session].conn
        try:
            conn.execute("begin")
            yield
        finally:
            conn.execute("rollback")

    # A job goes in.

    @initialize(
        given=st.lists(st.tuples(tenants, definitions, items), min_size=4, max_size=8),
        takes=st.lists(st.tuples(sessions, queues, st.integers(1, 3)), max_size=3),
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

    @rule(session=sessions, places=few, held=held)
    def extend(self, session: int, places: list[int], held: int | None) -> None:
        claims = self.batch_of(session, places)
        if not claims:
            return
        with self.beside(held, [claim.job_id for claim in claims]) as rows:
            found = self.hearts[session].extend(claims, worker=self.workers[session])
        answers = [answer.name.lower() for answer in found]
        self.expect("extend", answers, worker=self.workers[session], items=fences(claims), held=rows)
        for answer in answers:
            self.count("extend", answer)

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

    # What happens together: single verbs meet these too rarely.

    @precondition(lambda self: self.owned)
    @rule(place=index, thief=sessions, word=words)
    def lose(self, place: int, thief: int, word: str) -> None:
        """An owner is not heard of; its job is swept and claimed elsewhere; then it speaks."""
        claim = self.owned[place % len(self.owned)]
        session = self.workers.index(claim.worker_id)
        until = self.world.jobs[claim.job_id].until
        assert until is not None
        self.move(max(until - self.now, timedelta(0)))
        self.pass_over(thief, "sweep")
        self.move(timedelta(seconds=1))
        self.pass_over(thief, "promote")
        self.claim(thief, self.world.definitions[self.key_of(claim)].queue, 7, None)
        (answer,) = self.report(session, [claim], word)
        self.count("lose", answer)

    def key_of(self, claim: Claim) -> str:
        return self.world.jobs[claim.job_id].definition

    @precondition(lambda self: len(self.owned) < len(self.claims))
    @rule(place=index, word=words)
    def late(self, place: int, word: str) -> None:
        """An old owner speaks, and extends."""
        old = [claim for claim in self.claims if not self.is_owned(claim)]
        claim = old[place % len(old)]
        session = self.workers.index(claim.worker_id)
        (answer,) = self.report(session, [claim], word)
        found = self.hearts[session].extend([claim], worker=claim.worker_id)
        self.expect("extend", [found[0].name.lower()], worker=claim.worker_id, items=fences([claim]))
        self.count("late", answer)

    @precondition(lambda self: self.owned)
    @rule(place=index, word=words, other=sessions)
    def speak_for_another(self, place: int, word: str, other: int) -> None:
        """The right attempt, said by whichever instance."""
        claim = self.owned[place % len(self.owned)]
        answers = self.report(other, [claim], word)
        self.count("speak_for_another", answers[0])

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
        pause()
        self.expect("hold_back", None, mark=mark, on=True)
        self.claim(session, "default", 3, None)
        (answer,) = self.report(self.workers.index(claim.worker_id), [claim], word)
        resume()
        self.expect("hold_back", None, mark=mark, on=False)
        self.count("pause_while_running", answer)

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


def word_of(found: EnqueueAnswer) -> tuple[str, UUID | None]:
    if found.refusal is not None:
        return found.refusal, found.job_id
    return ("created" if found.created else "existing"), found.job_id


def fences(claims: Sequence[Claim]) -> list[tuple[UUID, UUID, int]]:
    return [(claim.tenant_id, claim.job_id, claim.attempt) for claim in claims]


def say_word(heart: Heart, claims: Sequence[Claim], word: str, worker: UUID) -> list[str]:
    match word:
        case "succeeded":
            said = heart.complete(claims, worker=worker)
        case "failed" | "failed for good":
            said = heart.fail(claims, permanent=[word != "failed"] * len(claims), worker=worker)
        case "snoozed":
            said = heart.snooze(claims, delays_seconds=[30] * len(claims), worker=worker)
        case "released":
            said = heart.release(claims, worker=worker)
        case _:
            said = heart.cancel_attempt(claims, worker=worker)
    return [answer.name.lower() for answer in said]
