"""Do several workers on one lane, or on fifty, get more done than one?"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from bare import BareWorker
from ground import Ground
from heart import TurnsWorker
from rounds import Bench, Line, compare, interleave
from sessions import Session

__all__ = ["TITLE", "ask"]

TITLE = "1, 4 and 16 workers, by 50 (finish_and_claim)"
WORKERS = (1, 4, 16)
BATCH = 50
LANES = (1, 50)


async def ask(bench: Bench) -> list[Line]:
    ground = bench.ground("bench")
    lines: list[Line] = []
    for lanes in LANES:
        ground.empty()
        ground.put_jobs(bench.sizes.backlog, tenants=lanes)
        ground.put_bare_jobs(bench.sizes.backlog * 2)
        ground.analyze()
        lines += [await _ask_of(bench, ground, workers=workers, lanes=lanes) for workers in WORKERS]
    return lines


async def _ask_of(bench: Bench, ground: Ground, *, workers: int, lanes: int) -> Line:
    plain = [await ground.session() for _ in range(workers)]
    logins = [await ground.session("worker") for _ in range(workers)]
    bares = [await BareWorker.on(session) for session in plain]
    hearts = [await TurnsWorker.on(session) for session in logins]
    try:
        measured = await interleave(
            bench.rounds,
            {
                "bare": lambda: _rate([bare.drain for bare in bares], bench.sizes.slice_seconds),
                "heart": lambda: _rate([heart.drain for heart in hearts], bench.sizes.slice_seconds),
            },
        )
    finally:
        await _close([*plain, *logins])
    who = f"{workers} worker{'s' if workers > 1 else ''}, {lanes} lane{'s' if lanes > 1 else ''}"
    return compare(measured, "heart", to="bare", figure=f"claimers-{workers}-lanes-{lanes}", title=who, unit="jobs/s")


async def _rate(drains: Sequence[Callable[..., Awaitable[int]]], seconds: float) -> float:
    began = time.perf_counter()
    counts = await asyncio.gather(*[drain(BATCH, until=began + seconds) for drain in drains])
    return sum(counts) / (time.perf_counter() - began)


async def _close(sessions: Sequence[Session]) -> None:
    for session in sessions:
        await session.close()
