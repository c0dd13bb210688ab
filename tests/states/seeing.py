"""What a verb did: the job as it looks now, and every row and column of every table that is not what it was."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg

from laneway.states import Situation

TABLES = """
    select c.relname::text, array_agg(a.attname::text order by a.attnum)
    from pg_class c
    join pg_index i on i.indrelid = c.oid and i.indisprimary
    join pg_attribute a on a.attrelid = c.oid and a.attnum = any (i.indkey)
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    group by c.relname
    order by 1
"""

Rows = dict[tuple[str, ...], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Sight:
    """All rows of all tables, by table and primary key."""

    rows: Rows


class Eye:
    """Looks at one install through one statement."""

    def __init__(self, conn: psycopg.Connection) -> None:
        self._keys: dict[str, list[str]] = dict(conn.execute(TABLES).fetchall())
        self._statement = " union all ".join(f"select '{name}', to_jsonb(t) from {name} t" for name in self._keys)

    def look(self, conn: psycopg.Connection) -> Sight:
        return Sight(
            {
                (name, *(str(row[column]) for column in self._keys[name])): row
                for name, row in conn.execute(self._statement).fetchall()
            }
        )


def effects(before: Sight, after: Sight) -> frozenset[str]:
    """As the transition table writes them: `live+`, `live-`, `live.until`."""
    found = {f"{key[0]}+" for key in after.rows.keys() - before.rows.keys()}
    found |= {f"{key[0]}-" for key in before.rows.keys() - after.rows.keys()}
    for key in before.rows.keys() & after.rows.keys():
        old, new = before.rows[key], after.rows[key]
        found |= {f"{key[0]}.{column}" for column in new if new[column] != old[column]}
    return frozenset(found)


def face(sight: Sight, job: UUID) -> str:
    """Where a job stands: the phase table that holds it and what it says, or how it ended."""
    faces = [
        f"{name} {row.get('state', '')} {row.get('is_cancel_requested', '')}".strip() for name, row in held(sight, job)
    ]
    assert len(faces) <= 1, f"a job in two phase tables: {faces}"
    return faces[0] if faces else end_of(sight, job)


def held(sight: Sight, job: UUID) -> list[tuple[str, dict[str, Any]]]:
    phases = {"live", "later", "waiting"}
    return [(key[0], row) for key, row in sight.rows.items() if key[0] in phases and row["job_id"] == str(job)]


def end_of(sight: Sight, job: UUID) -> str:
    ends = [row for key, row in sight.rows.items() if key[0] == "attempt" and row["job_id"] == str(job)]
    if not ends:
        return "absent"
    last = max(ends, key=lambda row: (row["attempt"] == 0, row["attempt"]))
    return f"ended {last['final_state']}"


FACES = {
    Situation.ABSENT: "absent",
    Situation.QUEUED: "live 0 False",
    Situation.PAUSED: "live 0 False",
    Situation.EXPIRED: "live 0 False",
    Situation.SCHEDULED: "later",
    Situation.DUE: "later",
    Situation.RETRYING: "later",
    Situation.SWEPT: "later",
    Situation.WAITING: "waiting",
    Situation.FREED: "waiting",
    Situation.RUNNING: "live 1 False",
    Situation.CANCEL_REQUESTED: "live 1 True",
    Situation.LEASE_OVER: "live 1 False",
    Situation.DEADLINE_OVER: "live 1 False",
    Situation.SUCCEEDED: "ended 1",
    Situation.FAILED: "ended 2",
    Situation.DEAD_LETTER: "ended 3",
    Situation.CANCELED: "ended 4",
    Situation.FORCED: "ended 4",
    Situation.CANCELED_UNSTARTED: "ended 4",
}
