"""The heart as its clients call it: an application that enqueues, and two kinds of worker, under their own logins."""

import time
from collections.abc import Sequence
from uuid import UUID, uuid4

from ground import DEFINITIONS, Signer, tenant_id
from laneway.turns import Found, Share, Taken, Turns, quantum_of
from sessions import Row, Session, Statement

__all__ = ["RUNNABLE", "Enqueuer", "TurnsWorker", "Worker"]

ENQUEUE = "select job_id, created from laneway.enqueue($1, 'work', $2, p_token => $3)"
# a loader asks for what it must look at; the bare loop answers nothing at all
ENQUEUE_MANY = "select value from laneway.enqueue_many($1, array['work'], $2, p_token => $3) where not created"
REGISTER = "select def_id from laneway.register_worker($1, 'bench', 1, '1', 1000, array['q'], $2)"
JOB = "tenant_id, def_id, rank, job_id, attempt, timeout_seconds, payload"
CLAIM = f"""
select {JOB}, next_after, next_left, next_def, lane_tenants, lane_defs, lane_weights, lane_floors, is_ring
from laneway.claim($1, 'q', $2, $3, $4, p_quantum => $5, p_max_lanes => $6, p_look => $7, p_after_def => $8)
"""
COMPLETE = "select laneway.complete($1, $2, $3, $4)"
FINISH_AND_CLAIM = f"""
select {JOB}, answers from laneway.finish_and_claim($1, 'q', $2, $3, $4, null, $5, $6, $7, $8)
"""
ACCEPTED = 1
BUSY = 3
MAX_LANES = 256
LOOK = 100_000
RUNNABLE = tuple(key for key, queue in DEFINITIONS.items() if queue == "q")


class Enqueuer:
    """One session of an application; every call carries the signed context of its tenant."""

    def __init__(self, one: Statement, many: Statement, signer: Signer) -> None:
        self._one = one
        self._many = many
        self._signer = signer

    @classmethod
    async def on(cls, session: Session, signer: Signer) -> "Enqueuer":
        return cls(await session.prepare(ENQUEUE), await session.prepare(ENQUEUE_MANY), signer)

    async def enqueue(self, payload: str, *, tenant: int = 1) -> None:
        who = tenant_id(tenant)
        rows = await self._one.fetch(who, payload, self._signer.token(who))
        if not rows[0][1]:
            raise RuntimeError("enqueue: the job was refused; look at its refusal")

    async def enqueue_many(self, payloads: Sequence[str], *, tenant: int = 1) -> None:
        who = tenant_id(tenant)
        refused = await self._many.fetch(who, payloads, self._signer.token(who))
        if refused:
            raise RuntimeError(
                f"enqueue_many: {len(refused)} of {len(payloads)} jobs were refused; look at its refusals"
            )


class Worker:
    """Claims and completes in separate calls."""

    def __init__(self, id_: UUID, claim: Statement, complete: Statement) -> None:
        self._id = id_
        self._claim = claim
        self._complete = complete
        self.after: UUID | None = None
        self.left = 0
        self._after_definition: int | None = None
        self.claim_seconds = 0.0

    @classmethod
    async def on(cls, session: Session, definitions: Sequence[str] = RUNNABLE) -> "Worker":
        return cls(await _register(session, definitions), await session.prepare(CLAIM), await session.prepare(COMPLETE))

    async def claim(self, jobs: int) -> list[Row]:
        began = time.perf_counter()
        *rows, trailer = await self._claim.fetch(
            self._id, jobs, self.after, self.left, quantum_of(jobs), MAX_LANES, 0, self._after_definition
        )
        self.claim_seconds += time.perf_counter() - began
        self.after, self.left, self._after_definition = trailer[7], trailer[8], trailer[9]
        return rows

    async def complete(self, rows: Sequence[Row]) -> None:
        while rows:
            rows = _still_busy(rows, await self._complete.fetchval(self._id, *_reports(rows)))

    async def step(self, jobs: int) -> int:
        rows = await self.claim(jobs)
        await self.complete(rows)
        return len(rows)

    async def drain(self, jobs: int, *, until: float) -> int:
        """Claims and completes so many at a time until that moment; answers how many were done."""
        count = 0
        while time.perf_counter() < until:
            done = await self.step(jobs)
            count += done
            if done < jobs:
                break
        return count


class TurnsWorker:
    """Reports and claims in one call over the lanes it knows, by `Turns`, with full claims when they are due."""

    def __init__(self, id_: UUID, claim: Statement, complete: Statement, finish_and_claim: Statement) -> None:
        self._id = id_
        self._claim = claim
        self._complete = complete
        self._finish_and_claim = finish_and_claim
        self._held: list[Row] = []
        self.turns = Turns()

    @classmethod
    async def on(cls, session: Session) -> "TurnsWorker":
        return cls(
            await _register(session, RUNNABLE),
            await session.prepare(CLAIM),
            await session.prepare(COMPLETE),
            await session.prepare(FINISH_AND_CLAIM),
        )

    async def step(self, jobs: int) -> list[Row]:
        """Reports what it holds and holds the next ones, and what was busy; answers the next ones."""
        if self.turns.is_full_claim_due(jobs, now=time.monotonic()):
            await self.finish()
            rows = await self._claim_from_all(jobs)
        else:
            rows = await self._claim_from_known(self.turns.share(jobs))
        self._held += rows
        return rows

    async def finish(self) -> None:
        while self._held:
            self._held = _still_busy(self._held, await self._complete.fetchval(self._id, *_reports(self._held)))

    async def drain(self, jobs: int, *, until: float) -> int:
        """Claims and completes so many at a time until that moment; answers how many were done."""
        count = 0
        dry = 0
        while time.perf_counter() < until and dry < 2:
            done = len(await self.step(jobs))
            count += done
            dry = 0 if done else dry + 1
        await self.finish()
        return count

    async def _claim_from_all(self, jobs: int) -> list[Row]:
        began = time.monotonic()
        *rows, trailer = await self._claim.fetch(
            self._id,
            jobs,
            self.turns.after,
            self.turns.left,
            quantum_of(jobs),
            MAX_LANES,
            LOOK,
            self.turns.after_definition,
        )
        now = time.monotonic()
        found = Found(
            after=trailer[7],
            left=trailer[8],
            after_definition=trailer[9],
            tenants=trailer[10],
            definitions=trailer[11],
            weights=trailer[12],
            floors=trailer[13],
            is_ring=trailer[14],
        )
        self.turns.found(found, _taken(rows), wanted=jobs, now=now, seconds=now - began)
        return rows

    async def _claim_from_known(self, share: Share) -> list[Row]:
        *rows, trailer = await self._finish_and_claim.fetch(
            self._id, *_reports(self._held), share.tenants, share.definitions, share.quotas, share.floors
        )
        self.turns.took(share, _taken(rows))
        self._held = _still_busy(self._held, trailer[7])
        return rows


def _reports(rows: Sequence[Row]) -> tuple[list[UUID], list[UUID], list[int]]:
    return [row[0] for row in rows], [row[3] for row in rows], [row[4] for row in rows]


def _taken(rows: Sequence[Row]) -> list[Taken]:
    return [Taken(row[0], row[1], row[2]) for row in rows]


async def _register(session: Session, definitions: Sequence[str]) -> UUID:
    id_ = uuid4()
    await session.fetch(REGISTER, id_, definitions)
    return id_


def _still_busy(rows: Sequence[Row], answers: Sequence[int]) -> list[Row]:
    """What must be said again: another worker's claim had locked the row in passing."""
    if not all(answer in (ACCEPTED, BUSY) for answer in answers):
        raise RuntimeError(f"complete: {len(rows)} jobs were reported, the answers are {answers}; none may be stale")
    return [row for row, answer in zip(rows, answers, strict=True) if answer == BUSY]
