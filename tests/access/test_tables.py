"""Every cell of access.csv that is about a table, view or sequence, and that the file names all there is."""

import pytest
from seeded_world import World
from test_functions import cell_of

from kit.signing import sign
from laneway.database.access import AccessRow
from laneway.database.names import GROUPS
from laneway.database.sqlfiles import SqlFiles

ROWS = SqlFiles.packaged().access.rows
RELATIONS = [row for row in ROWS if row.kind != "function"]
OWNED = [row.name for row in RELATIONS if row.holders(cell="own")]
WRITES = {
    "insert": "insert into laneway.{} default values",
    "update": "update laneway.{0} set {1} = {1}",
    "delete": "delete from laneway.{}",
    "truncate": "truncate laneway.{}",
    "lock": "lock table laneway.{} in access exclusive mode",
    "select for update": "select from laneway.{} for update",
    "references": "create table client.probe (id uuid references laneway.{})",
    "trigger": "create trigger probe after insert on laneway.{} execute function suppress_redundant_updates_trigger()",
    "alter": "alter table laneway.{} disable row level security",
    "policy": "create policy probe on laneway.{} using (true)",
    "drop": "drop table laneway.{}",
}


def rows_of(world: World, role: str, table: str, *, token: str | None) -> list[object]:
    answer = world.ask(role, f"select * from laneway.{table}", {}, token=token)
    assert not answer.error
    return sorted(map(str, answer.rows))


@pytest.mark.parametrize("role", GROUPS)
@pytest.mark.parametrize("row", RELATIONS, ids=lambda row: row.name)
def test_a_cell_says_which_rows_a_role_reads(world: World, row: AccessRow, role: str):
    cell = cell_of(row, role)
    mine, theirs = sign(world.mine.tenant_id), sign(world.theirs.tenant_id)
    everything = sorted(map(str, world.owner.execute(f"select * from {row.name}").fetchall()))
    if cell == "":
        for token in (mine, theirs, None):
            answer = world.ask(role, f"select * from laneway.{row.name}", {}, token=token)
            assert answer.sqlstate == "42501"
            assert answer.rows == ()
    elif cell == "any":
        for token in (mine, theirs, None):
            assert rows_of(world, role, row.name, token=token) == everything
    else:
        for tenant, token in ((world.mine, mine), (world.theirs, theirs)):
            own = world.owner.execute(f"select * from {row.name} where tenant_id = %s", [tenant.tenant_id]).fetchall()
            assert own, "the seed has no row here: nothing would be proved"
            assert rows_of(world, role, row.name, token=token) == sorted(map(str, own))
        assert rows_of(world, role, row.name, token=None) == []


@pytest.mark.parametrize("role", GROUPS)
@pytest.mark.parametrize("row", RELATIONS, ids=lambda row: row.name)
def test_no_role_writes_locks_or_changes_a_table(world: World, row: AccessRow, role: str):
    """`write_table_as_any_role`, `truncate`: SELECT is all that is ever granted."""
    found = world.owner.execute(
        "select a.attname::text from pg_attribute a"
        " where a.attrelid = %s::regclass and a.attnum > 0 and a.attidentity = '' order by a.attnum limit 1",
        [row.name],
    ).fetchone()
    assert found is not None
    before = world.checksum()
    for verb, statement in WRITES.items():
        answer = world.ask(role, statement.format(row.name, found[0]), {}, token=sign(world.mine.tenant_id), keep=True)
        assert answer.sqlstate == "42501", verb
    assert world.checksum() == before
    granted = world.owner.execute(
        "select p from unnest(array['insert', 'update', 'references']) p"
        " where has_any_column_privilege(%(role)s, %(table)s, p)"
        " union all select p from unnest(array['insert', 'update', 'delete', 'truncate', 'references', 'trigger']) p"
        " where has_table_privilege(%(role)s, %(table)s, p)",
        {"role": f"lw_test_{role}", "table": row.name},
    ).fetchall()
    assert granted == []


@pytest.mark.parametrize("role", GROUPS)
def test_no_role_reaches_a_partition_past_its_parent(world: World, role: str):
    partitions = world.owner.execute(
        "select c.relname::text from pg_class c where c.relnamespace = 'laneway'::regnamespace and c.relispartition"
        " and c.relkind = 'r'"
    ).fetchall()
    assert len(partitions) >= 3
    for (partition,) in partitions:
        answer = world.ask(role, f"select * from laneway.{partition}", {}, token=sign(world.mine.tenant_id))
        assert answer.sqlstate == "42501", partition


@pytest.mark.parametrize("table", OWNED)
def test_no_question_about_another_tenant_s_rows_finds_one(world: World, table: str):
    """By name, by count, by a join: the policy is under all of them."""
    token = sign(world.mine.tenant_id)
    names = {"theirs": world.theirs.tenant_id, "mine": world.mine.tenant_id}
    for statement in (
        f"select from laneway.{table} where tenant_id = %(theirs)s",
        f"select from laneway.{table} where tenant_id <> %(mine)s",
        f"select from laneway.{table} t join laneway.tenant o using (tenant_id) where o.slug = 'zeta'",
        f"select 1 where exists (select from laneway.{table} where tenant_id = %(theirs)s)",
    ):
        answer = world.ask("app", statement, names, token=token)
        assert (answer.rows, answer.error) == ((), ())


def test_the_file_names_all_there_is_and_nothing_else(world: World):
    """Closed world, both ways: whatever is made later needs a row before a test passes."""
    found = world.owner.execute(
        """
        select case c.relkind when 'S' then 'sequence' when 'v' then 'view' when 'm' then 'materialized view'
            when 'f' then 'foreign table' else 'table' end, c.relname::text
        from pg_class c
        where c.relnamespace = 'laneway'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
            and not c.relispartition
            and not exists (select from pg_depend d
                where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'i' and c.relkind = 'S')
        union all
        select 'function', p.proname::text from pg_proc p where p.pronamespace = 'laneway'::regnamespace
        """
    ).fetchall()
    assert sorted(found) == sorted((row.kind, row.name) for row in ROWS)


def test_no_role_uses_an_identity_sequence(world: World):
    """They belong to their columns: nobody reads how many definitions there are, or spends their numbers."""
    sequences = world.owner.execute(
        "select c.relname::text from pg_class c where c.relnamespace = 'laneway'::regnamespace and c.relkind = 'S'"
    ).fetchall()
    assert sequences
    for (sequence,) in sequences:
        for role in GROUPS:
            assert world.ask(role, f"select nextval('laneway.{sequence}')", {}).sqlstate == "42501"
            assert world.ask(role, f"select last_value from laneway.{sequence}", {}).sqlstate == "42501"
