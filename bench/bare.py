"""The reference: a bare table under SKIP LOCKED, no tenant, no history, no fence, with its NOTIFY trigger."""

import time
from collections.abc import Sequence

from sessions import Session, Statement

__all__ = ["BARE_TABLE", "BareEnqueuer", "BareWorker"]

BARE_TABLE = """
create table public.bare_q (
    id bigint generated always as identity primary key,
    queue text not null,
    prio smallint not null default 0,
    payload jsonb not null,
    state smallint not null default 0,
    attempt smallint not null default 0,
    run_at timestamptz not null default now(),
    created_at timestamptz not null default now(),
    locked_at timestamptz,
    finished_at timestamptz
);
create index on public.bare_q (queue, prio, id) where state = 0;
create function public.bare_note() returns trigger language plpgsql as $$begin notify bare_q; return null; end$$;
create trigger bare_note after insert on public.bare_q for each statement execute function public.bare_note();
"""
# "= any (array(..))" keeps the planner on index lookups, and "order by prio, id" on the claim index: written otherwise,
# the loop walks finished rows or hashes the table, and a slow reference flatters whoever is measured by it.
CLAIM = """
update public.bare_q q set state = 1, locked_at = now(), attempt = attempt + 1
where id = any (array(
    select id from public.bare_q where queue = 'q' and state = 0 and run_at <= now()
    order by prio, id limit $1 for update skip locked
))
returning q.id, q.payload
"""
FINISH = "update public.bare_q set state = 2, finished_at = now() where id = any ($1::bigint[])"
ENQUEUE = "insert into public.bare_q (queue, payload) values ('q', $1::jsonb)"
ENQUEUE_MANY = "insert into public.bare_q (queue, payload) select 'q', p::jsonb from unnest($1::text[]) p"


class BareEnqueuer:
    def __init__(self, one: Statement, many: Statement) -> None:
        self._one = one
        self._many = many

    @classmethod
    async def on(cls, session: Session) -> "BareEnqueuer":
        return cls(await session.prepare(ENQUEUE), await session.prepare(ENQUEUE_MANY))

    async def enqueue(self, payload: str) -> None:
        await self._one.fetch(payload)

    async def enqueue_many(self, payloads: Sequence[str]) -> None:
        await self._many.fetch(payloads)


class BareWorker:
    def __init__(self, claim: Statement, finish: Statement) -> None:
        self._claim = claim
        self._finish = finish

    @classmethod
    async def on(cls, session: Session) -> "BareWorker":
        return cls(await session.prepare(CLAIM), await session.prepare(FINISH))

    async def step(self, jobs: int) -> int:
        rows = await self._claim.fetch(jobs)
        await self._finish.fetch([row[0] for row in rows])
        return len(rows)

    async def drain(self, jobs: int, *, until: float) -> int:
        """Claims and finishes so many at a time until that moment; answers how many were done."""
        count = 0
        while time.perf_counter() < until:
            done = await self.step(jobs)
            count += done
            if done < jobs:
                break
        return count
