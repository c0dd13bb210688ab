"""Where the data of a server lies, and everything that belongs to it.

A cluster's folder has neighbours of the same name: `.lock` (see `folder_lock.py`), `.password` (of the superuser, mode
0600, ours and not the server's) and, while initdb works, `.new`, so that a cluster is there whole or not at all.
"""

import os
import re
import shutil
import stat
import tempfile
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from laneway.devserver.account import Account
from laneway.devserver.errors import UnusableFolderError

# 107 bytes on Linux, 103 on macOS.
LONGEST_SOCKET_PATH = 103
LONGEST_SOCKET_NAME = ".s.PGSQL.65535"


@dataclass(frozen=True, slots=True)
class Place:
    """A cluster's folder and its neighbours."""

    data_dir: Path

    @property
    def name(self) -> str:
        """Unique on this machine and short: in titles of processes, and for a socket folder elsewhere."""
        return f"laneway-{sha256(os.fsencode(self.data_dir)).hexdigest()[:16]}"

    @property
    def lock_file(self) -> Path:
        return self.data_dir.with_name(f"{self.data_dir.name}.lock")

    @property
    def password_file(self) -> Path:
        return self.data_dir.with_name(f"{self.data_dir.name}.password")

    @property
    def staging(self) -> Path:
        return self.data_dir.with_name(f"{self.data_dir.name}.new")

    @property
    def log_file(self) -> Path:
        return self.data_dir / "server.log"


def folder_of_all() -> Path:
    """Root's common folder, which the server's account can enter: never a home of mode 0700."""
    for folder in (Path("/var/lib/laneway/dev"), Path(tempfile.gettempdir()) / "laneway-root-dev"):
        try:
            return ours(folder, mode=0o755)
        except OSError:
            continue
    raise UnusableFolderError(
        f"data_dir: neither /var/lib nor {tempfile.gettempdir()} can be written",
        hint="Give a data_dir in a folder that root may write.",
    )


def folder_of_project() -> Path:
    """The place of this user and project directory: the clusters in it are named after their major version."""
    project = project_directory(Path.cwd())
    short_hash = sha256(os.fsencode(project)).hexdigest()[:12]
    if os.geteuid() == 0:
        return folder_of_all() / short_hash
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", project.name) or "root"
    return data_home() / "laneway" / f"{name}-{short_hash}"


def project_directory(here: Path) -> Path:
    """The nearest folder upwards that looks like a project, so that a start from a subfolder finds the same data."""
    marks = ("pyproject.toml", ".git")
    return next((folder for folder in (here, *here.parents) if any((folder / m).exists() for m in marks)), here)


def data_home() -> Path:
    named = Path(os.environ.get("XDG_DATA_HOME", ""))
    return named if named.is_absolute() else Path.home() / ".local" / "share"


def folder_of_temporary() -> Path:
    """Where ephemeral clusters without a place of their own go."""
    if os.geteuid() == 0:
        return folder_of_all()
    return ours(Path(tempfile.gettempdir()) / f"laneway-{os.geteuid()}", mode=0o700)


def socket_dir(place: Place, account: Account) -> Path:
    """The cluster's own folder, which is 0700; a short one when that cannot hold sockets."""
    if can_hold_sockets(place.data_dir):
        return place.data_dir
    for folder in short_socket_dirs(place, account.uid):
        return owned_by(account, folder)
    raise UnusableFolderError(
        f"data_dir: neither {place.data_dir} nor the temporary folder can hold a socket",
        hint=f"Choose a data_dir of at most {LONGEST_SOCKET_PATH - len(LONGEST_SOCKET_NAME) - 1} bytes, "
        "without a comma.",
    )


def short_socket_dirs(place: Place, uid: int) -> list[Path]:
    """Named after the data, so that each start finds and reuses what a killed one left."""
    name = f"{place.name}-{uid}"
    parents = (Path(tempfile.gettempdir()), Path("/tmp"))  # noqa: S108 -- made 0700, its owner is checked
    return [parent / name for parent in parents if can_hold_sockets(parent / name)]


def can_hold_sockets(folder: Path) -> bool:
    """Short enough for a socket's address, and without the comma that separates hosts in a DSN."""
    return "," not in str(folder) and len(os.fsencode(folder / LONGEST_SOCKET_NAME)) <= LONGEST_SOCKET_PATH


def owned_by(account: Account, folder: Path) -> Path:
    """A 0700 folder of the account in a folder where everybody may write: made by us, or proven to be as we make it."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        pass
    else:
        os.chown(folder, account.uid, account.gid)
    found = folder.lstat()
    if stat.S_ISDIR(found.st_mode) and found.st_uid == account.uid and not found.st_mode & 0o077:
        return folder
    raise UnusableFolderError(
        f"socket: {folder} is not a folder of {account.name} alone",
        hint="Somebody else made it. Remove it, or choose a shorter data_dir, which then holds the socket.",
    )


def ours(folder: Path, *, mode: int) -> Path:
    """A folder that is ours to trust: no link, nobody else may write. No existing mode is changed."""
    make_folders(folder, mode=mode)
    found = folder.lstat()
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022:
        return folder
    raise UnusableFolderError(
        f"data_dir: {folder} is not a folder that we alone may write",
        hint="Remove it or give a data_dir.",
    )


def make_folders(folder: Path, *, mode: int) -> None:
    """Makes the missing ones, with this mode whatever the umask is."""
    missing = [part for part in (folder, *folder.parents) if not part.exists()]
    for part in reversed(missing):
        part.mkdir(mode=0o700, exist_ok=True)
        part.chmod(mode)


def make_room_for(place: Place, account: Account) -> None:
    """Makes the folder around a cluster and checks that we can write there and the server can get there."""
    parent = place.data_dir.parent
    try:
        make_folders(parent, mode=0o755 if os.geteuid() == 0 else 0o700)
    except OSError as failure:
        raise UnusableFolderError(
            f"data_dir: {parent} cannot be made ({failure.strerror})",
            hint="Give a data_dir in a folder where this user may write, or set XDG_DATA_HOME.",
        ) from failure
    if not os.access(parent, os.W_OK | os.X_OK):
        raise UnusableFolderError(
            f"data_dir: the lock and password files belong beside it, and {parent} cannot be written",
            hint="Choose a data_dir in a folder where this user may write.",
        )
    if os.geteuid() == 0 and not account.can_enter(parent):
        raise UnusableFolderError(
            f"data_dir: the server runs as {account.name}, who cannot enter {parent}",
            hint="Choose a data_dir outside of homes and other closed folders, or leave it out.",
        )


def remove_socket_dir(place: Place) -> None:
    """Removes the short folder if there is one; the sockets in the cluster's own folder PostgreSQL removes itself."""
    if can_hold_sockets(place.data_dir) or not place.data_dir.exists():
        return
    uid = place.data_dir.stat().st_uid
    for folder in short_socket_dirs(place, uid):
        if folder.exists() and folder.lstat().st_uid == uid:
            shutil.rmtree(folder)
