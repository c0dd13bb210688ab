"""The model and the database side by side: what is said to both is compared, and so is what they hold.

Three connections with a worker each, two tenants of unequal weight, a fair and a strict queue. The rows of the database
are read after every rule and must be those of the model.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

from hypothesis.stateful import RuleBasedStateMachine, invariant
from machine_draws import ABLE, DEFINITIONS, NOBODY, QUEUES, WEIGHTS
from machine_place import Place, seen
from world import step
from world_state import World, look

from kit.clock import EPOCH, Clock
from language import Claim, EnqueueAnswer, Heart


class SideBySide(RuleBasedStateMachine):
    """The tools of the rules; `machine_over` names the place and the counts."""

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
