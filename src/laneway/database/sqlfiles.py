"""The SQL files of a release as one value: read and checked once, before anything touches a database.

migrations/NNNN_name.sql    run once, in order; `-- no transaction` on line 1: one repeatable statement of its own
functions/order.txt         the function files in their order, one name a line
functions/<name>.sql        `create or replace`, plain SQL without schema names
access.csv                  the access table
pins.csv                    function,settings: planner settings as `name=value`, separated by blanks
"""

import csv
import hashlib
import io
import re
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path

from laneway.database.access import AccessTable
from laneway.database.install_errors import InstallError
from laneway.database.sqltext import Made, Statement, statements
from laneway.sql import installer_text, packaged
from laneway.version import __version__

__all__ = ["FunctionFile", "Migration", "Pin", "SqlFiles"]

_OUTSIDE = "-- no transaction"
_MIGRATION_NAME = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")
_SETTING = re.compile(r"([a-z_][a-z0-9_.]*)=(\S+)")


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        return _checksum(self.text)

    @property
    def is_outside(self) -> bool:
        """Runs outside a transaction, as `create index concurrently` must."""
        return self.text.partition("\n")[0].strip() == _OUTSIDE


@dataclass(frozen=True, slots=True)
class FunctionFile:
    name: str
    text: str

    @property
    def checksum(self) -> str:
        return _checksum(self.text)

    @property
    def statements(self) -> tuple[Statement, ...]:
        return statements(self.text)

    @property
    def makes(self) -> tuple[Made, ...]:
        return tuple(dict.fromkeys(made for statement in self.statements for made in statement.makes))


@dataclass(frozen=True, slots=True)
class Pin:
    function: str
    settings: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class SqlFiles:
    """Everything an install is made from."""

    release: str
    migrations: tuple[Migration, ...]
    functions: tuple[FunctionFile, ...]
    access: AccessTable
    pins: tuple[Pin, ...]
    pins_checksum: str

    @classmethod
    def packaged(cls) -> "SqlFiles":
        """The files of this release."""
        return _load(packaged(), release=__version__)

    @classmethod
    def from_directory(cls, path: Path, *, release: str = __version__) -> "SqlFiles":
        """Files laid out like the packaged ones, for tests and for trying a change."""
        return _load(path, release=release)

    @property
    def makes(self) -> frozenset[Made]:
        return frozenset(made for file in self.functions for made in file.makes)


def _load(folder: Traversable, *, release: str) -> SqlFiles:
    pins = _read(folder, "pins.csv") if folder.joinpath("pins.csv").is_file() else "function,settings\n"
    files = SqlFiles(
        release=release,
        migrations=_load_migrations(folder),
        functions=_load_functions(folder),
        access=AccessTable.parse(_read(folder, "access.csv")),
        pins=_parse_pins(pins),
        pins_checksum=_checksum(pins),
    )
    _refuse_made_twice(files)
    _refuse_unknown_pins(files)
    return files


def _load_migrations(folder: Traversable) -> tuple[Migration, ...]:
    found = [Migration(0, "0000_bookkeeping", installer_text("bookkeeping.sql"))]
    within = folder.joinpath("migrations")
    names = sorted(entry.name for entry in within.iterdir() if entry.name.endswith(".sql")) if within.is_dir() else []
    for name in names:
        match = _MIGRATION_NAME.fullmatch(name)
        if match is None:
            raise InstallError(f'migrations: "{name}" is not a name for one', hint="Call it NNNN_name.sql, lower case.")
        if int(match[1]) == found[-1].number:
            raise InstallError(
                f'migrations: "{name}" has the number of "{found[-1].name}"', hint="Give it the next one."
            )
        found.append(Migration(int(match[1]), name.removesuffix(".sql"), _read(within, name)))
    for migration in found:
        _check_migration(migration)
    return tuple(found)


def _check_migration(migration: Migration) -> None:
    parts = statements(migration.text)
    if migration.is_outside and len(parts) != 1:
        raise InstallError(
            f'migrations: "{migration.name}" says "{_OUTSIDE}" and holds {len(parts)} statements',
            hint="Such a migration holds exactly one, so that it can be repeated.",
        )
    for statement in parts:
        if statement.makes:
            raise InstallError(
                f'migrations: "{migration.name}", line {statement.line} makes {statement.makes[0]}',
                hint="Functions and views live in functions/, where their only text is.",
            )


def _load_functions(folder: Traversable) -> tuple[FunctionFile, ...]:
    within = folder.joinpath("functions")
    lines = (line.partition("#")[0].strip() for line in _read(within, "order.txt").splitlines())
    order = [f"{line.removesuffix('.sql')}.sql" for line in lines if line]
    present = {entry.name for entry in within.iterdir() if entry.name.endswith(".sql")}
    for name in order:
        if name not in present or order.count(name) > 1:
            wrong = "is listed twice" if name in present else "is not there"
            raise InstallError(
                f'functions/order.txt: "{name}" {wrong}',
                hint="List each file of functions/ once.",
            )
    for name in sorted(present - set(order)):
        raise InstallError(f'functions/order.txt: "{name}" is not listed', hint="Add it where its turn is.")
    files = tuple(FunctionFile(name, _read(within, name)) for name in order)
    for file in files:
        _check_functions(file)
    return files


def _check_functions(file: FunctionFile) -> None:
    for statement in file.statements:
        if statement.words[0] == "create" and not statement.makes:
            said = " ".join(statement.words[:4])
            raise InstallError(
                f'functions/{file.name}, line {statement.line}: "{said}" cannot be applied again',
                hint="Write create or replace function, procedure or view; tables belong to migrations.",
            )
        if statement.words[0] == "create" and statement.words[5:6] == (".",):
            said = "".join(statement.words[4:7])
            raise InstallError(
                f'functions/{file.name}, line {statement.line}: "{said}" names a schema',
                hint="Leave the schema out: the installer sets the search path.",
            )


def _parse_pins(text: str) -> tuple[Pin, ...]:
    header, *lines = [line for line in csv.reader(io.StringIO(text)) if line]
    if header != ["function", "settings"]:
        raise InstallError(f'pins.csv: the header is "{",".join(header)}"', hint="Make it function,settings.")
    return tuple(_pin(line) for line in lines)


def _pin(line: list[str]) -> Pin:
    settings = (
        [_SETTING.fullmatch(word) for word in line[1].split()] if len(line) == len(("function", "settings")) else []
    )
    if not settings or None in settings:
        raise InstallError(f'pins.csv: "{",".join(line)}" is not a pin', hint="Write name,setting=value setting=value.")
    return Pin(line[0], tuple((match[1], match[2]) for match in settings if match))


def _refuse_made_twice(files: SqlFiles) -> None:
    maker: dict[str, str] = {}
    for file in files.functions:
        for made in file.makes:
            if maker.setdefault(made.name, file.name) != file.name:
                raise InstallError(
                    f"functions: {made} is made by {maker[made.name]} and by {file.name}",
                    hint="Keep its only text in one.",
                )


def _refuse_unknown_pins(files: SqlFiles) -> None:
    made = {item.name for item in files.makes if item.kind == "function"}
    for pin in files.pins:
        if pin.function not in made:
            raise InstallError(
                f'pins.csv: no file makes function "{pin.function}"', hint="Mend the name or take it out."
            )


def _read(folder: Traversable, name: str) -> str:
    file = folder.joinpath(name)
    if not file.is_file():
        raise InstallError(f'"{file}" is missing', hint="Reinstall the package, or give a folder laid out like it.")
    return file.read_text("utf-8")


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
