"""After an install: who owns what, who may what, and nothing for anybody else."""

import itertools

import psycopg
import pytest
from places import place_on
from releases import FIRST, changed

from laneway.database.names import GROUPS

TENANT = "00000000-0000-0000-0000-00000000000a"
OTHER = "00000000-0000-0000-0000-00000000000b"
EACH_NAME = pytest.mark.parametrize("place", ["plain", "odd"], indirect=True)


@EACH_NAME
def test_a_fresh_install_makes_everything_and_says_so(place):
    result = place.install(place.release(FIRST))
    assert result.was_applied
    assert result.migrations == ("0000_bookkeeping", "0001_notes")
    assert result.files == ("foundation.sql", "notes.sql")
    assert result.warnings == ()
    roles = place.run("select rolname from pg_roles where starts_with(rolname, %s)", f"{place.schema}_")
    assert {name for (name,) in roles} == {f"{place.schema}_{group}" for group in (*GROUPS, "owner")}


def test_a_second_install_has_nothing_to_do(place):
    files = place.release(FIRST)
    place.install(files)
    again = place.install(files)
    assert not again.was_applied
    assert (again.roles, again.migrations, again.files, again.warnings) == ((), (), (), ())


def test_the_name_of_the_schema_makes_no_difference(server, place, tmp_path):
    place.install(place.release(FIRST))
    with place_on(server, tmp_path / "odd", schema='Odd "Lane"-1.é') as odd:
        odd.install(odd.release(FIRST))
        assert place.catalogue().differences(odd.catalogue()) == ()
        assert odd.run("select by_version() in ('18', 'below')") == [(True,)]


@EACH_NAME
def test_everything_belongs_to_the_owner_and_nobody_else_may_create(place):
    place.install(place.release(FIRST))
    owners = place.run(
        """
        with here as (select oid, nspowner from pg_namespace where nspname = current_schema())
        select distinct pg_get_userbyid(o.owner)
        from (select relowner from pg_class join here on relnamespace = here.oid
              union all select proowner from pg_proc join here on pronamespace = here.oid
              union all select nspowner from here) as o (owner)
        """
    )
    assert owners == [(f"{place.schema}_owner",)]
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        place.run("create function mine() returns int language sql as 'select 1'", login=place.login(*GROUPS))


CALLS = {
    "add_note": f"select add_note('{TENANT}', 1)",
    "old_way": "select old_way()",
    "note": "select count(*) from note",
    "happening": "select count(*) from happening",
    "partition": "select count(*) from happening_1",
    "stamp": "select count(*) from install_stamp",
    "write": "delete from note",
}
MAY = {
    "app": {"add_note", "note", "happening"},
    "tenant": {"note"},
    "backend": {"add_note", "note", "happening"},
    "api": {"add_note", "note", "happening"},
    "worker": {"add_note", "old_way"},
    "admin": {"note"},
    "scheduler": set(),
    "metrics": set(),
}


def is_allowed(place, call, login):
    try:
        place.run(call, login=login)
    except psycopg.errors.InsufficientPrivilege:
        return False
    return True


@EACH_NAME
@pytest.mark.parametrize("group", GROUPS)
def test_each_group_may_do_what_the_access_table_says_and_no_more(place, group):
    place.install(place.release(FIRST))
    login = place.login(group)
    assert {name for name, call in CALLS.items() if is_allowed(place, call, login)} == MAY[group]


@EACH_NAME
def test_own_rows_are_those_of_the_entered_tenant_and_any_rows_are_all(place):
    place.install(place.release(FIRST))
    place.run("insert into note select t, n from unnest(%s::uuid[]) t, generate_series(1, 3) n", [TENANT, OTHER])
    seen = {}
    for group, context in itertools.product(("app", "tenant", "admin"), (TENANT, "")):
        with place.connect(place.login(group)) as conn, conn.transaction():
            conn.execute("select set_config('search_path', quote_ident(%s), true)", [place.schema])
            conn.execute("select set_config('laneway.ctx', %s, true)", [context])
            seen[group, bool(context)] = conn.execute("select count(*) from note").fetchone()[0]
    assert seen == {
        ("app", True): 3,
        ("app", False): 0,
        ("tenant", True): 3,
        ("tenant", False): 0,
        ("admin", True): 6,
        ("admin", False): 6,
    }


def test_row_level_security_is_on_for_every_table_and_partition(place):
    place.install(place.release(FIRST))
    assert (
        place.run(
            "select relname from pg_class where relkind in ('r', 'p') and not relrowsecurity"
            " and relnamespace = (select oid from pg_namespace where nspname = current_schema())"
        )
        == []
    )


def test_whoever_reads_all_data_reads_none_of_ours(place):
    place.install(place.release(FIRST))
    place.run("insert into note values (%s, 1)", TENANT)
    auditor = place.login(attributes="in role pg_read_all_data")
    for table in ("note", "setting", "install_stamp"):
        assert place.run(f"select count(*) from {table}", login=auditor) == [(0,)]


def test_nothing_is_granted_to_public(place):
    place.install(place.release(FIRST))
    text = place.catalogue().render()
    assert "granted to public" not in text
    assert "granted to nobody on functions" in text


def test_a_function_that_the_owner_makes_later_is_not_for_everyone(place):
    place.install(place.release(FIRST))
    place.run(f'set role "{place.schema}_owner"; create function later() returns int language sql as $$ select 1 $$')
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        place.run("select later()", login=place.login(*GROUPS))


def test_grants_to_strangers_do_not_survive_an_apply(place):
    place.install(place.release(FIRST))
    before, stranger = place.catalogue(), place.login("app")
    place.run(f"grant select, delete on note to {stranger} with grant option")
    place.run(f"grant select (id) on setting to {stranger}")
    place.run(f"grant select on happening_1 to {stranger}")
    place.run(f"grant execute on function old_way() to public, {stranger}")
    place.run(f'grant create on schema "{place.schema}" to {stranger}')
    assert place.catalogue() != before
    mended = place.install(place.release(FIRST)).mended
    assert set(mended) == {"function old_way", "schema", "table happening", "table note", "table setting"}
    assert place.catalogue() == before


def test_pins_are_set_and_taken_away_by_the_option(place):
    files = place.release(FIRST)
    place.install(files)
    pinned = place.catalogue().objects["function add_note"]
    assert {"set enable_seqscan=off", "set plan_cache_mode=force_generic_plan"} <= set(pinned)
    place.install(files, planner_pins=False)
    assert not [line for line in place.catalogue().objects["function add_note"] if "enable_seqscan" in line]
    assert not place.install(files).was_applied, "an upgrade keeps the options of the install"
    place.install(files, planner_pins=True)
    assert place.catalogue().objects["function add_note"] == pinned


def test_the_doorbell_option_reaches_the_settings_and_leaves_them_alone_afterwards(place):
    files = place.release(FIRST)
    place.install(files, doorbell=False)
    assert place.run("select doorbell from setting") == [(False,)]
    place.run("update setting set doorbell = true")
    place.install(place.release(changed(FIRST, "functions/notes.sql", "'old'", "'older'")))
    assert place.run("select doorbell from setting") == [(True,)]
