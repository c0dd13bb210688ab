"""The parts of the demo: two tenants, a definition, a worker, each through its own database role."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString
from uuid import UUID, uuid4

import psycopg
from psycopg import sql
from psycopg.rows import class_row, scalar_row
from psycopg.types.json import Jsonb

__all__ = ["Attempt", "Claim", "Stage", "Tenant"]

DEFINITION = "demo-send-receipt"
QUEUE = "demo"


@dataclass(frozen=True, slots=True)
class Tenant:
    slug: str
    weight: int
    tenant_id: UUID


@dataclass(frozen=True, slots=True)
class Claim:
    tenant_id: UUID
    job_id: UUID
    attempt: int


@dataclass(frozen=True, slots=True)
class Attempt:
    attempt: int
    outcome: str
    started_at: datetime
    ended_at: datetime | None
    reason: str | None


class Stage:
    """One connection; each act runs under the role that would do it in production."""

    def __init__(self, conn: psycopg.Connection, *, schema: str) -> None:
        self._conn = conn
        self._schema = schema
        self._worker = uuid4()
        self._after: UUID | None = None
        self._left = 0

    def tenant(self, slug: str, *, weight: int) -> Tenant:
        """The tenant of this name: made at the first start, found at the next."""
        with self._as("admin"), self._conn.cursor(row_factory=scalar_row) as cursor:
            found = cursor.execute("select tenant_id from list_tenants() where slug = %s", [slug]).fetchall()
            (tenant_id,) = found or cursor.execute("select create_tenant(%s)", [slug]).fetchall()
            cursor.execute("select set_tenant_weight(%s, %s, 'demo')", [tenant_id, weight])
        return Tenant(slug, weight, tenant_id)

    def ensure_key(self) -> None:
        """Contexts are signed even where the database signs them itself; an install begins without a key."""
        with suppress(psycopg.errors.ObjectNotInPrerequisiteState), self._as("owner"):
            self._conn.execute("select add_context_key('demo')")

    def define(self) -> None:
        declared = {DEFINITION: {"queue": QUEUE, "max_attempts": 3, "description": "Pretends to send a receipt."}}
        with self._as("admin"):
            self._conn.execute("select * from sync_definitions('demo', %s)", [Jsonb(declared)])
        with self._as("worker"):
            self._conn.execute(
                "select * from register_worker(%s, 'demo', 1, 'demo', 32, %s, %s)",
                [self._worker, [QUEUE], [DEFINITION]],
            )

    def enqueue(self, tenant: Tenant, receipts: Sequence[int]) -> list[UUID]:
        with self._as("backend"), self._conn.cursor(row_factory=scalar_row) as cursor:
            self._enter(tenant)
            cursor.execute(
                "select job_id from enqueue_many(%s, %s, %s::jsonb[])",
                [tenant.tenant_id, [DEFINITION], [Jsonb({"receipt": receipt}) for receipt in receipts]],
            )
            return cursor.fetchall()

    def claim(self, jobs: int) -> list[Claim]:
        with self._as("worker"), self._conn.cursor() as cursor:
            cursor.execute(
                "select tenant_id, job_id, attempt, next_after, next_left from claim(%s, %s, %s, %s, %s)",
                [self._worker, QUEUE, jobs, self._after, self._left],
            )
            *rows, trailer = cursor.fetchall()
        self._after, self._left = trailer[3], trailer[4]
        return [Claim(*row[:3]) for row in rows]

    def sweep_and_promote(self) -> None:
        """What any worker does now and then: ends leases that are over, makes due what was not."""
        with self._as("worker"):
            self._conn.execute("select from sweep(), promote()")

    def complete(self, claims: Sequence[Claim]) -> list[int]:
        return self._report("select unnest(complete(%s, %s, %s, %s))", claims)

    def fail(self, claim: Claim, reason: str) -> list[int]:
        call = "select unnest(fail(%s, %s, %s, %s, p_retry_in_seconds => '{0}', p_reasons => %s))"
        return self._report(call, [claim], [reason])

    def _report(self, call: LiteralString, claims: Sequence[Claim], *more: object) -> list[int]:
        fence = [
            self._worker,
            [claim.tenant_id for claim in claims],
            [claim.job_id for claim in claims],
            [claim.attempt for claim in claims],
        ]
        with self._as("worker"), self._conn.cursor(row_factory=scalar_row) as cursor:
            return cursor.execute(call, [*fence, *more]).fetchall()

    def state(self, tenant: Tenant, job: UUID) -> str:
        with self._as("backend"), self._conn.cursor(row_factory=scalar_row) as cursor:
            self._enter(tenant)
            state = cursor.execute("select state from get_job(%s, %s)", [tenant.tenant_id, job]).fetchone()
        return str(state) if state else "not found"

    def attempts(self, tenant: Tenant, job: UUID) -> list[Attempt]:
        with self._as("backend"), self._conn.cursor(row_factory=class_row(Attempt)) as cursor:
            self._enter(tenant)
            cursor.execute(
                "select attempt, outcome, started_at, ended_at, reason from list_attempts(%s, %s) order by attempt",
                [tenant.tenant_id, job],
            )
            return cursor.fetchall()

    def peek(self, tenant: Tenant, other: Tenant) -> int:
        """How many jobs of another tenant this one can see."""
        with self._as("backend"), self._conn.cursor(row_factory=scalar_row) as cursor:
            self._enter(tenant)
            seen = cursor.execute("select count(*) from job where tenant_id = %s", [other.tenant_id]).fetchone()
        assert isinstance(seen, int)  # noqa: S101 (count)
        return seen

    def leave(self) -> None:
        with self._as("worker"):
            self._conn.execute("select end_worker(%s)", [self._worker])

    def _enter(self, tenant: Tenant) -> None:
        self._conn.execute("select enter_tenant(%s, 'o', 'demo')", [tenant.tenant_id])

    def _as(self, role: str) -> "_Role":
        return _Role(self._conn, schema=self._schema, role=f"{self._schema}_{role}")


class _Role:
    """One transaction under a database role, with the schema on its path."""

    def __init__(self, conn: psycopg.Connection, *, schema: str, role: str) -> None:
        self._conn = conn
        self._schema = schema
        self._role = role
        self._transaction = conn.transaction()

    def __enter__(self) -> None:
        self._transaction.__enter__()
        self._conn.execute(sql.SQL("set local role {}").format(sql.Identifier(self._role)))
        self._conn.execute(sql.SQL("set local search_path = {}, pg_temp").format(sql.Identifier(self._schema)))

    def __exit__(self, *error: object) -> None:
        self._transaction.__exit__(*error)  # pyright: ignore[reportArgumentType]
