"""A fresh install: by which login, into what, and what stops it."""

import psycopg
import pytest
from places import place_on
from releases import FIRST, changed

from laneway.database.install import install
from laneway.database.install_errors import InstallConflictError, InstallError, InstallPermissionError
from laneway.database.options import InstallOptions


def roles_of(place):
    return {
        name for (name,) in place.run("select rolname from pg_roles where starts_with(rolname, %s)", f"{place.schema}_")
    }


def test_temporary_tables_are_taken_from_public(own_place):
    own_place.install(own_place.release(FIRST))
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        own_place.run("create temporary table note (id int)", login=own_place.login("app"))


def test_a_login_with_createrole_and_create_on_the_database_can_install_and_upgrade(own_place):
    migrator = own_place.login(attributes="createrole noinherit")
    own_place.run(f"grant create on database {own_place.database} to {migrator}")
    result = own_place.install(own_place.release(FIRST), login=migrator)
    assert len(result.warnings) == 1
    assert "revoke temporary" in result.warnings[0]
    upgraded = own_place.install(
        own_place.release(changed(FIRST, "functions/notes.sql", "'old'", "'older'")), login=migrator
    )
    assert upgraded.files == ("notes.sql",)
    quoted = own_place.schema.replace('"', '""')
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        own_place.run(f'select count(*) from "{quoted}".note', login=migrator)


def test_it_makes_the_same_as_a_superuser(server, place, tmp_path):
    place.install(place.release(FIRST))
    with place_on(server, tmp_path / "other") as other:
        migrator = other.login(attributes="createrole")
        other.run(f"grant create on database {other.database} to {migrator}")
        other.install(other.release(FIRST), login=migrator)
        assert place.catalogue().differences(other.catalogue()) == ()


def test_a_login_that_may_not_install_is_told_what_it_lacks(place):
    with pytest.raises(InstallPermissionError, match="CREATEROLE and CREATE on the database"):
        place.install(place.release(FIRST), login=place.login())
    assert roles_of(place) == set()


def test_an_upgrade_by_a_login_that_may_not_become_the_owner_is_refused(place):
    place.install(place.release(FIRST))
    with pytest.raises(InstallPermissionError, match=f'grant "{place.schema}_owner" to'):
        place.install(place.release(FIRST), login=place.login("admin"))


def test_settings_of_the_login_do_not_reach_the_install(place):
    hostile = place.login(attributes="superuser")
    for setting in (
        "search_path = pg_catalog",
        # not 1 ms: that would end the begin itself on a busy machine, before anything can be set
        "statement_timeout = '100ms'",
        "default_transaction_isolation = serializable",
        "default_transaction_read_only = on",
        "check_function_bodies = off",
        "standard_conforming_strings = off",
        "quote_all_identifiers = on",
        "datestyle = german",
        "row_security = off",
    ):
        place.run(f"alter role {hostile} set {setting}")
    place.install(place.release(FIRST), login=hostile)
    after = place.catalogue()
    assert not place.install(place.release(FIRST)).was_applied
    assert place.catalogue() == after


def test_a_failing_install_leaves_nothing_behind(place):
    for path, old, new in (
        ("migrations/0001_notes.sql", "insert into setting", "insert into settings"),
        ("functions/notes.sql", "select count(*) from note", "select count(*) from notes"),
        ("access.csv", "table,counted,,,,,,,,\n", ""),
    ):
        with pytest.raises(InstallError):
            place.install(place.release(changed(FIRST, path, old, new)))
        assert roles_of(place) == set()
        assert place.run("select from pg_namespace where nspname = %s", place.schema) == []


def test_an_error_in_a_file_is_told_with_file_and_line(place):
    broken = changed(
        FIRST, "functions/notes.sql", "as 'select count(*) from note'", "as\n 'select count(*) from notes'"
    )
    with pytest.raises(InstallError) as refused:
        place.install(place.release(broken))
    assert "functions/notes.sql, line 16" in refused.value.fact
    assert 'relation "notes" does not exist (42P01)' in refused.value.fact


@pytest.mark.parametrize(
    ("path", "old", "new", "sentence"),
    [
        ("access.csv", "table,counted,,,,,,,,\n", "", "table counted is in the schema and not in access.csv"),
        ("access.csv", "function,old_way,,,,any,,,,\n", "", "function old_way is in the schema and not in access.csv"),
        ("access.csv", "view,note_list,any,,,,,,,\n", "", "view note_list is in the schema and not in access.csv"),
        ("access.csv", "table,counted,", "table,gone,,,,,,,,\ntable,counted,", "table gone is not in the schema"),
        ("access.csv", "table,counted,,", "table,counted,own,", "cells with own and no column tenant_id"),
    ],
)
def test_the_access_table_and_the_schema_hold_the_same(place, path, old, new, sentence):
    with pytest.raises(InstallError) as refused:
        place.install(place.release(changed(FIRST, path, old, new)))
    assert sentence in str(refused.value)


def test_what_somebody_else_put_into_the_schema_stops_an_apply(place):
    place.install(place.release(FIRST))
    place.run("create table stranger (id integer)")
    with pytest.raises(InstallError, match=r"table stranger is in the schema and not in access.csv"):
        place.install(place.release(FIRST))
    place.run("drop table stranger; create function old_way(text) returns int language sql as 'select 1'")
    assert "function old_way" in place.install(place.release(FIRST)).mended
    assert place.functions_named("old_way") == [("old_way()",)]
    place.run("alter table happening_1 owner to postgres")
    with pytest.raises(
        InstallError, match=r'table happening_1 belongs to "postgres". Run alter table happening_1 owner to'
    ):
        place.install(place.release(FIRST))


def test_a_schema_that_holds_other_things_is_refused_and_an_empty_one_is_taken_over(place):
    place.run(f'create schema "{place.schema}"')
    place.run("create table mine (id integer)")
    with pytest.raises(InstallConflictError, match="holds objects that are not ours"):
        place.install(place.release(FIRST))
    place.run("drop table mine")
    assert place.install(place.release(FIRST)).was_applied


def test_an_open_transaction_is_refused(place):
    with place.connect() as conn, conn.transaction():
        conn.execute("select 1")
        with pytest.raises(InstallError, match="a transaction is open"):
            install(conn, schema=place.schema, files=place.release(FIRST))


def test_the_connection_is_given_back_as_it_was(place):
    with psycopg.connect(place.dsn) as conn:
        install(conn, schema=place.schema, files=place.release(FIRST))
        assert not conn.autocommit
        assert conn.execute("select current_user = session_user, current_setting('search_path')").fetchone() == (
            True,
            '"$user", public',
        )


def test_a_single_role_owns_everything_and_is_warned_about(place):
    laptop = place.login()
    place.run(f"grant create on database {place.database} to {laptop}")
    result = place.install(place.release(FIRST), login=laptop, single_role=True)
    assert "one role owns everything: row-level security does not hold for it" in result.warnings
    assert roles_of(place) == set()
    assert place.run("select count(*) from note", login=laptop) == [(0,)]
    assert not place.install(place.release(FIRST), login=laptop).was_applied
    with pytest.raises(InstallConflictError, match="was installed with it"):
        place.install(place.release(FIRST), login=laptop, planner_pins=True)


def test_options_survive_the_stamp():
    options = InstallOptions(planner_pins=False, doorbell=True, single_role=False)
    assert InstallOptions.from_json(options.to_json()) == options
