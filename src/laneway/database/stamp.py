"""What an install leaves behind about itself: the applied migrations and the stamp."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict, cast

import psycopg
from psycopg import sql
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from laneway.database.names import Names
from laneway.database.options import InstallOptions
from laneway.database.sqlfiles import Migration, SqlFiles
from laneway.database.sqltext import Made, identifier, trusted
from laneway.sql import installer_text

__all__ = [
    "Applied",
    "Stamp",
    "fingerprints_now",
    "read_applied",
    "read_stamp",
    "record_statement",
    "restamp",
    "stamp_statement",
]


class FileRecord(TypedDict):
    checksum: str
    makes: list[list[str]]


@dataclass(frozen=True, slots=True)
class Applied:
    """A migration that the database has."""

    number: int
    name: str
    checksum: str
    release: str
    applied_at: datetime


@dataclass(frozen=True, slots=True)
class Stamp:
    """What the last apply left."""

    release: str
    options: InstallOptions
    files: Mapping[str, FileRecord]
    access_checksum: str
    pins_checksum: str
    catalogue: Mapping[str, str]

    @property
    def makes(self) -> frozenset[Made]:
        return frozenset(Made(kind, name) for record in self.files.values() for kind, name in record["makes"])


def read_applied(conn: psycopg.Connection, names: Names) -> tuple[Applied, ...] | None:
    """The applied migrations in order; None where nothing was ever installed."""
    there = conn.execute("select to_regclass(%s)", [f"{identifier(names.schema)}.install_migration"]).fetchone()
    if there == (None,):
        return None
    with conn.cursor(row_factory=class_row(Applied)) as cursor:
        rows = cursor.execute(
            "select number, name, checksum, release, applied_at from install_migration order by number"
        )
        return tuple(rows.fetchall())


def read_stamp(conn: psycopg.Connection) -> Stamp | None:
    """The stamp, None between the steps of a first install."""
    row = conn.execute(
        "select release, options, files, access_checksum, pins_checksum, catalogue from install_stamp"
    ).fetchone()
    if row is None:
        return None
    return Stamp(
        row[0], InstallOptions.from_json(row[1]), cast("dict[str, FileRecord]", row[2]), row[3], row[4], row[5]
    )


def record_statement(migration: Migration, *, release: str) -> sql.Composed:
    """Writes down that it was applied, in the transaction that applied it where there is one."""
    return sql.SQL(
        "insert into install_migration (number, name, checksum, release, applied_at)"
        " values ({}, {}, {}, {}, clock_timestamp())"
    ).format(migration.number, migration.name, migration.checksum, release)


def fingerprints_now() -> sql.Composed:
    """The fingerprints of the catalogue, taken by the server itself."""
    return sql.SQL(
        """(
    select jsonb_object_agg(c.object, encode(sha256(convert_to(array_to_string(c.lines, chr(10)), 'UTF8')), 'hex'))
    from (
{}
    ) c
)"""
    ).format(trusted(installer_text("catalogue.sql").rstrip()))


def file_records(files: SqlFiles) -> dict[str, FileRecord]:
    return {
        file.name: FileRecord(checksum=file.checksum, makes=[[made.kind, made.name] for made in file.makes])
        for file in files.functions
    }


def stamp_statement(files: SqlFiles, *, options: InstallOptions, catalogue: sql.Composable) -> sql.Composed:
    """Replaces the one row."""
    return sql.SQL(
        """insert into install_stamp (release, options, files, access_checksum, pins_checksum, catalogue, applied_at)
values ({}, {}, {}, {}, {}, {}, clock_timestamp())
on conflict (id) do update set release = excluded.release, options = excluded.options, files = excluded.files,
    access_checksum = excluded.access_checksum, pins_checksum = excluded.pins_checksum,
    catalogue = excluded.catalogue, applied_at = excluded.applied_at"""
    ).format(
        files.release,
        Jsonb(options.to_json()),
        Jsonb(file_records(files)),
        files.access.checksum,
        files.pins_checksum,
        catalogue,
    )


def restamp(conn: psycopg.Connection, *, before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """What a step of an upgrade changed is not drift for the next one."""
    changed = {name: now for name, now in after.items() if before.get(name) != now}
    gone = [name for name in before if name not in after]
    conn.execute(
        "update install_stamp set catalogue = (catalogue || %s) - %s::text[]",
        [Jsonb(changed), gone],
    )
