"""The database of the machine, and its rows as the model tells of jobs."""

from typing import Any
from uuid import UUID

import psycopg
from machine_draws import ABLE, DEFINITIONS, WEIGHTS

from kit.database import Database
from language import Heart

# all that an example writes
WRITTEN = ("job", "live", "later", "waiting", "attempt", "job_key", "handover", "stuck", "tenant_pair")
PHASES = """
    select job_id, case state when 1 then 'running' else 'ready' end, attempt, max_attempts, releases, rank, expires_at,
        worker_id, until, deadline, is_cancel_requested
    from live
    union all
    select job_id, 'later', attempt, max_attempts, releases, due_at, expires_at, null, null, null, null from later
    union all
    select job_id, 'waiting', 0, max_attempts, 0, run_at, expires_at, null, null, null, null from waiting
"""
HISTORY = """
    select job_id, attempt, outcome_word(outcome), state_word(final_state) from attempt order by job_id, attempt
"""


class Place:
    """The database of all examples: emptied before each of them, so that its connections stay warm."""

    def __init__(self, database: Database) -> None:
        self.hearts = [Heart(database) for _ in range(3)]
        self.holder = database.connect(autocommit=False)
        for heart in self.hearts:
            heart.rows("set lock_timeout = '5s'")
        heart = self.hearts[0]
        heart.sync(
            {
                key: {name: getattr(definition, name) for name in definition.__slots__} | {"backoff_jitter": 0}
                for key, definition in DEFINITIONS.items()
            }
        )
        heart.set_queue("express", is_strict=True)
        self.tenants = [heart.tenant("acme"), heart.tenant("rival", weight=WEIGHTS[1])]
        self.workers = [heart.worker(keys).id for keys in ABLE]
        self.def_ids = {key: heart.def_id(key) for key in DEFINITIONS}
        self._audited = [each for (each,) in heart.rows("select id from audit")]

    def empty(self) -> None:
        self.holder.rollback()
        heart = self.hearts[0]
        with heart.transaction():
            for table in WRITTEN:
                heart.rows(f"delete from {table}")
            heart.rows("delete from audit where id <> all (%s)", [self._audited])
            heart.rows("update queue set paused_at = null")
            heart.rows("update definition set paused_at = null")
            heart.rows("update tenant_control set paused_at = null, suspended_at = null")
            heart.rows("update pass_lock set reached = null")
        # the waits of lost attempts are drawn by the server: the same example is to be the same history
        for each in self.hearts:
            each.rows("select setseed(0.5)")


def seen(conn: psycopg.Connection) -> dict[UUID, tuple[Any, ...]]:
    """By job, in the words of `world_state.look`."""
    histories, ends = read_history(conn)
    found = {job: (*standing, histories.pop(job, ())) for job, standing in read_phases(conn)}
    return found | {job: ("ended", ends[job], history) for job, history in histories.items()}


def read_history(conn: psycopg.Connection) -> tuple[dict[UUID, tuple[tuple[int, str], ...]], dict[UUID, str | None]]:
    histories: dict[UUID, tuple[tuple[int, str], ...]] = {}
    ends: dict[UUID, str | None] = {}
    for job, attempt, outcome, end in conn.execute(HISTORY).fetchall():
        is_overruled = histories.get(job, ((1, ""),))[0][0] == 0
        ends[job] = ends[job] if is_overruled else end
        histories[job] = (*histories.get(job, ()), (attempt, outcome))
    return histories, ends


def read_phases(conn: psycopg.Connection) -> list[tuple[UUID, tuple[Any, ...]]]:
    """A job that stands in two phase tables would be lost in a dict: so it is said here."""
    rows = conn.execute(PHASES).fetchall()
    assert len({row[0] for row in rows}) == len(rows), f"a job in two places: {rows}"
    return [(row[0], standing(row)) for row in rows]


def standing(row: tuple[Any, ...]) -> tuple[Any, ...]:
    _, phase, attempt, max_attempts, releases, at, expires_at, worker, until, deadline, is_cancel_requested = row
    if phase == "running":
        return phase, attempt, max_attempts, worker, until, deadline, is_cancel_requested
    return phase, attempt, max_attempts, releases, at, expires_at
