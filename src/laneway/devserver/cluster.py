"""A cluster's data: made whole by initdb, of the right version, opened by a password that only we can read."""

import os
import secrets
import shutil
from pathlib import Path

from laneway.devserver.account import Account
from laneway.devserver.binaries import Binaries
from laneway.devserver.errors import OtherMajorVersionError, ServerDidNotStartError, UnusableFolderError
from laneway.devserver.places import Place
from laneway.devserver.process import launch_command, run_to_end

SUPERUSER = "postgres"
FIRST_WITH_BUILTIN_LOCALES = 17
SHOWN_LINES = 12


def prepare_cluster(place: Place, account: Account, *, binaries: Binaries, durable: bool) -> None:
    """Makes the cluster if there is none, else checks that this server can serve it. Under the folder's lock."""
    if place.staging.exists():
        shutil.rmtree(place.staging)
    if holds_files(place.data_dir):
        check_version(place, binaries.major)
        superuser_password(place)
    else:
        make_cluster(place, account, binaries=binaries, durable=durable)


def holds_files(folder: Path) -> bool:
    return folder.exists() and any(folder.iterdir())


def check_version(place: Place, major: int) -> None:
    version_file = place.data_dir / "PG_VERSION"
    if not version_file.exists():
        raise UnusableFolderError(
            f"data_dir: {place.data_dir} is not empty and holds no PostgreSQL data",
            hint="Choose an empty or new folder.",
        )
    written_by = version_file.read_text().strip()
    if written_by != str(major):
        raise other_major_version(place.data_dir, written_by=written_by, major=major)


def check_siblings(place: Place, major: int) -> None:
    """Refuses an empty start at the default place beside the data of another major version."""
    if holds_files(place.data_dir):
        return
    for version_file in sorted(place.data_dir.parent.glob("pg*/PG_VERSION")):
        raise other_major_version(version_file.parent, written_by=version_file.read_text().strip(), major=major)


def other_major_version(folder: Path, *, written_by: str, major: int) -> OtherMajorVersionError:
    return OtherMajorVersionError(
        f"data_dir: {folder} holds data of PostgreSQL {written_by}, and the server found is {major}",
        hint=(
            f"Choose another data_dir, or carry it over: pg_dump and psql of PostgreSQL {written_by} read the old "
            "data, an empty data_dir takes it."
        ),
    )


def superuser_password(place: Place) -> str:
    try:
        opened = os.open(place.password_file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as failure:
        raise UnusableFolderError(
            f"data_dir: {place.password_file}, the password of this data, cannot be read ({failure.strerror})",
            hint="Put the file back, or remove the data folder to start anew, or choose another data_dir.",
        ) from failure
    with open(opened, encoding="ascii") as file:  # noqa: PTH123 -- opened above, without following a link
        return file.read().strip()


def make_cluster(place: Place, account: Account, *, binaries: Binaries, durable: bool) -> None:
    """In a folder of the account beside the place; then the password, then the data appear by renames."""
    password = secrets.token_urlsafe(24)
    place.staging.mkdir(mode=0o700)
    handed_over = place.staging / "password"
    write_secret(handed_over, password)
    os.chown(handed_over, account.uid, account.gid)
    os.chown(place.staging, account.uid, account.gid)
    made = place.staging / "data"
    initialise(made, account, binaries=binaries, arguments=initdb_arguments(handed_over, binaries, durable=durable))
    place.password_file.unlink(missing_ok=True)
    write_secret(place.password_file, password)
    made.rename(place.data_dir)
    shutil.rmtree(place.staging)


def initialise(data: Path, account: Account, *, binaries: Binaries, arguments: list[str]) -> None:
    answer = run_to_end(launch_command(account, binaries.initdb, [f"--pgdata={data}", *arguments]))
    if answer.returncode != 0:
        raise ServerDidNotStartError(
            f"data_dir: initdb of {binaries.version} could not make {data} as {account.name}",
            detail="\n".join(answer.stdout.strip().splitlines()[-SHOWN_LINES:]),
            hint="Mend what its last lines name, or choose another data_dir.",
        )


def initdb_arguments(password_file: Path, binaries: Binaries, *, durable: bool) -> list[str]:
    """The same order of text everywhere (by code point), passwords for everybody, checksums on every page."""
    builtin = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
    return [
        f"--username={SUPERUSER}",
        f"--pwfile={password_file}",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--data-checksums",
        "--no-instructions",
        *(builtin if binaries.major >= FIRST_WITH_BUILTIN_LOCALES else ["--locale=C.UTF-8", "--lc-messages=C"]),
        *([] if durable else ["--no-sync"]),
    ]


def write_secret(path: Path, secret: str) -> None:
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(opened, "w", encoding="ascii") as file:  # noqa: PTH123 -- opened above, for us alone
        file.write(secret + "\n")
        file.flush()
        os.fsync(file.fileno())
