"""A registered worker as tests hold it."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import psycopg

from kit.answers import Answer, Claim, ExtendAnswer, Trailer
from kit.database import Database
from kit.owner_verbs import OwnerVerbs


class Worker:
    """A registered instance with its cursor; the verbs are those of OwnerVerbs, said as this instance."""

    def __init__(self, verbs: OwnerVerbs, worker_id: UUID, *, queue: str) -> None:
        self.verbs = verbs
        self.id = worker_id
        self.queue = queue
        self.trailer = Trailer(None, 0, False, [], [], [], [])  # noqa: FBT003 -- a row as SQL answers it

    def on(self, place: Database | psycopg.Connection | OwnerVerbs) -> "Worker":
        """The same instance over another connection."""
        verbs = place if isinstance(place, OwnerVerbs) else OwnerVerbs(place)
        return Worker(verbs, self.id, queue=self.queue)

    def claim(self, n: int = 1, queue: str | None = None, **options: Any) -> list[Claim]:
        claims, self.trailer = self.verbs.claim_with_trailer(self.id, n, queue=queue or self.queue, **options)
        return claims

    def claim_next(self, n: int = 1, **options: Any) -> list[Claim]:
        """Goes on where the last claim of this worker ended."""
        return self.claim(n, after=self.trailer.next_after, left=self.trailer.next_left, **options)

    def claim_one(self, queue: str | None = None) -> Claim:
        claims = self.claim(1, queue)
        assert len(claims) == 1, f"nothing to claim in {queue or self.queue}"
        return claims[0]

    def finish_and_claim(self, done: Sequence[Claim] = (), **options: Any) -> tuple[list[Answer], list[Claim]]:
        return self.verbs.finish_and_claim(self.id, done, **{"queue": self.queue} | options)

    def complete(self, claims: Sequence[Claim], **options: Any) -> list[Answer]:
        return self.verbs.complete(claims, worker=self.id, **options)

    def fail(self, claims: Sequence[Claim], **options: Any) -> list[Answer]:
        return self.verbs.fail(claims, worker=self.id, **options)

    def snooze(self, claims: Sequence[Claim], **options: Any) -> list[Answer]:
        return self.verbs.snooze(claims, worker=self.id, **options)

    def release(self, claims: Sequence[Claim], **options: Any) -> list[Answer]:
        return self.verbs.release(claims, worker=self.id, **options)

    def cancel_attempt(self, claims: Sequence[Claim], **options: Any) -> list[Answer]:
        return self.verbs.cancel_attempt(claims, worker=self.id, **options)

    def extend(self, claims: Sequence[Claim], **options: Any) -> list[ExtendAnswer]:
        return self.verbs.extend(claims, worker=self.id, **options)

    def complete_one(self, claim: Claim, **options: Any) -> Answer:
        return self.verbs.complete_one(claim, worker=self.id, **options)

    def fail_one(self, claim: Claim, **options: Any) -> Answer:
        return self.verbs.fail_one(claim, worker=self.id, **options)

    def snooze_one(self, claim: Claim, delay_seconds: float) -> Answer:
        return self.verbs.snooze_one(claim, delay_seconds, worker=self.id)

    def release_one(self, claim: Claim) -> Answer:
        return self.verbs.release_one(claim, worker=self.id)

    def cancel_attempt_one(self, claim: Claim) -> Answer:
        return self.verbs.cancel_attempt_one(claim, worker=self.id)

    def extend_one(self, claim: Claim, **options: Any) -> ExtendAnswer:
        return self.verbs.extend_one(claim, worker=self.id, **options)

    def held(self) -> list[tuple[UUID, UUID, int]]:
        return self.verbs.held(self.id)

    def beat(self) -> bool:
        return self.verbs.beat(self.id)

    def end(self) -> None:
        self.verbs.end_worker(self.id)
