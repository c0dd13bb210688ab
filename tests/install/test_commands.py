"""`laneway init` and `laneway migrate` at the terminal: what they print and how they end."""

import json

import pytest
from releases import FIRST, SECOND

from laneway.cli.main import run
from laneway.database.sqlfiles import SqlFiles


@pytest.fixture
def laneway(place, monkeypatch, capsys):
    """Runs a command on the place; answers exit code, stdout and stderr."""
    monkeypatch.setenv("LANEWAY_DATABASE_URL", place.dsn)
    monkeypatch.setenv("LANEWAY_SCHEMA", place.schema)

    def call(*arguments, files=FIRST):
        monkeypatch.setattr(SqlFiles, "packaged", classmethod(lambda _: place.release(files)))
        with pytest.raises(SystemExit) as ended:
            run(arguments)
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out, told.err

    return call


def test_init_installs_and_says_what_it_did(laneway, place):
    code, out, err = laneway("init")
    assert (code, err) == (0, "")
    assert f'ran      create role "{place.schema}_owner" nologin' in out
    assert "applied  0001_notes" in out
    assert out.endswith(f'Schema "{place.schema}" is now as Laneway 1.0.0 wants it.\n')
    assert laneway("init")[1] == f'Schema "{place.schema}" is already as Laneway 1.0.0 wants it.\n'


def test_json_is_one_document(laneway):
    code, out, err = laneway("--json", "init")
    assert (code, err) == (0, "")
    assert json.loads(out)["migrations"] == ["0000_bookkeeping", "0001_notes"]
    assert json.loads(laneway("--json", "migrate", "status")[1])["pending"] == []
    assert json.loads(laneway("--json", "migrate", "check")[1])["findings"] == []


def test_options_of_the_install_are_kept_by_an_upgrade(laneway):
    laneway("init", "--no-planner-pins", "--no-doorbell")
    laneway("migrate", "up", files=SECOND)
    document = json.loads(laneway("--json", "migrate", "status", files=SECOND)[1])
    assert document["options"] == {"planner_pins": False, "doorbell": False, "single_role": False}


def test_check_ends_with_8_until_the_upgrade_is_done(laneway):
    laneway("init")
    code, out, err = laneway("migrate", "check", files=SECOND)
    assert code == 8
    assert 'migration "0002_moods" is pending' in out
    assert "laneway migrate up" in err
    assert laneway("migrate", "up", files=SECOND)[0] == 0
    assert laneway("migrate", "check", files=SECOND)[0] == 0


def test_check_of_an_empty_database_ends_with_8(laneway, place):
    code, out, _ = laneway("migrate", "check")
    assert (code, out) == (8, f'schema "{place.schema}" is not installed\n')


def test_status_lists_what_is_applied_and_pending(laneway):
    laneway("init")
    code, out, _ = laneway("migrate", "status", files=SECOND)
    assert code == 0
    assert "applied  0001_notes" in out
    assert "pending  0002_moods" in out
    assert "to run   functions/notes.sql" in out
    assert "to drop  function old_way" in out


def test_sql_prints_the_script_and_nothing_else(laneway, place):
    code, out, err = laneway("migrate", "sql")
    assert (code, err) == (0, "")
    assert out.startswith("-- Laneway 1.0.0")
    assert f'create schema "{place.schema}"' in out
    assert out.endswith("commit;\n")


def test_a_newer_database_is_a_conflict_that_names_both_versions_and_the_command(laneway):
    laneway("init", files=SECOND)
    code, out, err = laneway("migrate", "up", files=FIRST)
    assert (code, out) == (4, "")
    assert err == (
        'laneway: the database has migration "0002_moods" of Laneway 1.0.0, and this is 1.0.0. '
        "Run pip install --upgrade 'laneway>=1.0.0'.\n"
    )


def test_a_login_without_rights_ends_with_5(laneway, place):
    login = place.login()
    url = place.server.dsn(place.database, user=login, password=login)
    code, _, err = laneway("init", "--database-url", url)
    assert code == 5
    assert err.count("\n") == 1


def test_a_server_that_is_not_there_ends_with_6_and_shows_no_password(laneway):
    code, _, err = laneway("migrate", "status", "--database-url", "postgresql://me:secret@127.0.0.1:1/x")
    assert code == 6
    assert "cannot connect" in err
    assert "secret" not in err


def test_no_database_is_a_usage_error(laneway, monkeypatch):
    monkeypatch.delenv("LANEWAY_DATABASE_URL")
    code, _, err = laneway("migrate", "up")
    assert code == 2
    assert "LANEWAY_DATABASE_URL" in err


def test_up_makes_no_schema_of_a_name_that_was_mistyped(laneway, place):
    code, _, err = laneway("migrate", "up")
    assert code == 3
    assert f'nothing is installed in "{place.schema}"' in err
    assert place.run("select 1 from pg_namespace where nspname = %s", place.schema) == []


def test_a_wrong_duration_is_a_usage_error(laneway):
    code, _, err = laneway("migrate", "up", "--lock-timeout", "soon")
    assert code == 2
    assert "write for example 500ms, 3s or 2m" in err


def test_a_held_lock_ends_with_124(laneway, place):
    laneway("init")
    with place.connect() as idle, idle.transaction():
        idle.execute(f"select from {place.schema}.note")
        code, _, err = laneway("migrate", "up", "--lock-timeout", "200ms", "--give-up-after", "1s", files=SECOND)
    assert code == 124
    assert "idle in transaction" in err


def test_a_traceback_is_shown_on_demand_only(laneway):
    assert "Traceback" not in laneway("init", "--schema", "public")[2]
    assert "Traceback" in laneway("-vv", "init", "--schema", "public")[2]
