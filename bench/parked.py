"""What does a claim cost with a million jobs parked, in each way a job can be in the way, to the same without them?"""

import time
from dataclasses import dataclass

from ground import Ground, tenant_id
from heart import Worker
from rounds import Bench, Line, compare, interleave

__all__ = ["TITLE", "ask", "claim_cost"]

TITLE = "Claim by 100 beside a million parked jobs, to the same claim without them"
BATCH = 100
REASON = "the bench parks its jobs"


@dataclass(frozen=True, slots=True)
class Way:
    """One way to be parked: whose jobs, of which definition, and what holds them back."""

    name: str
    title: str
    tenant: int = 1
    definition: str = "work"
    hold: tuple[str, ...] = ()
    free: tuple[str, ...] = ()


LATER = (
    "with gone as (delete from laneway.live returning *)"
    """
insert into laneway.later
    (due_at, tenant_id, job_id, queue_id, def_id, attempt, max_attempts, priority, releases, is_keyed)
select clock_timestamp() + interval '1 day' + row_number() over () * interval '1 millisecond',
    g.tenant_id, g.job_id, g.queue_id, g.def_id, 0, 3, g.priority, 0, false
from gone g
"""
)
WAYS = (
    Way("later", "not due, same lane", hold=(LATER,)),
    Way("queue", "another queue", definition="elsewhere"),
    Way(
        "tenant",
        "lane of a paused tenant",
        tenant=2,
        hold=(f"select laneway.pause_tenant('{tenant_id(2)}', '{REASON}')",),
        free=(f"select laneway.resume_tenant('{tenant_id(2)}', '{REASON}')",),
    ),
    Way(
        "definition",
        "paused definition",
        definition="held",
        hold=(f"select laneway.pause_definition('held', '{REASON}')",),
        free=(f"select laneway.resume_definition('held', '{REASON}')",),
    ),
    Way("nobody", "lane that no worker can run", definition="foreign"),
)


async def ask(bench: Bench) -> list[Line]:
    return [await _ask_way(bench, way) for way in WAYS]


async def _ask_way(bench: Bench, way: Way) -> Line:
    small, large = bench.ground("bench"), bench.ground("parked")
    for ground in (small, large):
        ground.empty()
    large.put_jobs(bench.sizes.parked, first=way.tenant, definition=way.definition)
    # as the superuser: the owner's functions, with no context to ask for
    large.run("set search_path to laneway, pg_temp", *way.hold)
    for ground in (small, large):
        ground.put_jobs(bench.sizes.backlog // 3)
        ground.analyze()
    try:
        return await claim_cost(
            bench, small, large, figure=f"parked-{way.name}", title=f"{bench.sizes.parked:,} parked: {way.title}"
        )
    finally:
        large.run("set search_path to laneway, pg_temp", *way.free)


async def claim_cost(bench: Bench, small: Ground, large: Ground, *, figure: str, title: str) -> Line:
    """The time of claims alone, without that of the completions between them and of the disk."""
    sessions = [await small.session("worker"), await large.session("worker")]
    for session in sessions:
        await session.execute("set synchronous_commit = off")
    workers = [await Worker.on(session) for session in sessions]
    try:
        measured = await interleave(
            bench.rounds,
            {
                "small": lambda: _cost(workers[0], bench.sizes.slice_seconds),
                "large": lambda: _cost(workers[1], bench.sizes.slice_seconds),
            },
        )
    finally:
        for session in sessions:
            await session.close()
    return compare(measured, "large", to="small", figure=figure, title=title, unit="us/job")


async def _cost(worker: Worker, seconds: float) -> float:
    worker.claim_seconds = 0.0
    count = await worker.drain(BATCH, until=time.perf_counter() + seconds)
    return worker.claim_seconds / count * 1e6
