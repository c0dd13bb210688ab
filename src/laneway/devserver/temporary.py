"""Places of ephemeral clusters: new for each start, and those of killed owners removed by the next one."""

import os
import shutil
import tempfile
from pathlib import Path

from laneway.devserver.folder_lock import EPHEMERAL, FolderLock
from laneway.devserver.leftover import clear_leftovers
from laneway.devserver.places import Place, folder_of_all, remove_socket_dir

HIDDEN = ".laneway-"


def new_temporary_place(major: int) -> tuple[Place, FolderLock]:
    """The folder gets its name with the lock already held: nobody takes it for one left over."""
    common = folder_of_all() if os.geteuid() == 0 else Path(tempfile.gettempdir()).resolve()
    remove_abandoned(common)
    hidden = Path(tempfile.mkdtemp(prefix=HIDDEN, dir=common))
    hidden.chmod(0o711 if os.geteuid() == 0 else 0o700)
    lock = FolderLock.try_take(hidden / f"pg{major}.lock")
    if lock is None:
        raise RuntimeError(f"somebody else holds a lock in {hidden}, which was made this moment")
    named = common / (name_start() + hidden.name.removeprefix(HIDDEN))
    lock.note(EPHEMERAL)
    hidden.rename(named)
    lock.path = named / lock.path.name
    return Place(named / f"pg{major}"), lock


def remove_abandoned(common: Path) -> None:
    for folder in common.glob(f"{name_start()}*"):
        if folder.lstat().st_uid == os.geteuid():
            remove_if_abandoned(folder)


def remove_if_abandoned(folder: Path) -> None:
    for lock_file in folder.glob("pg*.lock"):
        lock = FolderLock.try_take(lock_file)
        if lock is None:
            return
        with lock:
            place = Place(lock_file.with_suffix(""))
            clear_leftovers(place)
            remove_socket_dir(place)
            shutil.rmtree(folder)


def name_start() -> str:
    return f"laneway-ephemeral-{os.geteuid()}-"
