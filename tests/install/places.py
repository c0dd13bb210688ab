"""Servers, databases and small releases for the tests of install and upgrade."""

import itertools
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from psycopg import sql

from laneway.database.catalogue import Catalogue, read_catalogue
from laneway.database.install import InstallOptions, InstallResult, install
from laneway.database.patience import Patience
from laneway.database.sqlfiles import SqlFiles
from laneway.devserver import DevServer

DEBIAN = Path("/usr/lib/postgresql/15/bin")


@dataclass
class Place:
    """A database and a schema name that nobody else uses: roles belong to the whole server."""

    server: DevServer
    database: str
    schema: str
    folder: Path
    numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def dsn(self) -> str:
        return self.server.dsn(self.database)

    def connect(self, login: str | None = None) -> psycopg.Connection:
        dsn = self.server.dsn(self.database, user=login, password=login) if login else self.dsn
        return psycopg.connect(dsn, autocommit=True)

    def run(self, statement: str, *parameters: object, login: str | None = None) -> list[tuple]:
        """One statement as the superuser (or a login whose password is its name), in the schema."""
        with self.connect(login) as conn:
            conn.execute(sql.SQL("set search_path to {}, pg_temp").format(sql.Identifier(self.schema)))
            cursor = conn.execute(statement, parameters or None)
            return cursor.fetchall() if cursor.description else []

    def install(
        self, files: SqlFiles, *, login: str | None = None, schema: str | None = None, **options: bool
    ) -> InstallResult:
        with self.connect(login) as conn:
            return install(
                conn,
                schema=schema or self.schema,
                files=files,
                options=InstallOptions(**options) if options else None,
                patience=Patience(),
            )

    def functions_named(self, name: str) -> list[tuple]:
        """The signatures that a name has in the schema."""
        return self.run(
            "select p.oid::regprocedure::text from pg_proc p join pg_namespace n on n.oid = p.pronamespace"
            " where n.nspname = current_schema() and p.proname = %s",
            name,
        )

    def catalogue(self, *, schema: str | None = None) -> Catalogue:
        with self.connect() as conn:
            return read_catalogue(conn, schema=schema or self.schema)

    def login(self, *groups: str, attributes: str = "") -> str:
        """A login in these groups of the install."""
        name = f"login_{secrets.token_hex(4)}"
        with self.connect() as conn:
            conn.execute(f"create role {name} login password '{name}' {attributes}")
            for group in groups:
                conn.execute(
                    sql.SQL("grant {} to {}").format(sql.Identifier(f"{self.schema}_{group}"), sql.Identifier(name))
                )
        return name

    def elsewhere(self) -> "Place":
        """The same schema name in another database of the same server."""
        other = f"place_{secrets.token_hex(4)}"
        with psycopg.connect(self.server.dsn(), autocommit=True) as conn:
            conn.execute(f"create database {other}")
        return Place(self.server, other, self.schema, self.folder)

    def release(self, files: Mapping[str, str], *, name: str = "1.0.0") -> SqlFiles:
        """A release from the texts of its files."""
        folder = self.folder / f"release{next(self.numbers)}"
        for path, text in files.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return SqlFiles.from_directory(folder, release=name)


def schema_in(server: DevServer, database: str, folder: Path, *, schema: str | None = None) -> Place:
    """A schema name that is not in use, in a database that others use as well."""
    return Place(server, database, schema or f"lane_{secrets.token_hex(4)}", folder)


@contextmanager
def place_on(server: DevServer, folder: Path, *, schema: str | None = None) -> Iterator[Place]:
    """A database of its own."""
    database = f"place_{os.getpid()}_{secrets.token_hex(4)}"
    with psycopg.connect(server.dsn(), autocommit=True) as conn:
        conn.execute(f"create database {database}")
        yield schema_in(server, database, folder, schema=schema)
        conn.execute(f"drop database {database} with (force)")
