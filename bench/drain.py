"""How fast do jobs come out and end, by the size of the calls and the number of tenants?"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bare import BareWorker
from heart import TurnsWorker, Worker
from rounds import Bench, Line, compare, interleave

__all__ = ["TITLE", "ask"]

TITLE = "Claim and complete, one worker: separate calls, and finish_and_claim with turns"
SIZES = (1, 10, 100, 500)


@dataclass(frozen=True, slots=True)
class Contenders:
    bare: BareWorker
    separate: Worker
    turns: TurnsWorker


async def ask(bench: Bench) -> list[Line]:
    return [line for tenants in bench.sizes.tenants for line in await _ask_of(bench, tenants)]


async def _ask_of(bench: Bench, tenants: int) -> list[Line]:
    ground = bench.ground("bench")
    ground.empty()
    ground.put_jobs(bench.sizes.backlog, tenants=tenants)
    ground.put_bare_jobs(bench.sizes.backlog * 2)
    ground.analyze()
    sessions = [await ground.session(), await ground.session("worker"), await ground.session("worker")]
    try:
        contenders = Contenders(
            await BareWorker.on(sessions[0]), await Worker.on(sessions[1]), await TurnsWorker.on(sessions[2])
        )
        return [line for size in SIZES for line in await _ask_by(bench, contenders, tenants=tenants, size=size)]
    finally:
        for session in sessions:
            await session.close()


async def _ask_by(bench: Bench, contenders: Contenders, *, tenants: int, size: int) -> list[Line]:
    def rate(drain: Callable[..., Awaitable[int]]) -> Callable[[], Awaitable[float]]:
        return lambda: _rate(drain, size, bench.sizes.slice_seconds)

    measured = await interleave(
        bench.rounds,
        {
            "bare": rate(contenders.bare.drain),
            "separate": rate(contenders.separate.drain),
            "turns": rate(contenders.turns.drain),
        },
    )
    who = f"{tenants:,} tenant{'s' if tenants > 1 else ''}, by {size}"
    figure = f"{tenants}-by-{size}"
    return [
        compare(measured, "separate", to="bare", figure=f"drain-{figure}", title=who, unit="jobs/s"),
        compare(measured, "turns", to="bare", figure=f"turns-{figure}", title=f"{who}, fused", unit="jobs/s"),
    ]


async def _rate(drain: Callable[..., Awaitable[int]], size: int, seconds: float) -> float:
    began = time.perf_counter()
    count = await drain(size, until=began + seconds)
    took = time.perf_counter() - began
    if took < seconds:
        raise RuntimeError(f"drain: the backlog ended after {count} jobs by {size}; give sizes.backlog more")
    return count / took
