"""An upgraded database is a fresh one with its rows kept; a failed upgrade is no upgrade."""

import psycopg
import pytest
from callers import Callers
from places import place_on
from releases import FIRST, SECOND, changed

from laneway.database.install import install
from laneway.database.install_errors import InstallConflictError, InstallError

TENANT = "00000000-0000-0000-0000-00000000000a"

MIGRATION = {"migrations/0003_more.sql": "alter table note add column third integer;"}
INDEX = {
    "migrations/0003_index.sql": "-- no transaction\ncreate index concurrently if not exists note_mood on note (mood);",
    "migrations/0004_third.sql": "alter table note add column third integer;",
}


@pytest.mark.parametrize("place", ["plain", "odd"], indirect=True)
@pytest.mark.parametrize("later", [SECOND, SECOND | MIGRATION, SECOND | INDEX], ids=["next", "skipped", "index"])
def test_fresh_equals_upgraded_privileges_included(server, place, tmp_path, later):
    place.install(place.release(FIRST))
    place.run("select add_note(%s, 1)", TENANT)
    place.install(place.release(later, name="2.0.0"))
    with place_on(server, tmp_path / "fresh") as fresh:
        fresh.install(fresh.release(later, name="2.0.0"))
        assert fresh.catalogue().differences(place.catalogue()) == ()
        assert fresh.catalogue() == place.catalogue()
    assert place.run("select id, body, mood from note") == [(1, "nothing", None)]
    assert place.run("select release from install_stamp") == [("2.0.0",)]
    assert not place.install(place.release(later, name="2.0.0")).was_applied


def test_the_result_lists_what_was_done(place):
    place.install(place.release(FIRST))
    result = place.install(place.release(SECOND, name="2.0.0"))
    assert result.migrations == ("0002_moods",)
    assert result.files == ("notes.sql",)
    assert result.dropped == ("function old_way",)
    assert (result.roles, result.mended, result.warnings) == ((), (), ())


def test_callers_see_no_error_while_functions_and_tables_change(place):
    place.install(place.release(FIRST))
    worker, versions = place.login("worker"), []
    there_and_back = ("old", "new")
    with place.connect(worker) as caller, Callers(place, worker, count=6) as callers:
        for round_number in range(12):
            place.install(place.release(_round(round_number), name=f"2.{round_number}"))
            versions.append(caller.execute(f"select {place.schema}.old_way()").fetchone()[0])
    assert callers.errors == []
    assert min(callers.calls) > 12
    assert versions == [there_and_back[number % 2] for number in range(12)]


def _round(number):
    """Each round adds a column, changes a signature or a result (back and forth), policies and a view."""
    odd = number % 2 == 1
    files = dict(FIRST)
    for extra in range(1, number + 1):
        files[f"migrations/{extra + 1:04}_column{extra}.sql"] = f"alter table note add column extra{extra} text;"
    if odd:
        files = changed(
            files,
            "functions/notes.sql",
            "p_id integer) returns integer",
            "p_id integer, p_more text default null) returns integer",
        )
        files = changed(
            files, "functions/notes.sql", "returns table (amount bigint)", "returns table (amount bigint, more text)"
        )
        files = changed(
            files, "functions/notes.sql", "select count(*) from note'", "select count(*), null::text from note'"
        )
        files = changed(files, "functions/notes.sql", "select 'old'", "select 'new'")
        files = changed(files, "access.csv", "table,note,own,own,,,,,any,", "table,note,own,,,,,,,any")
    return files


def test_old_callers_go_on_with_a_function_that_got_an_argument(place):
    place.install(place.release(FIRST))
    worker = place.login("worker")
    with place.connect(worker) as caller:
        caller.prepare_threshold = 0
        call = f"select {place.schema}.add_note(p_tenant => %s, p_id => %s)"
        assert caller.execute(call, [TENANT, 1]).fetchone() == (1,)
        place.install(place.release(SECOND))
        assert caller.execute(call, [TENANT, 2]).fetchone() == (2,)
    assert place.functions_named("add_note") == [("add_note(uuid,integer,text)",)]


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("migrations/0002_moods.sql", "set default 'something'", "set default nothing()"),
        ("functions/notes.sql", "select n.tenant_id, n.mood", "select n.tenant_id, n.moods"),
        ("access.csv", "function,by_version,,,,any,,,,\n", ""),
        ("access.csv", "table,setting,,", "table,setting,own,"),
    ],
)
def test_an_upgrade_that_fails_leaves_nothing(place, path, old, new):
    place.install(place.release(FIRST))
    before = place.catalogue()
    stamp = place.run("select * from install_stamp") + place.run("select * from install_migration order by 1")
    with pytest.raises(InstallError):
        place.install(place.release(changed(SECOND, path, old, new)))
    assert place.catalogue() == before
    assert place.run("select * from install_stamp") + place.run("select * from install_migration order by 1") == stamp
    assert place.install(place.release(SECOND)).was_applied


def test_a_newer_database_is_refused_with_both_versions_and_the_command(place):
    place.install(place.release(SECOND, name="2.0.0"))
    before = place.catalogue()
    with pytest.raises(InstallConflictError) as refused:
        place.install(place.release(FIRST, name="1.0.0"))
    assert refused.value.fact == 'the database has migration "0002_moods" of Laneway 2.0.0, and this is 1.0.0'
    assert refused.value.hint == "Run pip install --upgrade 'laneway>=2.0.0'."
    assert place.catalogue() == before


@pytest.mark.parametrize(("newer", "older"), [("2.0.0", "1.0.0"), ("1.10.0", "1.9.3"), ("1.0.0", "1.0.0.dev7")])
def test_a_release_that_changed_functions_alone_is_not_taken_back(place, newer, older):
    place.install(place.release(FIRST, name=newer))
    before = place.catalogue()
    with pytest.raises(InstallConflictError) as refused:
        place.install(place.release(FIRST, name=older))
    assert refused.value.fact == f"the database has the functions of Laneway {newer}, and this is {older}"
    assert refused.value.hint == f"Run pip install --upgrade 'laneway>={newer}'."
    assert place.catalogue() == before


def test_a_changed_applied_migration_is_refused_by_name(place):
    place.install(place.release(FIRST))
    with pytest.raises(
        InstallConflictError, match=r'"0001_notes" was applied by Laneway 1.0.0 and its file has changed'
    ):
        place.install(place.release(changed(SECOND, "migrations/0001_notes.sql", "Notes.", "All notes.")))


def test_an_applied_migration_that_is_gone_is_refused_by_name(place):
    place.install(place.release(SECOND | MIGRATION))
    gone = {path: text for path, text in (SECOND | MIGRATION).items() if "0002" not in path}
    with pytest.raises(InstallConflictError, match=r'"0002_moods" was applied by Laneway 1.0.0 and its file is gone'):
        place.install(place.release(gone))


def test_a_migration_before_the_last_applied_one_is_refused(place):
    gone = {path: text for path, text in (SECOND | MIGRATION).items() if "0002" not in path}
    place.install(
        place.release(
            changed(
                gone | {"functions/notes.sql": FIRST["functions/notes.sql"]},
                "access.csv",
                "function,by_version",
                "function,old_way,,,,,,,,\nfunction,by_version",
            )
        )
    )
    with pytest.raises(InstallConflictError, match=r'"0002_moods" is new and number 3 is applied already'):
        place.install(place.release(SECOND | MIGRATION))


def test_a_migration_outside_a_transaction_that_fails_keeps_what_lies_before_and_is_repeated(place):
    place.install(place.release(FIRST))
    twice = changed(SECOND | INDEX, "migrations/0003_index.sql", "note (mood)", "note ((1 / id))")
    place.run("select add_note(%s, 0)", TENANT)
    with pytest.raises(InstallError, match=r"migrations/0003_index.sql, line 1: division by zero"):
        place.install(place.release(twice))
    assert place.run("select max(number) from install_migration") == [(2,)]
    with pytest.raises(InstallError, match=r"index note_mood is not valid. Run drop index concurrently note_mood"):
        place.install(place.release(SECOND | INDEX))
    place.run("drop index note_mood")
    result = place.install(place.release(SECOND | INDEX))
    assert result.migrations == ("0003_index", "0004_third")
    assert result.warnings == ()


def test_the_session_is_the_same_after_a_migration_outside_a_transaction(place):
    with place.connect() as conn:
        conn.execute("set search_path to pg_catalog; set lock_timeout to '7s'")
        install(conn, schema=place.schema, files=place.release(SECOND | INDEX))
        assert conn.execute(
            "select current_setting('search_path'), current_setting('lock_timeout'), current_user = session_user"
        ).fetchone() == ("pg_catalog", "7s", True)
        assert conn.execute("select count(*) from pg_locks where locktype = 'advisory'").fetchone() == (0,)


def test_a_function_that_policies_and_views_stand_on_can_change_its_result(place):
    place.install(place.release(FIRST))
    stood_on = changed(
        FIRST,
        "functions/foundation.sql",
        "create or replace function current_tenant() returns uuid",
        "create or replace function current_tenant(p_default uuid default null) returns uuid",
    )
    stood_on = changed(
        stood_on,
        "functions/foundation.sql",
        "comment on function current_tenant()",
        "comment on function current_tenant",
    )
    place.install(place.release(stood_on))
    assert place.run("select pg_get_function_arguments('current_tenant'::regproc)") == [
        ("p_default uuid DEFAULT NULL::uuid",)
    ]
    assert not place.install(place.release(stood_on)).was_applied


def test_a_view_of_somebody_else_on_ours_is_named_and_left_alone(place):
    place.install(place.release(FIRST))
    place.run(f"create view public.report_{place.schema} as select * from {place.schema}.note_list")
    with pytest.raises(InstallConflictError, match=rf"view public.report_{place.schema} depends on view note_list"):
        place.install(place.release(SECOND))
    assert place.run(f"select count(*) from public.report_{place.schema}") == [(0,)]


def test_a_function_may_become_a_procedure_and_a_view_may_go(place):
    place.install(place.release(FIRST))
    files = changed(
        FIRST,
        "functions/notes.sql",
        "create or replace function old_way() returns text language sql as $$ select 'old' $$",
        "create or replace procedure old_way() language sql as $$ select 'old' $$",
    )
    files["functions/notes.sql"] = files["functions/notes.sql"].partition("create or replace view")[0]
    files = changed(files, "access.csv", "view,note_list,any,,,,,,,\n", "")
    assert place.install(place.release(files)).dropped == ("view note_list",)
    place.run("call old_way()")
    with pytest.raises(psycopg.errors.WrongObjectType):
        place.run("select old_way()")
