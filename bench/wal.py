"""What does a job write and touch on its whole way: enqueue, claim, complete? What of it stays on disk?"""

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bare import BareEnqueuer, BareWorker
from ground import Ground
from heart import Enqueuer, Worker
from rounds import Bench, Line
from sessions import Session

__all__ = ["TITLE", "ask"]

TITLE = "WAL, buffers and disk per job: enqueue by 500, claim and complete by 100"
PAYLOADS = (20, 500, 4096)
PER_CALL = 500
BATCH = 100

WAL = "select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint"
FLUSH = "select pg_stat_force_next_flush()"
BUFFERS = """
select sum(hits + reads + extends)::bigint from pg_stat_io where backend_type = 'client backend' and object = 'relation'
"""
HEART_DISK = """
select sum(pg_total_relation_size(i.inhrelid))::bigint
from pg_inherits i where i.inhparent in ('laneway.job'::regclass, 'laneway.attempt'::regclass)
"""
BARE_DISK = "select pg_total_relation_size('public.bare_q')"


@dataclass(frozen=True, slots=True)
class Spent:
    wal: float
    buffers: float
    disk: float


async def ask(bench: Bench) -> list[Line]:
    ground = bench.ground("bench")
    lines: list[Line] = []
    for size in PAYLOADS:
        jobs = bench.sizes.sample if size < 4096 else bench.sizes.sample // 4
        payloads = [_payload(size) for _ in range(jobs)]
        # the bytes have no noise: one round, and the first use of each statement is left to a warm-up
        await _measure(ground, payloads[:PER_CALL])
        bare, heart = await _measure(ground, payloads)
        lines += _lines(size, bare, heart)
    return lines


def _lines(size: int, bare: Spent, heart: Spent) -> list[Line]:
    return [
        Line(
            figure=f"{kind}-{size}",
            title=f"{title} per job, payload of {size:,} bytes",
            unit=unit,
            measured=[mine],
            reference=[other],
        )
        for kind, title, unit, mine, other in (
            ("wal", "WAL", "bytes", heart.wal, bare.wal),
            ("buffers", "buffers", "pages", heart.buffers, bare.buffers),
            ("disk", "disk of a finished job", "bytes", heart.disk, bare.disk),
        )
    ]


def _payload(size: int) -> str:
    # random text, so that no compression makes it small for either
    return f'{{"t0": "{secrets.token_urlsafe(size)[: size - 10]}"}}'


async def _measure(ground: Ground, payloads: list[str]) -> tuple[Spent, Spent]:
    ground.empty()
    # its own writes do not belong to a job, and its visits move pages that are counted
    ground.run(
        "alter table laneway.live set (autovacuum_enabled = off)",
        "alter table public.bare_q set (autovacuum_enabled = off)",
    )
    plain, app, worker = await ground.session(), await ground.session("app"), await ground.session("worker")
    try:
        bare_enqueuer, bare_worker = await BareEnqueuer.on(plain), await BareWorker.on(plain)
        enqueuer, heart_worker = await Enqueuer.on(app, ground.signer), await Worker.on(worker)
        bare = await _spend(plain, [plain], payloads, bare_enqueuer.enqueue_many, bare_worker.step, BARE_DISK)
        heart = await _spend(plain, [app, worker], payloads, enqueuer.enqueue_many, heart_worker.step, HEART_DISK)
    finally:
        for session in (plain, app, worker):
            await session.close()
        ground.run(
            "alter table laneway.live reset (autovacuum_enabled)",
            "alter table public.bare_q reset (autovacuum_enabled)",
        )
    return bare, heart


async def _spend(
    look: Session,
    spenders: list[Session],
    payloads: list[str],
    enqueue_many: Callable[[list[str]], Awaitable[None]],
    step: Callable[[int], Awaitable[int]],
    disk: str,
) -> Spent:
    jobs = len(payloads)
    empty = await look.fetchval(disk)
    before = await _now(look, spenders)
    for start in range(0, jobs, PER_CALL):
        await enqueue_many(payloads[start : start + PER_CALL])
    while await step(BATCH) == BATCH:
        pass
    after = await _now(look, spenders)
    wal, buffers = (float(end - start) / jobs for start, end in zip(before, after, strict=True))
    return Spent(wal, buffers, (await look.fetchval(disk) - empty) / jobs)


async def _now(look: Session, spenders: list[Session]) -> tuple[int, int]:
    for session in spenders:
        await session.fetchval(FLUSH)
        # the flush comes with the end of the next statement
        await session.fetchval("select 1")
    return await look.fetchval(WAL), await look.fetchval(BUFFERS)
