"""The hot verbs, each said once in each of its forms, and the rows that make a backlog."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

import psycopg

from kit.clock import Clock
from language import LEASE, Claim, Heart, Worker

# Ids in the order of their number, at the clock's time, so that they lie in a partition of its own.
BACKLOG = """
    with backlog as materialized (
        select n, (left(id_at(clock())::text, 19) || '9000-' || lpad(to_hex(n), 12, '0'))::uuid as id
        from generate_series(%(begin)s::bigint, %(end)s) n
    ),
    known as (
        select d.def_id, d.queue_id from definition d where d.key = 'echo'
    ),
    put as (
        insert into job (tenant_id, def_id, id, queue_id, max_attempts, priority, source, run_at, payload)
        select %(tenant)s, k.def_id, b.id, k.queue_id, 3, 100, 0, clock(), '{}' from backlog b cross join known k
    )
    insert into live (rank, ready_at, tenant_id, job_id, queue_id, def_id, attempt, max_attempts, priority, releases,
        state, is_strict, is_cancel_requested, is_keyed)
    select clock() + b.n * interval '1 ms', clock(), %(tenant)s, b.id, k.queue_id, k.def_id, 0, 3, 100, 0,
        0, false, false, false
    from backlog b cross join known k
"""
PARKED = """
    insert into later (due_at, tenant_id, job_id, queue_id, def_id, attempt, max_attempts, priority, releases, is_keyed)
    select clock() + n * interval '1 hour', %(tenant)s, gen_random_uuid(), d.queue_id, d.def_id, 0, 3, 100, 0, false
    from definition d cross join generate_series(1, %(rows)s) n where d.key = 'echo'
"""
WAITING = """
    insert into waiting (tenant_id, job_id, queue_id, def_id, max_attempts, priority, is_keyed, run_at)
    select %(tenant)s, gen_random_uuid(), d.queue_id, d.def_id, 3, 100, true, clock()
    from definition d cross join generate_series(1, %(rows)s) n where d.key = 'echo'
"""
HISTORY = """
    insert into attempt (tenant_id, job_id, ready_at, started_at, ended_at, attempt, def_id, queue_id, outcome,
        final_state)
    select %(tenant)s, j.id, clock(), clock(), clock(), 1000, j.def_id, j.queue_id, 1, 1 + (row_number() over ()) %% 4
    from job j where j.tenant_id = %(tenant)s limit %(rows)s
"""
KEYS = """
    insert into job_key (tenant_id, def_id, kind, key, job_id)
    select %(tenant)s, d.def_id, 2, 'kept ' || n, gen_random_uuid()
    from definition d cross join generate_series(1, %(rows)s) n where d.key = 'echo'
"""
PHASES = ("queued", "scheduled", "retrying", "waiting", "running")
PAGE = "select count(*) from list_jobs(p_tenant => %s, p_state => %s, p_definition => %s, p_queue => %s, p_limit => 50)"


def fill(conn: psycopg.Connection, tenant: UUID, rows: int) -> None:
    """A backlog, and as many rows in every other hot table; nothing is analyzed."""
    conn.execute(BACKLOG, {"tenant": tenant, "begin": 1, "end": rows})
    for statement in (PARKED, WAITING, HISTORY, KEYS):
        conn.execute(statement, {"tenant": tenant, "rows": rows})


@dataclass(slots=True)
class Scene:
    """Two tenants and a worker."""

    heart: Heart
    acme: UUID
    other: UUID
    worker: Worker

    def claims(self, n: int = 4) -> list[Claim]:
        """Jobs in hand; prepared outside of what is looked at."""
        self.heart.enqueue_many(self.other, [{}] * n)
        return self.of_other(n)

    def of_other(self, n: int) -> list[Claim]:
        return self.heart.claim_tenant(self.worker, self.other, [self.heart.def_id()], n)

    def page(self, state: str | None, definition: str | None, queue: str | None) -> None:
        with self.heart.transaction():
            self.heart.rows("select enter_tenant(%s, 'r', 'tester')", [self.acme])
            self.heart.rows(PAGE, [self.acme, state, definition, queue])


def enqueue_keyed(scene: Scene) -> None:
    for policy in ("skip", "replace", "requeue", "error"):
        scene.heart.enqueue(scene.acme, dedupe_key="k", dedupe=policy, dedupe_window_seconds=5)
        scene.heart.enqueue(scene.acme, idempotency_key=f"i {policy}")


def enqueue_many(scene: Scene) -> None:
    scene.heart.enqueue_many(scene.acme, [{}] * 20)
    scene.heart.enqueue_many(scene.acme, [{"dedupe_key": str(n), "delay_seconds": n} for n in range(20)])


def end_a_keyed_job(scene: Scene) -> None:
    job = scene.heart.job(scene.other, dedupe_key="ends")
    scene.worker.complete([claim for claim in scene.of_other(1000) if claim.job_id == job])


def sweep_the_lost(scene: Scene) -> None:
    scene.claims()
    Clock(scene.heart.conn).move(LEASE + 1)
    scene.heart.sweep()


def operate(scene: Scene) -> None:
    ready, parked = scene.heart.job(scene.acme), scene.heart.job(scene.acme, delay_seconds=60)
    running = scene.claims(1)[0].job_id
    scene.heart.reschedule(scene.acme, [ready, parked], delay_seconds=30)
    scene.heart.run_now(scene.acme, [parked])
    scene.heart.cancel(scene.acme, [ready, parked])
    scene.heart.cancel(scene.other, [running])
    scene.heart.retry(scene.acme, [ready])
    scene.heart.force_cancel(scene.acme, [ready])


def list_pages(scene: Scene) -> None:
    for state in (None, *PHASES, "canceled"):
        scene.page(state, None, None)
    for state in (None, "queued", "failed"):
        scene.page(state, "echo", None)
    # its ends are looked up one by one, a plan for each: once is enough
    scene.page("succeeded", None, "default")


# name: what is said, and the hot tables that it must be seen to touch
VERBS: dict[str, tuple[Callable[[Scene], object], set[str]]] = {
    "enqueue": (lambda scene: scene.heart.enqueue(scene.acme), {"live", "job"}),
    "enqueue_keyed": (enqueue_keyed, {"live", "job", "job_key"}),
    "enqueue_many": (enqueue_many, {"live", "job", "later", "job_key"}),
    "claim": (lambda scene: scene.worker.claim(10), {"live", "job"}),
    "claim_tenant": (
        lambda scene: scene.heart.claim_tenant(scene.worker, scene.acme, [scene.heart.def_id()], 10),
        {"live", "job"},
    ),
    "finish_and_claim": (
        lambda scene: scene.worker.finish_and_claim(
            scene.claims(), lanes=[(scene.acme, scene.heart.def_id())], quotas=[10]
        ),
        {"live", "job", "attempt"},
    ),
    "complete": (lambda scene: scene.worker.complete(scene.claims()), {"live", "attempt"}),
    "complete_late": (lambda scene: [scene.worker.complete(claims) for claims in [scene.claims()] * 2], {"attempt"}),
    "end_a_keyed_job": (end_a_keyed_job, {"job_key", "attempt"}),
    "extend": (lambda scene: scene.worker.extend(scene.claims()), {"live"}),
    "fail": (lambda scene: scene.worker.fail(scene.claims()), {"live", "attempt", "later", "job"}),
    "snooze": (lambda scene: scene.worker.snooze(scene.claims(), delays_seconds=[5] * 4), {"live", "later"}),
    "release": (lambda scene: scene.worker.release(scene.claims()), {"live", "attempt"}),
    "cancel_attempt": (lambda scene: scene.worker.cancel_attempt(scene.claims()), {"live", "attempt"}),
    "sweep": (sweep_the_lost, {"live", "attempt"}),
    "promote": (lambda scene: scene.heart.promote(), {"live", "later"}),
    "expire": (lambda scene: scene.heart.expire(), {"live", "later", "waiting", "job_key"}),
    "operate": (operate, {"live", "later", "attempt", "job"}),
    "list_jobs": (list_pages, {"live", "later", "waiting", "attempt", "job"}),
}
