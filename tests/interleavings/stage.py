"""What one order of steps is played on: a tenant of its own, its jobs by name, and what they look like afterwards."""

from typing import Any
from uuid import UUID

from kit.clock import Clock
from language import Claim, Heart, Worker

# Everything that a verb decides, and nothing that depends on when or where it was said.
PICTURE = """
    with mine as (select j.id as job_id, j.payload ->> 'name' as name from job j where j.tenant_id = %(tenant)s)
    select m.name,
        coalesce(
            (select case l.state when 1 then 'running' else 'ready' end
                || case when l.is_cancel_requested then ', asked' else '' end
                || ' after ' || l.attempt || ' of ' || l.max_attempts
                from live l where l.tenant_id = %(tenant)s and l.job_id = m.job_id),
            (select 'parked after ' || l.attempt || ' of ' || l.max_attempts
                from later l where l.tenant_id = %(tenant)s and l.job_id = m.job_id),
            (select 'waiting' from waiting w where w.tenant_id = %(tenant)s and w.job_id = m.job_id),
            'ended'),
        (select array_agg(
                concat_ws(' ', a.attempt, outcome_word(a.outcome), state_word(a.final_state)) order by a.attempt)
            from attempt a where a.tenant_id = %(tenant)s and a.job_id = m.job_id),
        (select array_agg(concat_ws(' ', k.kind, k.key, k.is_ended) order by k.kind, k.key)
            from job_key k where k.tenant_id = %(tenant)s and k.job_id = m.job_id)
    from mine m
    order by 1, 2, 3
"""
# An order that was judged leaves nothing to the next one: neither jobs to claim nor a history to look through.
STRIKE = "with " + ", ".join(
    f"from_{table} as (delete from {table} where tenant_id = %(tenant)s)"
    for table in (
        "live", "later", "waiting", "job_key", "handover", "attempt", "job", "audit", "tenant_pair", "tenant_control",
        "tenant",
    )
) + " select 1"  # fmt: skip


class Stage:
    """Set before each order and struck after it, so that no order sees another's jobs."""

    def __init__(self, heart: Heart, clock: Clock, worker: UUID, *, number: int) -> None:
        self.heart = heart
        self.clock = clock
        self.worker = worker
        self.tenant = heart.tenant(f"t{number}")
        self.jobs: dict[str, UUID] = {}
        self.claims: dict[str, Claim] = {}
        self.things: dict[str, Any] = {}

    def job(self, name: str, **options: Any) -> UUID:
        self.jobs[name] = self.heart.job(self.tenant, payload={"name": name}, **options)
        return self.jobs[name]

    def claimed(self, name: str, **options: Any) -> Claim:
        """A job that runs; nothing else is ready at that moment."""
        self.job(name, **options)
        (self.claims[name],) = self.heart.claim(self.worker)
        assert self.claims[name].job_id == self.jobs[name]
        return self.claims[name]

    def name_of(self, job: UUID | None) -> str | None:
        """The word for a job in answers: ids differ from order to order."""
        if job is None:
            return None
        rows = self.heart.rows(
            "select payload ->> 'name' from job where tenant_id = %s and id = %s", [self.tenant, job]
        )
        return rows[0][0] if rows else "not yet to be seen"

    def picture(self) -> list[tuple[Any, ...]]:
        return self.heart.rows(PICTURE, {"tenant": self.tenant})  # type: ignore[arg-type]

    def strike(self) -> None:
        self.heart.rows(STRIKE, {"tenant": self.tenant})  # type: ignore[arg-type]


class House:
    """Makes stages: one worker and one definition for all of them."""

    def __init__(self, heart: Heart, clock: Clock) -> None:
        self.heart = heart
        self.clock = clock
        heart.define("echo", max_attempts=5, backoff_kind="fixed", backoff_base_seconds=10, backoff_jitter=0)
        heart.define("mail", max_attempts=5)
        self.worker = Worker(heart, heart.worker(slots=100).id, queue="default").id
        self._number = 0

    def stage(self) -> Stage:
        self._number += 1
        return Stage(self.heart, self.clock, self.worker, number=self._number)
