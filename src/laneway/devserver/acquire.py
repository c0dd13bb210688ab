"""Which of the two a caller becomes on a folder: the holder of its lock, or the guest of the holder's server."""

import time
from pathlib import Path

from laneway.devserver.cluster import check_siblings, superuser_password
from laneway.devserver.command import check_joinable
from laneway.devserver.errors import UnusableFolderError
from laneway.devserver.folder_lock import FolderLock, noted_holder
from laneway.devserver.leftover import POLL
from laneway.devserver.options import ServerOptions
from laneway.devserver.pid_file import PidFile, answers, read_pid_file
from laneway.devserver.places import Place, folder_of_project

# Longer than initdb and a recovery of another owner take.
PATIENCE_OF_JOINER = 330.0


def chosen_place(options: ServerOptions, major: int) -> Place:
    """The folder asked for, or the default one of this major version; another version's data there is refused."""
    if options.data_dir is not None:
        return Place(without_line_ends(options.data_dir.resolve()))
    place = Place(folder_of_project().resolve() / f"pg{major}")
    check_siblings(place, major)
    return place


def without_line_ends(folder: Path) -> Path:
    if len(str(folder).splitlines()) == 1:
        return folder
    raise UnusableFolderError(
        f"data_dir: {str(folder)!r} holds a line end, and postmaster.pid is read by lines",
        hint="Choose another data_dir.",
    )


def lock_or_server(place: Place, options: ServerOptions) -> FolderLock | PidFile:
    """Tries both until one succeeds: an owner may still be making the cluster, or be ending its server."""
    deadline = time.monotonic() + PATIENCE_OF_JOINER
    while time.monotonic() < deadline:
        lock = FolderLock.try_take(place.lock_file)
        if lock is not None:
            return lock
        server = ready_server(place)
        if server is not None:
            check_joinable(server, options)
            return server
        time.sleep(POLL)
    raise UnusableFolderError(
        f"data_dir: process {noted_holder(place.lock_file)} holds {place.lock_file}, and no server answers there",
        hint="End that process, or choose another data_dir.",
    )


def ready_server(place: Place) -> PidFile | None:
    found = read_pid_file(place.data_dir)
    if found is None or not found.is_ready or not answers(found, superuser_password(place)):
        return None
    return found


def major_version_of(data_dir: Path) -> int:
    return int((data_dir / "PG_VERSION").read_text())
