"""How fast do a thousand jobs per call go in?"""

import time
from collections.abc import Awaitable, Callable

from bare import BareEnqueuer
from heart import Enqueuer
from rounds import Bench, Line, compare, interleave

__all__ = ["TITLE", "ask"]

TITLE = "Bulk enqueue, 1,000 jobs per call, one client"
JOBS = 1000


async def ask(bench: Bench) -> list[Line]:
    ground = bench.ground("bench")
    ground.empty()
    app, plain = await ground.session("app"), await ground.session()
    heart, bare = await Enqueuer.on(app, ground.signer), await BareEnqueuer.on(plain)
    payloads = ['{"t0": 0}'] * JOBS
    seconds = bench.sizes.slice_seconds * 2
    lines: list[Line] = []
    try:
        for tenants, figure in ((1, "bulk"), (20, "bulk-20")):
            measured = await interleave(
                bench.rounds,
                {
                    "bare": lambda: _rate(lambda _: bare.enqueue_many(payloads), seconds),
                    "heart": lambda tenants=tenants: _rate(
                        lambda call: heart.enqueue_many(payloads, tenant=1 + call % tenants), seconds
                    ),
                },
            )
            title = f"1,000 per call, {tenants} tenant{'s' if tenants > 1 else ''}"
            lines.append(compare(measured, "heart", to="bare", figure=figure, title=title, unit="jobs/s"))
            # who comes behind twenty tenants no longer inserts at the end of an index
            ground.empty()
    finally:
        await app.close()
        await plain.close()
    return lines


async def _rate(call: Callable[[int], Awaitable[None]], seconds: float) -> float:
    began = time.perf_counter()
    count = 0
    while time.perf_counter() - began < seconds:
        await call(count)
        count += 1
    return count * JOBS / (time.perf_counter() - began)
