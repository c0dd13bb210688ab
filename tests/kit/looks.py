"""What tests see of a database: a job's state and history, and all rows of all tables for comparing."""

import json
from collections import Counter
from typing import Any, TypeAlias
from uuid import UUID

from kit.answers import Attempt
from kit.speaker import Speaker

ATTEMPTS = """
    select a.attempt, outcome_word(a.outcome), state_word(a.final_state), a.ready_at, a.started_at, a.ended_at,
        a.worker_id, a.reason, a.error, a.result
    from attempt a where a.job_id = %s order by a.attempt
"""
# ready, running, scheduled, retrying, waiting, or the state in which it ended
PHASE = """
    select coalesce(
        (select case l.state when 1 then 'running' else 'ready' end from live l where l.job_id = %(job)s),
        (select case when l.attempt > 0 then 'retrying' else 'scheduled' end from later l where l.job_id = %(job)s),
        (select 'waiting' from waiting w where w.job_id = %(job)s),
        (select state_of(j.tenant_id, j.id) from job j where j.id = %(job)s))
"""
TABLES = """
    select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = current_schema() and c.relkind in ('r', 'p') and not c.relispartition
    order by 1
"""

Row: TypeAlias = dict[str, Any]
Surface: TypeAlias = dict[str, list[Row]]


class Looks(Speaker):
    """Questions that change nothing."""

    def state(self, job: UUID) -> str | None:
        """queued, running, succeeded, failed, dead_letter or canceled; None where there is no such job."""
        rows = self.rows("select state_of(j.tenant_id, j.id) from job j where j.id = %s", [job])
        return rows[0][0] if rows else None

    def phase(self, job: UUID) -> str | None:
        """The state, with queued told apart: ready, scheduled, retrying or waiting."""
        return self.rows(PHASE, {"job": job})[0][0]  # type: ignore[arg-type]

    def attempts(self, job: UUID) -> list[Attempt]:
        return [Attempt(*row) for row in self.rows(ATTEMPTS, [job])]

    def row(self, table: str, job: UUID) -> Row | None:
        """The row of a job in live, later, waiting or job."""
        column = "id" if table == "job" else "job_id"
        rows = self.rows(f"select to_jsonb(t) from {table} t where t.{column} = %s", [job])
        return rows[0][0] if rows else None

    def count(self, table: str) -> int:
        return self.one(f"select count(*) from {table}")[0]

    def surface(self) -> Surface:
        """All rows of all tables, in one snapshot and in an order of their own."""
        tables = [name for (name,) in self.rows(TABLES)]
        each = " union all ".join(f"select '{name}', to_jsonb(t) from {name} t" for name in tables)
        found: Surface = {name: [] for name in tables}
        for name, row in self.rows(each):
            found[name].append(row)
        return {name: sorted(rows, key=as_text) for name, rows in found.items()}

    def verify(self) -> None:
        """All invariants hold."""
        from laneway.verify import verify  # noqa: PLC0415 -- tests that do not verify run without it

        violations = verify(self.conn)
        assert not violations, "\n".join(str(violation) for violation in violations)


def as_text(row: Row) -> str:
    return json.dumps(row, sort_keys=True)


def difference(before: Surface, after: Surface) -> dict[str, tuple[list[Row], list[Row]]]:
    """Per table that changed: the rows that are gone and the rows that are new."""
    changed: dict[str, tuple[list[Row], list[Row]]] = {}
    for table in sorted(before.keys() | after.keys()):
        old = Counter(map(as_text, before.get(table, [])))
        new = Counter(map(as_text, after.get(table, [])))
        if old != new:
            changed[table] = (rows_of(old - new), rows_of(new - old))
    return changed


def rows_of(texts: Counter[str]) -> list[Row]:
    return [json.loads(text) for text in sorted(texts.elements())]
