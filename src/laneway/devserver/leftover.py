"""What a killed owner or a killed server left on a folder: ended and cleared, so that the next start begins clean.

Only the holder of the folder's lock comes here, so no owner lives. Its server may: for the moments of the fast shutdown
after the parent-death signal, or for ever where there is no such signal. It is stopped and not taken over, because a
server that is not our child would outlive us. A killed server leaves its file, and for a while the processes that
served connections: no new server may touch the data before they are gone.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from laneway.devserver.cluster import superuser_password
from laneway.devserver.errors import UnusableFolderError
from laneway.devserver.pid_file import PidFile, answers, is_alive, read_pid_file, runs_on
from laneway.devserver.places import Place, remove_socket_dir

PATIENCE = 30.0
PATIENCE_OF_ORPHANS = 5.0
POLL = 0.02


def clear_leftovers(place: Place) -> None:
    found = read_pid_file(place.data_dir)
    if found is None:
        return
    if is_alive(found.pid) and is_its_server(found, place):
        end_server(found)
    end_orphans(found, place)
    remove_stale_files(place)


def remove_stale_files(place: Place) -> None:
    """PostgreSQL forgives files whose number is nobody's; but it may be another program's by now, or a zombie's.

    It checks the shared memory once more without them.
    """
    for stale in (place.data_dir / "postmaster.pid", *place.data_dir.glob(".s.PGSQL.*")):
        stale.unlink(missing_ok=True)
    remove_socket_dir(place)


def is_its_server(found: PidFile, place: Place) -> bool:
    return runs_on(found) or answers(found, superuser_password(place))


def end_server(found: PidFile) -> None:
    """A fast shutdown; one that is shutting down already takes the signal as the same wish."""
    send(found.pid, signal.SIGINT)
    if not happens(lambda: not is_alive(found.pid), within=PATIENCE):
        raise UnusableFolderError(
            f"data_dir: process {found.pid}, left over on {found.data_dir}, does not end",
            hint=f"Look at what it does, end it (kill -QUIT {found.pid}) and start again.",
        )


def end_orphans(found: PidFile, place: Place) -> None:
    """Ends the processes of a killed server; a busy one would go on until it next speaks to its client.

    What should stay after that PostgreSQL refuses to start beside, and its log says so.
    """
    if sys.platform != "linux":
        return
    for number in (signal.SIGQUIT, signal.SIGKILL):
        for pid in orphans(place):
            send(pid, number)
        if happens(lambda: attached_count(found.shared_memory) == 0, within=PATIENCE_OF_ORPHANS):
            return


def orphans(place: Place) -> Iterator[int]:
    """Processes of a server on this place by their titles, which hold its name; all may read them.

    Where they work and what they map would tell as well, but root in a container may not look there.
    """
    owner = place.data_dir.stat().st_uid
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and has_title(folder, f"postgres: {place.name}: ", owner=owner):
            yield int(folder.name)


def has_title(process: Path, title: str, *, owner: int) -> bool:
    try:
        return process.stat().st_uid == owner and (process / "cmdline").read_bytes().startswith(title.encode())
    except OSError:  # it ended, or it is hidden from us
        return False


def attached_count(key_and_id: tuple[int, int] | None) -> int:
    rows = [line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    return sum(int(row[6]) for row in rows if (int(row[0]), int(row[1])) == key_and_id)


def send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def happens(condition: Callable[[], bool], *, within: float) -> bool:
    deadline = time.monotonic() + within
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL)
    return True
