"""Two tenants with a job in each situation, and who may ask about them: what the access tests stand on."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID, uuid4

import psycopg
from psycopg import sql

from kit.database import Database
from kit.signing import sign
from kit.template import STRICT
from laneway.database.names import GROUPS

__all__ = ["TABLES", "Answer", "Tenant", "World"]

TABLES = """
select c.relname::text from pg_class c
where c.relnamespace = 'laneway'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition order by 1
"""


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant's id and the ids of its jobs by their situation."""

    tenant_id: UUID
    jobs: Mapping[str, UUID]


@dataclass(frozen=True, slots=True)
class Answer:
    """All that a caller gets to see: rows, or an error with every field of it."""

    rows: tuple[tuple[object, ...], ...] = ()
    error: tuple[tuple[str, str], ...] = ()

    @property
    def sqlstate(self) -> str | None:
        return dict(self.error).get("sqlstate")

    def without(self, *ids: UUID) -> "Answer":
        """The same with these ids taken out: what is left must not tell them apart."""

        def cut(value: object) -> object:
            text = str(value)
            for unwanted in ids:
                text = text.replace(str(unwanted), "<id>")
            return text

        return Answer(
            tuple(tuple(cut(value) for value in row) for row in self.rows),
            tuple((name, str(cut(value))) for name, value in self.error),
        )


_ERROR_FIELDS = (
    "sqlstate",
    "severity",
    "message_primary",
    "message_detail",
    "message_hint",
    "context",
    "schema_name",
    "table_name",
    "column_name",
    "datatype_name",
    "constraint_name",
)


def error_fields(error: psycopg.Error) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name in _ERROR_FIELDS if (value := getattr(error.diag, name)) is not None)


class World:
    """The seeded database, with a connection for each role's own login. Only calls that were refused are committed."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.owner = database.connect()
        self.worker = uuid4()
        self._prepare()
        self.mine = self._seed_tenant("acme")
        self.theirs = self._seed_tenant("zeta")
        self.nobody = Tenant(uuid4(), {name: uuid4() for name in self.mine.jobs})
        self.strict = dict(zip(STRICT, (self.mine.tenant_id, self.theirs.tenant_id), strict=True))
        for login, tenant in self.strict.items():
            self.owner.execute("select map_login(%s, %s, 'a')", [f"lw_test_{login}", tenant])
        self.logins = {role: database.connect(role=role, autocommit=False) for role in (*GROUPS, *STRICT)}
        self._checksum = sql.SQL(" union all ").join(
            sql.SQL("select {}, md5(coalesce(string_agg(t::text, ';' order by t::text), '')) from {} t").format(
                sql.Literal(name), sql.Identifier(name)
            )
            for (name,) in self.owner.execute(TABLES).fetchall()
        )

    def _prepare(self) -> None:
        # a place of the clients' own, for what they may try from there
        self.owner.execute("create schema client")
        self.owner.execute("grant all on schema client to public")
        self.owner.execute("""select from sync_definitions('main', '{"echo": {"max_attempts": 3}}')""")
        self.owner.execute(
            "select from register_worker(%s, 'here', 1, '1', 8, array['default'], array['echo'])", [self.worker]
        )

    def _seed_tenant(self, slug: str) -> Tenant:
        row = self.owner.execute("select create_tenant(%s)", [slug]).fetchone()
        assert row is not None
        tenant = row[0]
        enqueue = "p_dedupe_key => 'twin'", "", "", "p_delay_seconds => 3600", "p_idempotency_key => 'once'"
        twin, failed, succeeded, scheduled, queued = (self._enqueue(tenant, options) for options in enqueue)
        self._claim(tenant, twin, failed, succeeded)
        self._report("fail", tenant, failed, "p_permanent => array[true]")
        self._report("complete", tenant, succeeded, "")
        waiting = self._enqueue(tenant, "p_dedupe_key => 'twin', p_dedupe => 'requeue'")
        with self.owner.transaction():
            self.owner.execute("select set_config('laneway.ctx', %s, true)", [sign(tenant)])
            self.owner.execute("select pause_lane(%s, 'echo', 'by the seed')", [tenant])
        return Tenant(
            tenant,
            {
                "running": twin,
                "failed": failed,
                "succeeded": succeeded,
                "scheduled": scheduled,
                "queued": queued,
                "waiting": waiting,
            },
        )

    def _enqueue(self, tenant: UUID, options: str) -> UUID:
        with self.owner.transaction():
            self.owner.execute("select set_config('laneway.ctx', %s, true)", [sign(tenant)])
            row = self.owner.execute(
                f"select job_id from enqueue(p_tenant => %s, p_definition => 'echo'{', ' if options else ''}{options})",
                [tenant],
            ).fetchone()
        assert row is not None
        assert row[0] is not None
        return row[0]

    def _claim(self, tenant: UUID, *jobs: UUID) -> None:
        found = self.owner.execute(
            "select job_id from claim_tenant(%s, %s, 'default', array[1], %s)", [tenant, self.worker, len(jobs)]
        ).fetchall()
        assert {job for (job,) in found} == set(jobs)

    def _report(self, verb: str, tenant: UUID, job: UUID, options: str) -> None:
        row = self.owner.execute(
            f"select {verb}(%s, array[%s]::uuid[], array[%s]::uuid[], array[1]{', ' if options else ''}{options})",
            [self.worker, tenant, job],
        ).fetchone()
        assert row == ([1],)

    def names(self, tenant: UUID, target: Tenant) -> dict[str, object]:
        """Arguments for a call: this tenant's id, the jobs of that one."""
        return {"tenant": tenant, "worker": self.worker, "nobody": uuid4(), **target.jobs}

    def ask(
        self, role: str, statement: str, names: Mapping[str, object], *, token: str | None = None, keep: bool = False
    ) -> Answer:
        """One transaction of the role's own login: context, statement, and what came of it.

        Logins of strict mode are mapped: asked as that of the token's tenant; without one, as a login that is not.
        """
        conn = self.logins[self._strict_login(token) if role == "tenant" else role]
        try:
            if token is not None:
                conn.execute("select set_config('laneway.ctx', %s, true)", [token])
            cursor = conn.execute(sql.SQL(statement), names)
            answer = Answer(rows=tuple(cursor.fetchall()) if cursor.description is not None else ())
            if keep:
                conn.commit()
        except psycopg.Error as error:
            return Answer(error=error_fields(error))
        else:
            return answer
        finally:
            conn.rollback()

    def _strict_login(self, token: str | None) -> str:
        return next((login for login, tenant in self.strict.items() if token and str(tenant) in token), "tenant")

    def checksum(self) -> dict[str, str]:
        """Of every table, as the superuser sees it."""
        return dict(self.owner.execute(self._checksum).fetchall())

    @cached_property
    def functions(self) -> dict[str, str]:
        """Every function of the schema with the types of its arguments."""
        return dict(
            self.owner.execute(
                "select p.proname::text, array_to_string(array(select format('(select null::%s)', format_type(t, null))"
                " from unnest(p.proargtypes) with ordinality as a (t, place) order by place), ', ')"
                " from pg_proc p where p.pronamespace = 'laneway'::regnamespace"
            ).fetchall()
        )
