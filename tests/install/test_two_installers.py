"""More than one installer, and sessions that stand in the way."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import psycopg
import pytest
from releases import FIRST, SECOND, changed

from laneway.database.install import Patience, install
from laneway.database.install_errors import InstallTimeoutError
from laneway.database.patience import LOCK_CLASS

SHORT = Patience(lock_timeout=timedelta(seconds=0.2), give_up_after=timedelta(seconds=1))


def test_two_installers_at_once_install_once(place):
    files = place.release(FIRST)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: place.install(files), range(4)))
    assert sorted(result.was_applied for result in results) == [False, False, False, True]
    assert not place.install(files).was_applied


def test_two_databases_of_one_server_share_the_roles_even_when_installed_at_once(place):
    places = [place, *(place.elsewhere() for _ in range(3))]
    files = place.release(FIRST)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda one: one.install(files), places))
    assert all(result.was_applied for result in results)
    assert len({one.catalogue().render() for one in places}) == 1


def test_a_held_install_lock_is_told_with_the_session_that_holds_it(place):
    with place.connect() as holder:
        holder.execute("select pg_advisory_lock(%s, hashtext(%s))", [LOCK_CLASS, place.schema])
        with place.connect() as conn, pytest.raises(InstallTimeoutError) as refused:
            install(conn, schema=place.schema, files=place.release(FIRST), patience=SHORT)
        assert f"session {holder.info.backend_pid} of postgres" in refused.value.fact
    assert place.install(place.release(FIRST)).was_applied


def test_an_open_transaction_on_a_table_delays_the_upgrade_and_nobody_else(place):
    place.install(place.release(FIRST))
    before = place.catalogue()
    with place.connect() as idle, idle.transaction():
        idle.execute(f'select count(*) from "{place.schema}".note')
        with ThreadPoolExecutor(1) as pool:
            upgrade = pool.submit(_try_upgrade, place)
            while not upgrade.done():
                with place.connect() as caller:
                    caller.execute("set statement_timeout = '900ms'")
                    caller.execute(f"""select "{place.schema}".add_note(gen_random_uuid(), 1)""")
        with pytest.raises(InstallTimeoutError, match=f"session {idle.info.backend_pid} of postgres"):
            upgrade.result()
    assert place.catalogue() == before
    assert place.install(place.release(SECOND)).was_applied


def _try_upgrade(place):
    with place.connect() as conn:
        install(conn, schema=place.schema, files=place.release(SECOND), patience=SHORT)


def test_a_change_of_functions_alone_waits_for_no_caller(place):
    place.install(place.release(FIRST))
    with place.connect() as idle, idle.transaction():
        idle.execute(f'lock table "{place.schema}".note in row exclusive mode')
        changes = changed(
            FIRST, "functions/notes.sql", "language plpgsql security", "language plpgsql volatile security"
        )
        no_view = changes["functions/notes.sql"].partition("create or replace view")
        moved = changes | {
            "functions/notes.sql": no_view[0],
            "functions/lists.sql": no_view[1] + no_view[2],
            "functions/order.txt": "foundation\nnotes\nlists\n",
        }
        with place.connect() as conn, pytest.raises(InstallTimeoutError):
            install(conn, schema=place.schema, files=place.release(moved), patience=SHORT)
    place.install(place.release(moved))
    with place.connect() as idle, idle.transaction():
        idle.execute(f'lock table "{place.schema}".note in row exclusive mode')
        again = changed(moved, "functions/notes.sql", "'old'", "'older'")
        with place.connect() as conn:
            result = install(conn, schema=place.schema, files=place.release(again), patience=SHORT)
    assert result.files == ("notes.sql",)
    assert place.run("select old_way()") == [("older",)]


def test_a_lost_connection_leaves_nothing(place):
    files = place.release(
        changed(
            FIRST, "migrations/0001_notes.sql", "insert into setting", "select pg_terminate_backend(pg_backend_pid());"
        )
    )
    with pytest.raises((psycopg.Error, Exception)):
        place.install(files)
    assert place.run("select from pg_namespace where nspname = %s", place.schema) == []
    assert place.install(place.release(FIRST)).was_applied
