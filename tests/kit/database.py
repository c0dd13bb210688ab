"""A database of its own for each test, cloned from the template in some milliseconds and dropped after it."""

import itertools
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from kit.template import GROUPS, PASSWORD, STRICT, ensure_template

# file_copy_method is a setting since this version.
CLONES_FROM = 180000


@dataclass(slots=True)
class Database:
    """One test database; who connects through it is closed with it."""

    server: str
    name: str
    opened: list[psycopg.Connection] = field(default_factory=list)

    def dsn(self, role: str | None = None) -> str:
        """A URI, for the superuser or for the login of a role: app, worker, admin, backend, scheduler, tenant, .."""
        return dsn_of(self.server, self.name, role=role)

    def connect(self, *, role: str | None = None, autocommit: bool = True) -> psycopg.Connection:
        """A connection with the schema in its search path; closed at the end of the test where the test does not."""
        conn = psycopg.connect(
            self.dsn(role), autocommit=autocommit, options="-c search_path=laneway,pg_temp -c timezone=UTC"
        )
        self.opened.append(conn)
        return conn

    def close(self) -> None:
        while self.opened:
            self.opened.pop().close()


def dsn_of(server: str, database: str, *, role: str | None = None) -> str:
    """A URI that libpq and asyncpg both read, whatever form the server's own DSN has."""
    given = {name: str(value) for name, value in conninfo_to_dict(server).items() if value is not None}
    if role is not None:
        if role not in (*GROUPS, *STRICT):
            raise ValueError(f'role: "{role}" is no role of an install; use {", ".join(GROUPS)}')
        given |= {"user": f"lw_test_{role}", "password": PASSWORD}
    user = quote(given.pop("user", ""), safe="")
    password = given.pop("password", None)
    credentials = user if password is None else f"{user}:{quote(password, safe='')}"
    given.pop("dbname", None)
    where = f"?{urlencode(given, quote_via=quote)}" if given else ""
    return f"postgresql://{credentials}{'@' if credentials else ''}/{quote(database, safe='')}{where}"


class Clones:
    """Makes and drops the databases of one process."""

    def __init__(self, conn: psycopg.Connection, server: str) -> None:
        """`conn`: the superuser's, to a database that is not cloned; `server`: the DSN it was made with."""
        self._conn = conn
        self._template = ensure_template(conn, server)
        self.server = server
        self._numbers = itertools.count(1)
        self._over: list[Database] = []
        self._run = f"lw_{os.getpid()}_{secrets.token_hex(3)}"
        if conn.info.server_version >= CLONES_FROM:
            conn.execute("set file_copy_method = clone")

    @property
    def template(self) -> str:
        return self._template

    def make(self) -> Database:
        """file_copy: the default way writes every page into the WAL, 50 ms for 10."""
        self._drop_over(but=1)
        name = f"{self._run}_{next(self._numbers)}"
        self._conn.execute(
            sql.SQL("create database {} template {} strategy file_copy").format(
                sql.Identifier(name), sql.Identifier(self._template)
            )
        )
        return Database(self.server, name)

    @contextmanager
    def lent(self) -> Iterator[Database]:
        """A fresh one for a while."""
        database = self.make()
        try:
            yield database
        finally:
            self.drop(database)

    def drop(self, database: Database) -> None:
        """Later: while its last sessions end, the server would wait for them in steps of 100 ms."""
        database.close()
        self._over.append(database)

    def close(self) -> None:
        self._drop_over(but=0)

    def _drop_over(self, *, but: int) -> None:
        """All but the last ones."""
        while len(self._over) > but:
            name = sql.Identifier(self._over.pop(0).name)
            self._conn.execute(sql.SQL("drop database {} with (force)").format(name))
