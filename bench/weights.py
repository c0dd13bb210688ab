"""Is 10 to 1 ten to one, at every size of call, with two tenants and with a hundred?"""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from ground import Ground, tenant_id
from heart import TurnsWorker, Worker
from rounds import Bench, Line, alone
from sessions import Row

__all__ = ["TITLE", "ask"]

TITLE = "Jobs of the tenant with weight 10 to those of the others with weight 1 (mean)"
SIZES = (1, 2, 32)
TENANTS = (2, 100)
HEAVY = 1
RINGS = 20
WEIGH = "update laneway.tenant_control set weight = {weight} where tenant_id = '{tenant}'"


async def ask(bench: Bench) -> list[Line]:
    ground = bench.ground("bench")
    ground.run(WEIGH.format(weight=10, tenant=tenant_id(HEAVY)))
    try:
        return [line for tenants in TENANTS for line in await _ask_of(ground, tenants)]
    finally:
        ground.run(WEIGH.format(weight=1, tenant=tenant_id(HEAVY)))


async def _ask_of(ground: Ground, tenants: int) -> list[Line]:
    ground.empty()
    jobs = max((tenants + 9) * RINGS, 440)
    ground.put_jobs(tenants * 300, tenants=tenants)
    ground.put_jobs(10 * jobs, first=HEAVY)
    sessions = [await ground.session("worker"), await ground.session("worker")]
    separate, turns = await Worker.on(sessions[0]), await TurnsWorker.on(sessions[1])

    async def claim_and_complete(jobs: int) -> Sequence[Row]:
        rows = await separate.claim(jobs)
        await separate.complete(rows)
        return rows

    lines: list[Line] = []
    try:
        for size in SIZES:
            calls = jobs // size
            for name, step in (("claim", claim_and_complete), ("turns", turns.step)):
                lines.append(
                    alone(
                        [await _ratio(step, size, calls=calls)],
                        figure=f"weights-{name}",
                        title=f"{name}, {tenants} tenants, by {size}, {calls} calls",
                        unit="to 1",
                    )
                )
        await turns.finish()
    finally:
        for session in sessions:
            await session.close()
    return lines


async def _ratio(step: Callable[[int], Awaitable[Sequence[Row]]], size: int, *, calls: int) -> float:
    counts: Counter[str] = Counter()
    for _ in range(calls):
        counts.update(str(row[0]) for row in await step(size))
    heavy = counts.pop(str(tenant_id(HEAVY)), 0)
    return heavy / (counts.total() / len(counts))
