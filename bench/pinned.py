"""How much slower does a deep lane drain while some old transaction keeps its dead entries from being removed?"""

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from ground import Ground
from heart import TurnsWorker
from rounds import Bench, Line

__all__ = ["TITLE", "ask"]

TITLE = "Drain of one lane by 500 under a pinned xmin, to the same without (finish_and_claim, floors)"
BATCH = 500
MARKS = (0.6, 1.0)
PIN = (
    "begin isolation level repeatable read",
    "select count(*) from pg_class",
    # an id of its own as well: an open transaction that has written
    "select pg_current_xact_id()",
)


async def ask(bench: Bench) -> list[Line]:
    """One run of each: the dead entries of the first 300,000 jobs are the same, whatever waits behind them."""
    ground = bench.ground("parked")
    marks = [int(bench.sizes.pinned * mark) for mark in MARKS]
    free = await _drain(ground, marks)
    async with _pinned(ground):
        pinned = await _drain(ground, marks)
    return [
        Line(
            figure=f"pinned-{round(500 * share)}k",
            title=f"{mark:,} jobs in one lane",
            unit="jobs/s",
            measured=[held],
            reference=[unheld],
        )
        for share, mark, held, unheld in zip(MARKS, marks, pinned, free, strict=True)
    ]


@asynccontextmanager
async def _pinned(ground: Ground) -> AsyncGenerator[None]:
    ground.empty()
    session = await ground.session()
    for statement in PIN:
        await session.execute(statement)
    try:
        yield
    finally:
        await session.execute("rollback")
        await session.close()


async def _drain(ground: Ground, marks: list[int]) -> list[float]:
    """Jobs per second from the start up to each mark."""
    ground.empty()
    ground.put_jobs(marks[-1])
    ground.analyze()
    session = await ground.session("worker")
    worker = await TurnsWorker.on(session)
    rates: list[float] = []
    began, count = time.perf_counter(), 0
    try:
        while count < marks[-1]:
            count += len(await worker.step(min(BATCH, marks[-1] - count)))
            if count >= marks[len(rates)]:
                rates.append(count / (time.perf_counter() - began))
        await worker.finish()
    finally:
        await session.close()
    return rates
