"""Clients that share what anybody made and was given, and say verbs about it as a seed decides."""

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from time import monotonic
from typing import Any
from uuid import UUID

from kit.clock import Clock
from language import Claim, Heart

Act = Callable[[], None]
KEYS = ("a", "b", "c", "d")
DEFINITIONS = ("echo", "mail")
# how far back a client looks for something to speak about
NEWEST = 200


@dataclass(slots=True)
class Crowd:
    """What the clients share: jobs anybody made, and claims anybody was given."""

    tenants: list[UUID]
    workers: list[UUID]
    lanes: list[tuple[UUID, int]]
    ends_at: float
    jobs: list[tuple[UUID, UUID]] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    tally: Counter[str] = field(default_factory=Counter)
    errors: list[BaseException] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def draw(self, random: Random, of: list[Any], most: int) -> list[Any]:
        """Some of the newest, in an order of their own."""
        with self.lock:
            newest = of[-NEWEST:]
        return random.sample(newest, min(len(newest), random.randint(1, most)))

    def add(self, verb: str, *, jobs: list[tuple[UUID, UUID]] | None = None, claims: list[Claim] | None = None) -> None:
        with self.lock:
            self.tally[verb] += 1
            self.jobs += jobs or []
            self.claims += claims or []


class Client:
    """One connection with a worker of its own."""

    def __init__(self, heart: Heart, crowd: Crowd, place: int) -> None:
        self.heart, self.crowd = heart, crowd
        self.random = Random(place)  # noqa: S311 -- a seed, so that it does the same again
        self.worker = crowd.workers[place]
        self.clock = Clock(heart.conn)
        self.verbs: list[Act] = [
            *[self.enqueue_many, self.enqueue, self.claim, self.claim_more, self.finish_and_claim],
            *[self.complete, self.fail, self.snooze, self.release, self.cancel_attempt, self.extend],
            *[self.sweep, self.promote, self.expire, self.cancel, self.retry, self.reschedule, self.run_now],
            *[self.force_cancel, self.run_again, self.pause, self.time],
        ]

    def live(self) -> None:
        try:
            while monotonic() < self.crowd.ends_at and not self.crowd.errors:
                verb = self.random.choice(self.verbs)
                verb()
                self.crowd.add(verb.__name__)
        except BaseException as error:  # noqa: BLE001 -- told by the test, with those of the others
            self.crowd.errors.append(error)

    # Jobs go in.

    def enqueue(self) -> None:
        tenant = self.tenant()
        self.made(tenant, [self.heart.enqueue(tenant, self.definition(), **self.options())])

    def enqueue_many(self) -> None:
        tenant = self.tenant()
        items = [{"definition": self.definition()} | self.options() for _ in range(self.random.randint(2, 20))]
        self.made(tenant, self.heart.enqueue_many(tenant, items))

    def run_again(self) -> None:
        for tenant, job in self.crowd.draw(self.random, self.crowd.jobs, 1):
            self.made(tenant, [self.heart.run_again(tenant, job)])

    def made(self, tenant: UUID, answers: list[Any]) -> None:
        self.crowd.add("items", jobs=[(tenant, each.job_id) for each in answers if each.created])

    def options(self) -> dict[str, Any]:
        kinds: list[dict[str, Any]] = [
            {},
            {"delay_seconds": self.random.choice([0, 1, 30])},
            {"expires_seconds": 5, "priority": self.random.randint(0, 200)},
            {
                "dedupe_key": self.random.choice(KEYS),
                "dedupe": self.random.choice(["skip", "replace", "requeue", "error"]),
                "dedupe_window_seconds": self.random.choice([None, 0, 20]),
            },
            {"idempotency_key": str(self.random.randint(0, 50))},
        ]
        return {name: value for name, value in self.random.choice(kinds).items() if value is not None}

    def tenant(self) -> UUID:
        return self.random.choice(self.crowd.tenants)

    def definition(self) -> str:
        return self.random.choice(DEFINITIONS)

    # Jobs come out.

    def claim(self) -> None:
        self.took(self.heart.claim(self.worker, self.random.randint(1, 3)))

    def claim_more(self) -> None:
        self.took(self.heart.claim(self.worker, self.random.randint(1, 40)))

    def finish_and_claim(self) -> None:
        lanes = self.random.sample(self.crowd.lanes, len(self.crowd.lanes))
        _, claims = self.heart.finish_and_claim(self.worker, self.held(), lanes=lanes, quotas=[2] * len(lanes))
        self.took(claims)

    def took(self, claims: list[Claim]) -> None:
        self.crowd.add("claims", claims=claims)

    # Owners speak, and thieves.

    def held(self) -> list[Claim]:
        return self.crowd.draw(self.random, self.crowd.claims, 12)

    def speak(self, verb: str, **options: Any) -> None:
        """About claims of whichever workers, as one of them or as a thief."""
        claims = self.held()
        if claims:
            speaker = self.random.choice([claims[0].worker_id, self.worker])
            each = {name: [value] * len(claims) for name, value in options.items()}
            for answer in getattr(self.heart, verb)(claims, worker=speaker, **each):
                self.crowd.add(answer.name.lower())

    def complete(self) -> None:
        self.speak("complete")

    def fail(self) -> None:
        self.speak("fail", permanent=self.random.random() < 0.2, retry_in_seconds=self.random.choice([None, 0, 3]))

    def snooze(self) -> None:
        self.speak("snooze", delays_seconds=self.random.choice([0, 5]))

    def release(self) -> None:
        self.speak("release")

    def cancel_attempt(self) -> None:
        self.speak("cancel_attempt")

    def extend(self) -> None:
        self.speak("extend")

    # Passes, and time.

    def sweep(self) -> None:
        self.heart.sweep()

    def promote(self) -> None:
        self.heart.promote()

    def expire(self) -> None:
        self.heart.expire()

    def time(self) -> None:
        """One at a time: a move that undid another would turn the clock back."""
        with self.crowd.lock:
            self.clock.move(self.random.choice([0.001, 1, 1, 20]))

    # What people do.

    def operate(self, verb: str, **options: Any) -> None:
        chosen = self.crowd.draw(self.random, self.crowd.jobs, 12)
        if chosen:
            for answer in getattr(self.heart, verb)(chosen[0][0], [job for _, job in chosen], **options):
                self.crowd.add(answer.answer)

    def cancel(self) -> None:
        self.operate("cancel")

    def retry(self) -> None:
        self.operate("retry")

    def reschedule(self) -> None:
        self.operate("reschedule", delay_seconds=self.random.choice([0, 2]))

    def run_now(self) -> None:
        self.operate("run_now")

    def force_cancel(self) -> None:
        self.operate("force_cancel")

    def pause(self) -> None:
        tenant, definition = self.tenant(), self.definition()
        acts: list[Act] = [
            lambda: self.heart.pause_lane(tenant, definition),
            lambda: self.heart.pause_tenant(tenant),
            lambda: self.heart.pause_definition(definition),
            lambda: resume(self.heart, self.crowd.tenants),
            lambda: resume(self.heart, [tenant]),
        ]
        self.random.choice(acts)()


def resume(heart: Heart, tenants: list[UUID]) -> None:
    for tenant in tenants:
        heart.resume_tenant(tenant)
        for definition in DEFINITIONS:
            heart.resume_lane(tenant, definition)
    for definition in DEFINITIONS:
        heart.resume_definition(definition)
