"""Every cell of access.csv that is about a function, asked by the role's own login."""

import pytest
from calls import CALLS, SCOPES
from seeded_world import Answer, World

from kit.signing import sign
from laneway.database.access import AccessRow
from laneway.database.names import GROUPS, MEMBERSHIPS
from laneway.database.sqlfiles import SqlFiles

ROWS = [row for row in SqlFiles.packaged().access.rows if row.kind == "function"]
OWNED = [row.name for row in ROWS if row.holders(cell="own")]
# a token in an argument is as good as one in the setting
TAKE_TOKENS = [name for name in OWNED if CALLS[name].scope]
NO_CONTEXT = {
    "sqlstate": "42501",
    "message_primary": "context: not allowed",
    "message_hint": "Enter a tenant context with the scope this verb needs.",
    "column_name": "context",
    "constraint_name": "forbidden",
}


def cell_of(row: AccessRow, role: str) -> str:
    """What the role has, with what it inherits."""
    cells = dict(row.cells)
    for member, group in MEMBERSHIPS:
        cells[member] = cells[member] or cells[group]
    return cells[role]


def statement_of(world: World, name: str) -> str:
    arguments = CALLS[name].arguments if name in CALLS else world.functions[name]
    return f"select * from laneway.{name}({arguments})"


def require_no_context(answer: Answer) -> None:
    assert NO_CONTEXT.items() <= dict(answer.error).items()
    assert "message_detail" not in dict(answer.error)


@pytest.mark.parametrize("role", GROUPS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_cell_says_what_a_call_is_answered(world: World, row: AccessRow, role: str):
    cell = cell_of(row, role)
    statement = statement_of(world, row.name)
    own, other = world.mine, world.theirs
    token = sign(own.tenant_id)
    asked = {
        "own": (world.names(own.tenant_id, own), token),
        "other": (world.names(other.tenant_id, other), token),
        "none": (world.names(own.tenant_id, own), None),
    }
    before = world.checksum()
    for target, (names, context) in asked.items():
        answer = world.ask(role, statement, names, token=context)
        if cell == "":
            assert answer.sqlstate == "42501", target
            assert f"permission denied for function {row.name}" in dict(answer.error)["message_primary"]
        elif cell == "any" or target == "own":
            assert not answer.error, target
        elif target == "other":
            assert answer.sqlstate == "P0002"
        else:
            require_no_context(answer)
    assert world.checksum() == before


def test_every_function_that_is_granted_has_a_call_and_no_other():
    assert set(CALLS) == {row.name for row in ROWS if row.holders()}


def test_only_functions_of_the_caller_s_tenant_say_a_scope():
    assert {name for name, call in CALLS.items() if call.scope} == set(OWNED)


@pytest.mark.parametrize("role", ["app", "tenant"])
@pytest.mark.parametrize("name", OWNED)
def test_another_tenant_is_answered_exactly_like_one_that_does_not_exist(world: World, name: str, role: str):
    statement, token = statement_of(world, name), sign(world.mine.tenant_id)
    before = world.checksum()
    answers = [
        world.ask(role, statement, world.names(target.tenant_id, target), token=token, keep=True).without(
            target.tenant_id, *target.jobs.values()
        )
        for target in (world.theirs, world.nobody)
    ]
    assert answers[0] == answers[1]
    assert answers[0].sqlstate == "P0002"
    assert world.checksum() == before


@pytest.mark.parametrize("role", ["app", "tenant"])
@pytest.mark.parametrize("name", [name for name in OWNED if CALLS[name].names_jobs])
def test_a_job_of_another_tenant_is_answered_exactly_like_one_that_does_not_exist(world: World, name: str, role: str):
    statement, token = statement_of(world, name), sign(world.mine.tenant_id)
    before = world.checksum()
    answers = [
        world.ask(role, statement, world.names(world.mine.tenant_id, target), token=token, keep=True).without(
            *target.jobs.values()
        )
        for target in (world.theirs, world.nobody)
    ]
    assert answers[0] == answers[1]
    assert world.checksum() == before


@pytest.mark.parametrize("name", OWNED)
def test_a_function_does_to_the_other_tenant_s_rows_nothing_at_all(world: World, name: str):
    """Called for real, in a transaction of its own that is rolled back: what it changed is the caller's."""
    conn, token = world.database.connect(autocommit=False), sign(world.mine.tenant_id)
    tables = [
        table
        for (table,) in conn.execute(
            "select c.relname::text from pg_class c"
            " join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id'"
            " where c.relnamespace = 'laneway'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition"
        ).fetchall()
    ]

    def theirs() -> list[object]:
        return [
            conn.execute(
                f"select md5(string_agg(t::text, ';' order by t::text)) from {table} t where tenant_id <> %s",
                [world.mine.tenant_id],
            ).fetchone()
            for table in tables
        ]

    before = theirs()
    conn.execute("select set_config('laneway.ctx', %s, true)", [token])
    conn.execute("set local session authorization lw_test_app")
    rows = conn.execute(statement_of(world, name), world.names(world.mine.tenant_id, world.mine)).fetchall()
    conn.execute("reset session authorization")
    assert theirs() == before
    text = str(rows)
    assert not [unwanted for unwanted in (world.theirs.tenant_id, *world.theirs.jobs.values()) if str(unwanted) in text]
    conn.close()


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("name", OWNED)
def test_a_function_of_a_tenant_asks_for_its_scope(world: World, name: str, scope: str):
    least = CALLS[name].scope
    assert least is not None
    before = world.checksum()
    answer = world.ask(
        "app",
        statement_of(world, name),
        world.names(world.mine.tenant_id, world.mine),
        token=sign(world.mine.tenant_id, scope=scope),
    )
    if SCOPES.index(scope) < SCOPES.index(least):
        require_no_context(answer)
    else:
        assert not answer.error
    assert world.checksum() == before


@pytest.mark.parametrize("name", OWNED)
def test_a_token_may_come_with_the_call_itself(world: World, name: str):
    statement = f"select * from laneway.{name}({CALLS[name].arguments}, p_token => %(token)s)"
    names = world.names(world.mine.tenant_id, world.mine)
    assert not world.ask("app", statement, {**names, "token": sign(world.mine.tenant_id)}).error
    assert world.ask("app", statement, {**names, "token": sign(world.theirs.tenant_id)}).sqlstate == "P0002"
    require_no_context(world.ask("app", statement, {**names, "token": "no.token"}))
