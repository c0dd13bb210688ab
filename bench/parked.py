"""What does a claim cost with a million jobs parked, in each way a job can be in the way, to the same without them?"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from ground import Ground, tenant_id
from heart import RUNNABLE, Worker
from rounds import Bench, Line, compare, interleave

__all__ = ["TITLE", "ask", "claim_cost"]

TITLE = "Claim by 100 beside a million parked jobs, to the same claim without them"
BATCH = 100
PARKED_TENANT = 2
REASON = "the bench parks its jobs"


@dataclass(frozen=True, slots=True)
class Hold:
    """What holds back the lane that is there, or the worker from it."""

    name: str
    title: str
    hold: str = "select"
    free: str = "select"
    runnable: Sequence[str] = RUNNABLE


HOLDS = (
    Hold(
        "tenant",
        "lane of a paused tenant",
        hold=f"select laneway.pause_tenant('{tenant_id(PARKED_TENANT)}', '{REASON}')",
        free=f"select laneway.resume_tenant('{tenant_id(PARKED_TENANT)}', '{REASON}')",
    ),
    Hold(
        "definition",
        "paused definition",
        hold=f"select laneway.pause_definition('parked', '{REASON}')",
        free=f"select laneway.resume_definition('parked', '{REASON}')",
    ),
    Hold("nobody", "lane that no worker can run", runnable=("work",)),
)


async def ask(bench: Bench) -> list[Line]:
    small, large = bench.ground("bench"), bench.ground("parked")
    parked = bench.sizes.parked
    lines: list[Line] = []
    for name, title, park in (
        ("later", "not due, same lane", lambda: large.put_later_jobs(parked)),
        ("queue", "another queue", lambda: large.put_jobs(parked, definition="elsewhere")),
    ):
        small.empty()
        large.empty()
        park()
        lines.append(await _ask_beside(bench, small, large, Hold(name, title)))
    small.empty()
    large.empty()
    large.put_jobs(parked, first=PARKED_TENANT, definition="parked")
    return lines + [await _ask_beside(bench, small, large, hold) for hold in HOLDS]


async def _ask_beside(bench: Bench, small: Ground, large: Ground, hold: Hold) -> Line:
    for ground in (small, large):
        ground.put_jobs(bench.sizes.backlog // 4)
        ground.analyze()
    large.run(hold.hold)
    try:
        return await claim_cost(
            bench,
            (small, large),
            figure=f"parked-{hold.name}",
            title=f"{bench.sizes.parked:,} parked: {hold.title}",
            runnable=hold.runnable,
        )
    finally:
        large.run(hold.free)


async def claim_cost(
    bench: Bench, grounds: tuple[Ground, Ground], *, figure: str, title: str, runnable: Sequence[str] = RUNNABLE
) -> Line:
    """The time of claims alone, without that of the completions between them and of the disk."""
    sessions = [await ground.session("worker") for ground in grounds]
    for session in sessions:
        await session.execute("set synchronous_commit = off")
    workers = [await Worker.on(session, runnable) for session in sessions]
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
