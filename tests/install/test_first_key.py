"""The key that signs tenant contexts is made by `laneway init`, once, whoever installed the schema."""

import secrets

import psycopg
import pytest
from places import Place

from laneway.cli.main import run
from laneway.database.sqlfiles import SqlFiles

SHOWN = "LANEWAY_CONTEXT_KEY=k1:"


@pytest.fixture
def init(capsys, monkeypatch):
    """Runs `laneway init` on a place; answers exit code and all that it says."""

    def call(place: Place, *options: str, login: str | None = None) -> tuple[int, str]:
        dsn = place.server.dsn(place.database, user=login, password=login) if login else place.dsn
        monkeypatch.setenv("LANEWAY_DATABASE_URL", dsn)
        with pytest.raises(SystemExit) as ended:
            run(["init", "--schema", place.schema, *options])
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out + told.err

    return call


def test_init_shows_it_the_first_time_and_never_again(place, init):
    code, told = init(place)
    assert code == 0, told
    assert told.count(SHOWN) == 1
    code, told = init(place)
    assert (code, SHOWN in told) == (0, False)


def test_it_is_made_where_somebody_else_has_installed_the_schema(place, init):
    place.install(SqlFiles.packaged())
    code, told = init(place)
    assert code == 0, told
    assert f'Schema "{place.schema}" is already as' in told
    assert told.count(SHOWN) == 1


def test_a_login_that_may_not_see_keys_is_told_of_none(place, init):
    init(place)
    code, told = init(place, login=place.login("admin"))
    assert SHOWN not in told
    assert code in (0, 5), told


def test_single_role_needs_no_owner_though_another_database_has_made_one(place, init):
    place.install(SqlFiles.packaged())
    other = place.elsewhere()
    login = place.login()
    with psycopg.connect(place.dsn, autocommit=True) as conn:
        conn.execute(f"alter database {other.database} owner to {login}")
    code, told = init(other, "--single-role", login=login)
    assert code == 0, told
    assert told.count(SHOWN) == 1


def test_a_database_of_no_encoding_is_installed_like_any_other(place, init):
    name = f"ascii_{secrets.token_hex(4)}"
    with psycopg.connect(place.dsn, autocommit=True) as conn:
        conn.execute(
            f"create database {name} encoding 'SQL_ASCII' template template0 locale_provider 'libc' locale 'C'"
        )
    other = Place(place.server, name, place.schema, place.folder)
    code, told = init(other)
    assert code == 0, told
    assert init(other)[1].startswith(f'Schema "{place.schema}" is already as')
