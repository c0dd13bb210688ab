"""`laneway verify` at the terminal: what it prints and how it ends."""

import json

import pytest

from laneway.cli.main import run


@pytest.fixture
def verify(busy, monkeypatch, capsys):
    """Runs the command as the super-admin's login; answers exit code, stdout and stderr."""

    def call(*arguments, role="admin"):
        monkeypatch.setenv("LANEWAY_DATABASE_URL", busy.database.dsn(role))
        with pytest.raises(SystemExit) as ended:
            run(["verify", *arguments])
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out, told.err

    return call


@pytest.fixture
def broken(busy):
    """A job that is nowhere, for as long as the test runs."""
    busy.conn.execute("create temporary table taken as select * from live where state = 0 limit 1")
    busy.conn.execute("delete from live l using taken t where l.job_id = t.job_id")
    yield busy.conn.execute("select job_id from taken").fetchone()[0]
    busy.conn.execute("insert into live select * from taken")
    busy.conn.execute("drop table taken")


def test_what_holds_is_said_and_ends_with_0(verify):
    assert verify() == (0, "All invariants hold.\n", "")
    assert verify("--sample", "5") == (0, "All invariants hold.\n", "")
    code, out, err = verify("--json")
    assert (code, json.loads(out), err) == (0, {"violations": []}, "")


def test_what_does_not_hold_is_said_with_its_rows_and_ends_with_8(verify, broken):
    code, out, err = verify()
    assert (code, err) == (8, "")
    first, *rows = out.splitlines()
    assert first.startswith("I7 does not hold: a job that has not ended is in exactly one phase table")
    assert rows == [row for row in rows if str(broken) in row and "is nowhere" in row]


def test_json_is_one_document(verify, broken):
    code, out, _ = verify("--json")
    (violation,) = json.loads(out)["violations"]
    assert (code, violation["invariant"]) == (8, "I7")
    assert violation["rows"][0]["id"] == str(broken)


def test_a_database_without_the_tables_and_a_login_that_may_not_read_are_refused_in_a_sentence(verify):
    code, _, err = verify("--schema", "elsewhere")
    assert code == 3
    assert err == 'laneway: schema: there is no "elsewhere". Name another with --schema, or run laneway init.\n'
    code, _, err = verify(role="worker")
    assert code == 5
    assert err.startswith("laneway: the server refused: permission denied")
