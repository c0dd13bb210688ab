"""The template of all test databases: a fresh install, a clock that tests move, a key to sign contexts with.

Its name is a hash over the sources that make it, so that it is made once per server and never out of date.
"""

import os
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from laneway.database.install import install

NAMED = "LANEWAY_TEST_TEMPLATE"
PREFIX = "lw_template_"
GROUPS = ("app", "tenant", "backend", "worker", "scheduler", "api", "admin", "metrics")
PASSWORD = "lw_test"
# logins of the group `tenant` beside its own, for tests to map each to a tenant
STRICT = ("strict_1", "strict_2")
CONTEXT_KID = "test"
CONTEXT_KEY = bytes(range(32))
TEST_SQL = Path(__file__).with_name("test_clock.sql")
# One template is made at a time, whoever makes it.
MAKING = 0x1A4E3A7


def template_name() -> str:
    """Another text of the sources, another template."""
    digest = sha256()
    for folder in ("sql", "database"):
        root = Path(str(files("laneway").joinpath(folder)))
        for file in sorted(root.rglob("*")):
            if file.suffix in {".py", ".sql", ".csv", ".txt"}:
                digest.update(f"{file.relative_to(root)}\0".encode() + file.read_bytes())
    digest.update(TEST_SQL.read_bytes() + Path(__file__).read_bytes())
    return PREFIX + digest.hexdigest()[:16]


def ensure_template(conn: psycopg.Connection, dsn: str) -> str:
    """The template's name; makes it where this server does not have it. `conn`: a superuser's, elsewhere."""
    given = os.environ.get(NAMED)
    if given:
        return given
    name = template_name()
    conn.execute("select pg_advisory_lock(%s)", [MAKING])
    try:
        if conn.execute("select from pg_database where datname = %s", [name]).fetchone() is None:
            make_template(conn, dsn, name)
    finally:
        conn.execute("select pg_advisory_unlock(%s)", [MAKING])
    return name


def make_template(conn: psycopg.Connection, dsn: str, name: str) -> None:
    """Under another name until it is whole: a run that was killed leaves no half template."""
    unfinished = sql.Identifier(f"{name}_unfinished")
    conn.execute(sql.SQL("drop database if exists {} with (force)").format(unfinished))
    conn.execute(sql.SQL("create database {} template template0 encoding 'UTF8'").format(unfinished))
    with psycopg.connect(make_conninfo(dsn, dbname=f"{name}_unfinished"), autocommit=True) as inside:
        install(inside)
        prepare_database(inside)
    ensure_logins(conn)
    freeze(conn, f"{name}_unfinished", name)


def prepare_database(conn: psycopg.Connection) -> None:
    """What a test database has beyond an install."""
    conn.execute("set search_path to laneway, pg_temp")
    put_test_clock(conn)
    with conn.transaction():
        # few partitions, around the time at which the clock of tests begins: a clone copies each of their files
        conn.execute("update setting set partitions_ahead = 2")
        for (partition,) in conn.execute(
            "select i.inhrelid::regclass::text from pg_inherits i join pg_class c on c.oid = i.inhrelid"
            " where i.inhparent in ('job'::regclass, 'attempt'::regclass, 'audit'::regclass)"
            " and pg_get_expr(c.relpartbound, c.oid) <> 'DEFAULT'"
        ).fetchall():
            conn.execute(sql.SQL("drop table {}").format(sql.SQL(partition)))
        conn.execute("set local role laneway_owner")
        conn.execute("select make_partitions()")
        conn.execute("select add_context_key(%s, %s)", [CONTEXT_KID, CONTEXT_KEY])


def put_test_clock(conn: psycopg.Connection) -> None:
    """Replaces clock() and new_id(); to be said again after foundation.sql was run again."""
    conn.execute("set search_path to laneway, pg_temp")
    conn.execute(TEST_SQL.read_text(encoding="utf-8"))


def ensure_logins(conn: psycopg.Connection) -> None:
    """A real login per group, once per server."""
    for name, group in (dict(zip(GROUPS, GROUPS, strict=True)) | dict.fromkeys(STRICT, "tenant")).items():
        login = sql.Identifier(f"lw_test_{name}")
        if conn.execute("select from pg_roles where rolname = %s", [f"lw_test_{name}"]).fetchone() is None:
            conn.execute(sql.SQL("create role {} login password {}").format(login, sql.Literal(PASSWORD)))
        conn.execute(sql.SQL("grant {} to {}").format(sql.Identifier(f"laneway_{group}"), login))


def freeze(conn: psycopg.Connection, unfinished: str, name: str) -> None:
    """Nobody connects to it any more: cloning needs it idle."""
    conn.execute(sql.SQL("alter database {} rename to {}").format(sql.Identifier(unfinished), sql.Identifier(name)))
    conn.execute(
        sql.SQL("alter database {} with is_template true allow_connections false").format(sql.Identifier(name))
    )
