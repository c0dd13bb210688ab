"""How fast do single jobs go in, and what does the doorbell cost while nobody sleeps?"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from bare import BareEnqueuer
from ground import Ground
from heart import Enqueuer
from rounds import Bench, Line, compare, interleave
from sessions import Session

__all__ = ["TITLE", "ask"]

TITLE = "Single enqueue, one job per transaction"
CLIENTS = (1, 8, 16)
PAYLOAD = '{"t0": 0}'


async def ask(bench: Bench) -> list[Line]:
    ground = bench.ground("bench")
    lines: list[Line] = []
    for clients in CLIENTS:
        ground.empty()
        lines += await _ask_of(bench, ground, clients)
    ground.run("update laneway.setting set doorbell = true")
    return lines


async def _ask_of(bench: Bench, ground: Ground, clients: int) -> list[Line]:
    apps = [await ground.session("app") for _ in range(clients)]
    plain = [await ground.session() for _ in range(clients)]
    hearts = [await Enqueuer.on(session, ground.signer) for session in apps]
    bares = [await BareEnqueuer.on(session) for session in plain]
    switch = plain[0]

    async def heart_with(doorbell: str) -> float:
        await switch.execute(f"update laneway.setting set doorbell = {doorbell}")
        return await _rate([heart.enqueue for heart in hearts], bench.sizes.slice_seconds * 2)

    try:
        measured = await interleave(
            bench.rounds,
            {
                "bare": lambda: _rate([bare.enqueue for bare in bares], bench.sizes.slice_seconds * 2),
                "doorbell": lambda: heart_with("true"),
                "silent": lambda: heart_with("false"),
            },
        )
    finally:
        await _close([*apps, *plain])
    who = f"{clients} client{'s' if clients > 1 else ''}"
    return [
        compare(measured, "doorbell", to="bare", figure=f"single-{clients}", title=who, unit="jobs/s"),
        compare(
            measured,
            "doorbell",
            to="silent",
            figure=f"doorbell-{clients}",
            title=f"{who}, doorbell on to off, nobody asleep",
            unit="jobs/s",
        ),
    ]


async def _rate(clients: Sequence[Callable[[str], Awaitable[None]]], seconds: float) -> float:
    began = time.perf_counter()
    until = began + seconds

    async def one(enqueue: Callable[[str], Awaitable[None]]) -> int:
        count = 0
        while time.perf_counter() < until:
            await enqueue(PAYLOAD)
            count += 1
        return count

    counts = await asyncio.gather(*[one(client) for client in clients])
    return sum(counts) / (time.perf_counter() - began)


async def _close(sessions: Sequence[Session]) -> None:
    for session in sessions:
        await session.close()
