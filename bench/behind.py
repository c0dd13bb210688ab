"""How many claims until the only job of a tenant is served, beside a tenant with a million jobs in the same queue?"""

from random import Random
from uuid import UUID

from ground import tenant_id
from heart import Enqueuer, Worker
from rounds import Bench, Line, alone

__all__ = ["TITLE", "ask"]

TITLE = "A tenant with one job beside a tenant with a million, from random cursors"
BATCHES = (100, 10, 1)
GIVE_UP_AFTER = 50
BIG, LONE = 5_000, (4_000, 6_000)


async def ask(bench: Bench) -> list[Line]:
    ground = bench.ground("parked")
    ground.empty()
    ground.put_jobs(bench.sizes.parked, first=BIG)
    ground.analyze()
    app, session = await ground.session("app"), await ground.session("worker")
    enqueuer, worker = await Enqueuer.on(app, ground.signer), await Worker.on(session)
    try:
        return [await _ask_by(bench, enqueuer, worker, batch) for batch in BATCHES]
    finally:
        await session.close()
        await app.close()


async def _ask_by(bench: Bench, enqueuer: Enqueuer, worker: Worker, batch: int) -> Line:
    random = Random(7)  # noqa: S311 (cursors, no secrets)
    # its place in the ring is before the big one and behind it, in turn
    rounds = [
        float(await _rounds_until_served(enqueuer, worker, batch, lone=LONE[place % 2], random=random))
        for place in range(bench.sizes.tries)
    ]
    return alone(
        rounds, figure=f"behind-by-{batch}", title=f"claims by {batch} until served, {len(rounds)} tries", unit="claims"
    )


async def _rounds_until_served(enqueuer: Enqueuer, worker: Worker, batch: int, *, lone: int, random: Random) -> int:
    await enqueuer.enqueue('{"t0": 0}', tenant=lone)
    worker.after, worker.left = UUID(int=random.getrandbits(128)), 0
    for claims in range(1, GIVE_UP_AFTER + 1):
        rows = await worker.claim(batch)
        await worker.complete(rows)
        if any(row[0] == tenant_id(lone) for row in rows):
            return claims
    raise RuntimeError(f"behind: the job of tenant {lone} was not served by {GIVE_UP_AFTER} claims of {batch}")
