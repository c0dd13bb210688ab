"""What the bench stands on: a durable server of its own, databases with the heart and the bare table side by side."""

import hashlib
import hmac
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import UUID

import psycopg
from psycopg import sql

from bare import BARE_TABLE
from laneway.database.install import install
from laneway.devserver import DevServer, ServerOptions
from sessions import Session, open_session

__all__ = ["SETTINGS", "Ground", "Signer", "lay_ground", "serve", "tenant_id"]

SETTINGS = {
    "shared_buffers": "1GB",
    "min_wal_size": "4GB",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "15min",
    "jit": "off",
}
TENANTS = 10_000
QUEUES = ("q", "other")
DEFINITIONS = {"work": "q", "parked": "q", "elsewhere": "other"}
LOGINS = {"worker": "laneway_worker", "app": "laneway_app"}
KID = "bench"

ROLES = """do $$
begin
    if not exists (select from pg_roles where rolname = {login}) then
        create role {name} login password {login} in role {group};
    end if;
end
$$"""
TENANT_ROWS = """
with number as (
    select i, ('00000000-0000-0000-0001-' || lpad(to_hex(i), 12, '0'))::uuid as id from generate_series(1, %s) i
),
control as (insert into laneway.tenant_control (tenant_id) select n.id from number n)
insert into laneway.tenant (tenant_id, slug, created_at) select n.id, 't' || n.i, clock_timestamp() from number n
"""
# as enqueue_many leaves them: a thousand jobs of one call share their time
JOB_ROWS = """
with due as (select clock_timestamp() - interval '1 hour' as at),
put as (
    insert into laneway.job
        (tenant_id, def_id, id, queue_id, max_attempts, priority, source, run_at, created_by, payload)
    select ('00000000-0000-0000-0001-' || lpad(to_hex({first} + g % {tenants}), 12, '0'))::uuid, d.def_id,
        laneway.new_id(), d.queue_id, 3, 100, 0, due.at + g / 1000 * interval '1 millisecond', 'bench', '{{"t0": 0}}'
    from generate_series(0, {jobs} - 1) g cross join due
    join laneway.definition d on d.key = '{definition}'
    returning *
)
"""
READY_ROWS = """
insert into laneway.live
    (rank, ready_at, tenant_id, job_id, queue_id, def_id, attempt, max_attempts, priority, releases,
    state, is_strict, is_cancel_requested, is_keyed)
select p.run_at + p.priority * interval '60 seconds', p.run_at, p.tenant_id, p.id, p.queue_id, p.def_id, 0, 3,
    p.priority, 0, 0, false, false, false
from put p
"""
LATER_ROWS = """
insert into laneway.later
    (due_at, tenant_id, job_id, queue_id, def_id, attempt, max_attempts, priority, releases, is_keyed)
select p.run_at + interval '1 day', p.tenant_id, p.id, p.queue_id, p.def_id, 0, 3, p.priority, 0, false
from put p
"""
# A server of an hour has touched all its memory and writes WAL into segments that it had before. One that has just
# started clears each page and each segment first: 30 % of an insert's CPU, more for whoever writes more.
WARM = (
    "create table public.scratch (filler text)",
    "insert into public.scratch select repeat('x', 2000) from generate_series(1, 600000)",
    "drop table public.scratch",
)
EMPTY = "truncate laneway.live, laneway.later, laneway.job, laneway.attempt, public.bare_q"
ANALYZE = "vacuum (analyze) laneway.live, laneway.later, laneway.job, laneway.attempt, public.bare_q"


def tenant_id(number: int) -> UUID:
    return UUID(f"00000000-0000-0000-0001-{number:012x}")


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs tenant contexts as a client does: good for ten minutes, made anew after five."""

    key: bytes
    kept: dict[UUID, tuple[float, str]] = field(default_factory=dict[UUID, tuple[float, str]])

    def token(self, tenant: UUID) -> str:
        now = time.time()
        made, token = self.kept.get(tenant, (0.0, ""))
        if now - made > 300:
            text = f"{KID}.t.{tenant}.o.{int(now) + 600}.bench"
            token = f"{text}.{hmac.new(self.key, text.encode(), hashlib.sha256).hexdigest()}"
            self.kept[tenant] = (now, token)
        return token


@dataclass(frozen=True, slots=True)
class Ground:
    """One database with both contenders in it."""

    server: DevServer
    database: str
    signer: Signer

    async def session(self, login: str | None = None) -> Session:
        """As the superuser, or as the login of a role."""
        name = f"laneway_bench_{login}" if login else None
        return await open_session(self.server.dsn(self.database, user=name, password=name))

    def run(self, *statements: str) -> None:
        """As the superuser, straight into the tables: what is not measured."""
        with psycopg.connect(self.server.dsn(self.database), autocommit=True) as conn:
            for statement in statements:
                conn.execute(statement.encode())

    def empty(self) -> None:
        self.run(EMPTY)

    def analyze(self) -> None:
        self.run(ANALYZE)

    def put_jobs(self, jobs: int, *, tenants: int = 1, first: int = 1, definition: str = "work") -> None:
        """Ready jobs of the heart, of as many tenants in turn."""
        self.run(JOB_ROWS.format(jobs=jobs, tenants=tenants, first=first, definition=definition) + READY_ROWS)

    def put_later_jobs(self, jobs: int) -> None:
        """Jobs of the heart that are not due for a day, in the lane of the ready ones."""
        self.run(JOB_ROWS.format(jobs=jobs, tenants=1, first=1, definition="work") + LATER_ROWS)

    def put_bare_jobs(self, jobs: int) -> None:
        self.run(
            f"insert into public.bare_q (queue, payload) select 'q', '{{\"t0\": 0}}' from generate_series(1, {jobs})"
        )


@contextmanager
def serve() -> Generator[DevServer]:
    """A server of the bench's own: on disk and durable, warm, removed when the bench ends."""
    with DevServer(ServerOptions(ephemeral=True, durable=True, settings=SETTINGS)) as server:
        _warm(server)
        yield server


def _warm(server: DevServer) -> None:
    with psycopg.connect(server.dsn(), autocommit=True) as conn:
        for _ in range(2):
            for statement in WARM:
                conn.execute(statement)
        conn.execute("checkpoint")


def lay_ground(server: DevServer, database: str) -> Ground:
    """A database with the schema installed and its partitions made, tenants, definitions, logins and the bare table."""
    with psycopg.connect(server.dsn(), autocommit=True) as conn:
        conn.execute(sql.SQL("create database {}").format(sql.Identifier(database)))
    ground = Ground(server, database, Signer(hashlib.sha256(database.encode()).digest()))
    with psycopg.connect(server.dsn(database), autocommit=True) as conn:
        install(conn)
        _make_logins(conn)
        conn.execute("set search_path = laneway, pg_temp")
        conn.execute("select add_context_key(%s, %s)", [KID, ground.signer.key])
        conn.execute("reset search_path")
        conn.execute(TENANT_ROWS, [TENANTS])
        conn.execute("select count(*) from laneway.sync_definitions('bench', %s)", [_declared()])
        conn.execute(BARE_TABLE)
        conn.execute("analyze")
    return ground


def _make_logins(conn: psycopg.Connection) -> None:
    for login, group in LOGINS.items():
        name = f"laneway_bench_{login}"
        statement = sql.SQL(ROLES).format(
            login=sql.Literal(name), name=sql.Identifier(name), group=sql.Identifier(group)
        )
        conn.execute(statement)


def _declared() -> str:
    declared = ", ".join(f'"{key}": {{"queue": "{queue}"}}' for key, queue in DEFINITIONS.items())
    return f"{{{declared}}}"
