"""What a hostile SQL client tries against the functions, policies and keys: its own tables, operators and views."""

import secrets
from collections.abc import Iterator

import psycopg
import pytest
from seeded_world import World

from kit.signing import sign


@pytest.fixture
def client(own_world: World) -> psycopg.Connection:
    """A session of an application's login that may make temporary tables and objects in a schema of its own."""
    own_world.owner.execute(f"grant temporary on database {own_world.database.name} to public")
    return own_world.database.connect(role="app")


def seen_as(client: psycopg.Connection, world: World, statement: str, *, token: str | None) -> list[tuple[object, ...]]:
    with client.transaction():
        if token is not None:
            client.execute("select laneway.enter(%s)", [token])
        return client.execute(statement, world.names(world.mine.tenant_id, world.mine)).fetchall()


SHADOWS = {
    "tenant_login": (
        "create temporary table tenant_login as select session_user as login, %(theirs)s::uuid as tenant_id,"
        " 'a' as scope"
    ),
    "context_key": (
        "create temporary table context_key as select 'mine' as kid, %(inner)s::bytea as inner_pad,"
        " %(outer)s::bytea as outer_pad, now() - interval '1 day' as not_before, null::timestamptz as not_after"
    ),
    "tenant_control": "create temporary table tenant_control (tenant_id uuid, suspended_at timestamptz)",
    "job": "create temporary table job (like laneway.job)",
    "setting": "create temporary table setting (doorbell boolean)",
}


@pytest.mark.parametrize("path", ["pg_temp, laneway", "laneway, pg_temp", "pg_temp, pg_catalog, laneway"])
def test_temp_table_shadow(own_world: World, client: psycopg.Connection, path: str):
    """Functions and policies go on reading the real tables, whatever the caller's own are called."""
    world, key = own_world, secrets.token_bytes(64)
    client.execute(f"set search_path = {path}")
    for statement in SHADOWS.values():
        client.execute(
            statement,
            {
                "theirs": world.theirs.tenant_id,
                "inner": bytes(byte ^ 0x36 for byte in key),
                "outer": bytes(byte ^ 0x5C for byte in key),
            },
        )
    mine = [(world.mine.tenant_id,)]
    assert seen_as(client, world, "select laneway.current_tenant()", token=None) == [(None,)]
    forged = sign(world.theirs.tenant_id, kid="mine", key=key)
    assert seen_as(client, world, "select laneway.current_tenant()", token=forged) == [(None,)]
    token = sign(world.mine.tenant_id)
    assert seen_as(client, world, "select distinct tenant_id from laneway.live", token=token) == mine
    made = seen_as(client, world, "select job_id from laneway.enqueue(%(tenant)s, 'echo')", token=token)
    assert world.owner.execute("select tenant_id from job where id = %s", made[0]).fetchall() == mine
    assert client.execute("select from pg_temp.job").fetchall() == []


def test_operator_hijack(own_world: World, client: psycopg.Connection):
    """Operators and functions of the caller's, better matches than the real ones, are never run by ours."""
    client.execute("create table client.seen (who text)")
    client.execute("grant all on client.seen to public")
    for left, right in (("uuid", "uuid"), ("text", "varchar"), ("name", "text"), ("integer", "integer")):
        name = f"client.spy_{left}_{right}"
        client.execute(
            f"create function {name}(l {left}, r {right}) returns boolean language plpgsql as"
            " $$ begin insert into client.seen values (current_user); return true; end $$"
        )
        client.execute(f"create operator client.= (leftarg = {left}, rightarg = {right}, function = {name})")
        client.execute(f"create operator client.<> (leftarg = {left}, rightarg = {right}, function = {name})")
    for name, arguments in (
        ("lower", "text"),
        ("length", "text"),
        ("clock", ""),
        ("now", ""),
        ("read_context", "text"),
    ):
        client.execute(
            f"create function client.{name}({arguments}) returns text language plpgsql as"
            " $$ begin insert into client.seen values (current_user); return 'hijacked'; end $$"
        )
    client.execute("set search_path = client, laneway, pg_catalog")
    token, world = sign(own_world.mine.tenant_id), own_world
    queued = seen_as(client, world, "select state from laneway.get_job(%(tenant)s, %(queued)s)", token=token)
    assert queued == [("queued",)]
    assert len(seen_as(client, world, "select from laneway.list_jobs(%(tenant)s)", token=token)) >= 5
    (canceled,) = seen_as(
        client, world, "select answer from laneway.cancel(%(tenant)s, array[%(queued)s]::uuid[])", token=token
    )
    assert canceled == ("canceled",)
    assert client.execute("select who from client.seen").fetchall() == []


def test_leaky_function(own_world: World, client: psycopg.Connection):
    """A function that costs nothing and tells what it sees is run on the caller's own rows alone."""
    told: list[str] = []
    client.add_notice_handler(lambda notice: told.append(notice.message_primary or ""))
    client.execute(
        "create function client.leak(t uuid, j uuid) returns boolean language plpgsql cost 0.0000001 as"
        " $$ begin raise notice '% %', t, j; return true; end $$"
    )
    for statement in (
        "select from laneway.job where client.leak(tenant_id, id)",
        "select from laneway.live where client.leak(tenant_id, job_id)",
        "select from laneway.live l join laneway.job j on client.leak(j.tenant_id, l.job_id)",
        "select from laneway.attempt where client.leak(tenant_id, job_id) order by client.leak(tenant_id, job_id)",
        "select from laneway.tenant where client.leak(tenant_id, tenant_id)",
    ):
        before = len(told)
        seen_as(client, own_world, statement, token=sign(own_world.mine.tenant_id))
        assert len(told) > before, statement
    assert {line.split()[0] for line in told} == {str(own_world.mine.tenant_id)}
    assert not {str(job) for job in own_world.theirs.jobs.values()} & {line.split()[1] for line in told}


def test_row_security_off(world: World):
    """It raises an error and opens nothing."""
    for role in ("app", "tenant", "admin"):
        conn = world.logins[role]
        conn.execute("set local row_security = off")
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            conn.execute("select from laneway.job")
        conn.rollback()


def test_fk_probe(world: World):
    """A foreign key of the client's own would tell existing ids from missing ones."""
    for table, columns in (("tenant", "(tenant_id)"), ("live", "(tenant_id, job_id)"), ("tenant_login", "(login)")):
        held = "login name" if table == "tenant_login" else "tenant_id uuid, job_id uuid"
        answer = world.ask(
            "app",
            f"create table client.probe ({held}, foreign key {columns} references laneway.{table} {columns})",
            {},
            token=sign(world.mine.tenant_id),
        )
        assert answer.sqlstate == "42501"


@pytest.fixture
def reader(own_world: World) -> Iterator[psycopg.Connection]:
    """A login of somebody who reads all tables of the server: a backup, a dashboard of the database's own."""
    name = f"reader_{secrets.token_hex(4)}"
    own_world.owner.execute(f"create role {name} login password 'reader' in role pg_read_all_data")
    conn = own_world.database.connect()
    conn.execute(f"set session authorization {name}")
    yield conn
    conn.close()
    own_world.owner.execute(f"drop role {name}")


def test_read_ctx_keys_as_read_all_data(own_world: World, reader: psycopg.Connection):
    """Row security is on for every table, so that who may read all tables reads no row of ours."""
    assert own_world.owner.execute("select count(*) > 0 from context_key").fetchone() == (True,)
    for (table,) in own_world.owner.execute(
        "select c.relname::text from pg_class c"
        " where c.relnamespace = 'laneway'::regnamespace and c.relkind in ('r', 'p')"
    ).fetchall():
        assert reader.execute(f"select from laneway.{table}").fetchall() == [], table


def test_audit_update(world: World):
    """Nobody changes what was written down: `audit` is append-only for all roles."""
    before = world.checksum()
    for role in world.logins:
        for statement in (
            "update laneway.audit set actor = 'nobody'",
            "delete from laneway.audit",
            "truncate laneway.audit",
            "insert into laneway.audit select * from laneway.audit",
        ):
            assert world.ask(role, statement, {}, token=sign(world.mine.tenant_id), keep=True).sqlstate == "42501"
    assert world.checksum() == before


SECRET = "hunter2-in-the-payload"
BAD = {
    "too deep": f"p_payload => (repeat('[', 40) || '\"{SECRET}\"' || repeat(']', 40))::jsonb",
    "too large": f"p_payload => jsonb_build_object('a', repeat('{SECRET}', 20000))",
    "priority": "p_priority => 1001",
    "delay": "p_delay_seconds => -1",
    "run_at": "p_run_at => 'infinity'",
    "expires": "p_expires_seconds => 0",
    "attempts": "p_max_attempts => 0",
    "timeout": "p_timeout_seconds => 0",
    "dedupe_key": "p_dedupe_key => ''",
    "dedupe": "p_dedupe => 'sometimes', p_dedupe_key => 'k'",
    "window": "p_dedupe_window_seconds => -1, p_dedupe_key => 'k'",
    "idempotency": "p_idempotency_key => ''",
    "labels": "p_labels => '[]'",
    "correlation": "p_correlation_id => ''",
    "unknown": "p_definition => 'nobody-knows-it'",
}


@pytest.mark.parametrize("case", BAD)
def test_error_detail_payload(world: World, case: str):
    """A refusal names the field, the value and the way out, and never the document beside it."""
    options = BAD[case]
    if "p_definition" not in options:
        options += ", p_definition => 'echo'"
    if "p_payload" not in options:
        options += f', p_payload => \'{{"password": "{SECRET}"}}\''
    answer = world.ask(
        "app",
        f"select * from laneway.enqueue(p_tenant => %(tenant)s, {options})",
        {"tenant": world.mine.tenant_id},
        token=sign(world.mine.tenant_id),
    )
    assert SECRET not in str(answer)
    assert answer.rows or answer.error


def test_no_error_of_a_constraint_reaches_a_caller(world: World):
    """What a check or a key would refuse is refused before, in words of ours: DETAIL would show the row."""
    names = world.names(world.mine.tenant_id, world.mine)
    for role, statement in (
        ("admin", "select laneway.create_tenant('acme')"),
        ("admin", "select laneway.create_tenant('Not A Slug')"),
        ("admin", "select laneway.create_tenant('other', p_tenant => %(tenant)s)"),
        ("admin", "select laneway.create_tenant('other', repeat('x', 201))"),
        ("admin", "select laneway.set_tenant_weight(%(tenant)s, 0, 'x')"),
        ("admin", "select laneway.set_tenant_weight(%(tenant)s, 100000, 'x')"),
        ("admin", "select laneway.map_login('somebody', %(tenant)s, 'x')"),
        ("admin", "select laneway.set_queue('a queue', null, null, 'why')"),
        ("admin", "select laneway.set_queue('default', null, 999999999, 'why')"),
        ("admin", """select laneway.override_definition('echo', '{"max_attempts": 0}', 'why')"""),
        ("admin", """select laneway.override_definition('echo', '{"backoff_kind": "list"}', 'why')"""),
        ("admin", """select from laneway.sync_definitions('main', '{"echo": {"priority": 1.5}}')"""),
        ("admin", """select from laneway.sync_definitions('main', '{"a b": {}}')"""),
        (
            "worker",
            "select from laneway.register_worker(%(worker)s, '', 1, '1', 1, array['default'], array['echo'])",
        ),
        (
            "worker",
            "select from laneway.register_worker(%(worker)s, 'h', 1, '1', 0, array['default'], array['echo'])",
        ),
    ):
        answer = world.ask(role, statement, names)
        assert answer.error, statement
        assert answer.sqlstate in {"22004", "22003", "22023", "54000", "P0002", "55000"}, (statement, answer.error)
        assert "message_detail" not in dict(answer.error)
        assert dict(answer.error)["message_hint"]
