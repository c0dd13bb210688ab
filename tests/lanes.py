"""One tenant, one definition, one worker, on a connection that is rolled back: what most rules can be seen on.

Fixtures for the conftest of a folder: `from lanes import lane, refuses`.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg
import pytest

from language import Claim, Heart, Worker

__all__ = ["Lane", "Refuses", "lane", "refuses"]

Refuses = Callable[[str, str], AbstractContextManager[None]]


@dataclass
class Lane:
    """A tenant's jobs of one definition in one queue, and a worker for them."""

    heart: Heart
    tenant: UUID
    worker: Worker
    others: dict[str, UUID] = field(default_factory=dict)

    def job(self, definition: str = "echo", **options: Any) -> UUID:
        return self.heart.job(self.tenant, definition, **options)

    def claim_one(self) -> Claim:
        return self.worker.claim_one()

    def take(self, **options: Any) -> Claim:
        """A new job, claimed."""
        job = self.job(**options)
        claim = self.worker.claim_one()
        assert claim.job_id == job
        return claim

    def state(self, job: UUID | Claim) -> str | None:
        return self.heart.state(job.job_id if isinstance(job, Claim) else job)

    def phase(self, job: UUID | Claim) -> str | None:
        return self.heart.phase(job.job_id if isinstance(job, Claim) else job)

    def row(self, table: str, job: UUID | Claim) -> dict[str, Any]:
        row = self.heart.row(table, job.job_id if isinstance(job, Claim) else job)
        assert row is not None, f"no row in {table}"
        return row

    def outcomes(self, job: UUID | Claim) -> list[str]:
        found = self.heart.attempts(job.job_id if isinstance(job, Claim) else job)
        return [attempt.outcome for attempt in found]

    def other(self, slug: str, *, weight: int = 1) -> UUID:
        """Another tenant."""
        self.others[slug] = self.heart.tenant(slug, weight=weight)
        return self.others[slug]

    def claimed(self, n: int = 1, **options: Any) -> list[UUID]:
        return [claim.job_id for claim in self.worker.claim(n, **options)]

    def abyss(self) -> int:
        """Levels of the deepest document that this server reads at all: builds differ in what a level takes."""
        for depth in range(15_000, 3_000, -1_000):
            with suppress(psycopg.errors.StatementTooComplex), self.heart.conn.transaction():
                self.heart.rows("select (repeat('[', %s) || repeat(']', %s))::jsonb is null", [depth, depth])
                return depth
        raise AssertionError("the server reads no document of 4,000 levels; give it its default max_stack_depth")

    def served(self, jobs: Sequence[Claim]) -> dict[UUID, int]:
        """How many of these each tenant got."""
        counts: dict[UUID, int] = {}
        for claim in jobs:
            counts[claim.tenant_id] = counts.get(claim.tenant_id, 0) + 1
        return counts


@pytest.fixture
def lane(sql: psycopg.Connection) -> Lane:
    heart = Heart(sql)
    tenant = heart.tenant("acme")
    heart.define("echo", max_attempts=3, timeout_seconds=600, backoff_jitter=0)
    return Lane(heart, tenant, heart.worker())


@pytest.fixture
def refuses(sql: psycopg.Connection) -> Refuses:
    """A call in it is refused with this code, for this field, with a way out; what it did is undone."""

    @contextmanager
    def refused(code: str, named: str) -> Iterator[None]:
        with pytest.raises(psycopg.Error) as caught, sql.transaction():
            yield
        told = caught.value.diag
        assert (told.constraint_name, told.column_name) == (code, named), told.message_primary
        assert told.message_hint
        assert not told.message_detail

    return refused
