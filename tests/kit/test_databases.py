"""A database of its own for each test: fresh, with real logins, gone afterwards."""

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from kit.clock import EPOCH, Clock
from kit.database import Clones, Database, dsn_of
from kit.template import GROUPS, NAMED, ensure_template, template_name
from language import Heart


def test_what_one_database_holds_no_other_sees(clones: Clones):
    with clones.lent() as one, clones.lent() as other:
        Heart(one).tenant("acme")
        assert Heart(other).rows("select slug from tenant where not is_system") == []


@pytest.mark.parametrize("turn", ["first", "second"])
def test_the_rolled_back_connection_keeps_nothing_of_a_test(sql: psycopg.Connection, clock: Clock, turn: str):
    assert sql.execute("select count(*) from definition").fetchone() == (0,)
    assert clock.now() == EPOCH
    Heart(sql).define(turn)
    clock.move(3600)


@pytest.mark.parametrize("role", GROUPS)
def test_a_role_is_a_login_of_its_own_with_the_rights_of_its_group(database: Database, role: str):
    with database.connect(role=role) as conn:
        row = conn.execute(
            "select session_user, current_user, pg_has_role(%s, 'usage'), rolsuper from pg_roles"
            " where rolname = session_user",
            [f"laneway_{role}"],
        ).fetchone()
        assert row == (f"lw_test_{role}", f"lw_test_{role}", True, False)
        assert conn.execute("select to_regclass('live') is not null").fetchone() == (True,)


def test_a_role_that_is_none_is_refused(database: Database):
    with pytest.raises(ValueError, match='role: "owner" is no role'):
        database.dsn("owner")


@pytest.mark.parametrize(
    "server",
    [
        "postgresql://postgres:se%40cret@/postgres?host=%2Ftmp%2Fa%20b&port=5433",
        "host='/tmp/a b' port=5433 user=postgres password=se@cret dbname=postgres",
    ],
)
def test_a_dsn_is_a_uri_whatever_form_the_servers_has(server: str):
    found = conninfo_to_dict(dsn_of(server, "other"))
    assert found == {
        "user": "postgres",
        "password": "se@cret",
        "dbname": "other",
        "host": "/tmp/a b",  # noqa: S108
        "port": "5433",
    }
    assert dsn_of(server, "other", role="app").startswith("postgresql://lw_test_app:lw_test@/other?")


def test_a_database_closes_who_connected_through_it(clones: Clones):
    with clones.lent() as database:
        conn = database.connect()
    assert conn.closed


def test_the_template_is_made_once_and_another_can_be_named(clones: Clones, monkeypatch: pytest.MonkeyPatch):
    with psycopg.connect(clones.server, autocommit=True) as conn:
        monkeypatch.delenv(NAMED, raising=False)
        before = conn.execute("select oid from pg_database where datname = %s", [template_name()]).fetchone()
        assert ensure_template(conn, clones.server) == template_name()
        if before is not None:
            now = conn.execute("select oid from pg_database where datname = %s", [template_name()]).fetchone()
            assert now == before
        monkeypatch.setenv(NAMED, "lw_mutant")
        assert ensure_template(conn, clones.server) == "lw_mutant"


def test_nobody_connects_to_the_template(clones: Clones):
    with pytest.raises(psycopg.OperationalError, match="not currently accepting connections"):
        psycopg.connect(dsn_of(clones.server, clones.template))
