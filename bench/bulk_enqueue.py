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
    try:
        measured = await interleave(
            bench.rounds,
            {
                "bare": lambda: _rate(lambda _: bare.enqueue_many(payloads), bench.sizes.slice_seconds * 2),
                "heart": lambda: _rate(lambda _: heart.enqueue_many(payloads), bench.sizes.slice_seconds * 2),
                "twenty": lambda: _rate(
                    lambda call: heart.enqueue_many(payloads, tenant=1 + call % 20), bench.sizes.slice_seconds * 2
                ),
            },
        )
    finally:
        await app.close()
        await plain.close()
    return [
        compare(measured, "heart", to="bare", figure="bulk", title="1,000 per call, one tenant", unit="jobs/s"),
        compare(measured, "twenty", to="bare", figure="bulk-20", title="1,000 per call, 20 tenants", unit="jobs/s"),
    ]


async def _rate(call: Callable[[int], Awaitable[None]], seconds: float) -> float:
    began = time.perf_counter()
    count = 0
    while time.perf_counter() - began < seconds:
        await call(count)
        count += 1
    return count * JOBS / (time.perf_counter() - began)
