"""One PostgreSQL for the whole run, started by the first test that needs it.

The controller of the run offers a folder and holds one end of a pipe in it. Whichever process needs the server first
starts a holder there (`holder.py`), which owns the server until the pipe closes: when the run ends, or is killed.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

DSN = "LANEWAY_TEST_DSN"
FOLDER = "LANEWAY_TEST_RUN"
PIPE = "run.pipe"
LOCK = "holder.lock"
LOG = "holder.log"


@dataclass(frozen=True, slots=True)
class Offer:
    """The controller's side: the server lives no longer than this."""

    folder: Path
    pipe: int

    @classmethod
    def make(cls) -> Self:
        folder = Path(tempfile.mkdtemp(prefix="laneway-test-run-", dir=memory_or_disk()))
        # the server's account is another one where we are root
        folder.chmod(0o755)
        os.mkfifo(folder / PIPE, 0o600)
        os.environ[FOLDER] = str(folder)
        return cls(folder, os.open(folder / PIPE, os.O_RDWR))

    def close(self) -> None:
        os.environ.pop(FOLDER, None)
        os.close(self.pipe)
        lock = self.folder / LOCK
        if lock.exists():
            with locked(lock):
                pass  # the holder has let go: its server is stopped
        shutil.rmtree(self.folder, ignore_errors=True)


def memory_or_disk() -> str | None:
    memory = Path("/dev/shm")  # noqa: S108 -- folders are made by mkdtemp
    return str(memory) if memory.is_dir() and os.access(memory, os.W_OK) else None


@contextmanager
def locked(path: Path) -> Iterator[None]:
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def superuser_dsn() -> str:
    """The server of this run, started where it is not."""
    given = os.environ.get(DSN)
    if given:
        return given
    folder = Path(os.environ[FOLDER])
    note = folder / "dsn"
    with locked(folder / "start.lock"):
        if not note.exists():
            found = start_holder(folder)
            note.touch(mode=0o600)
            note.write_text(found)
        return note.read_text()


def start_holder(folder: Path) -> str:
    """Starts the process that owns the server; it answers with the DSN, or ends."""
    with (folder / LOG).open("w") as log:
        holder = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("holder.py")), str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            # Ctrl-C is for the run; the holder ends when the run has
            start_new_session=True,
        )
    assert holder.stdout is not None
    with holder.stdout:
        found = holder.stdout.readline().strip()
    if not found:
        holder.wait()
        raise RuntimeError(f"the test server did not start:\n{(folder / LOG).read_text()}")
    # it outlives us where we are a worker of xdist: nobody waits for it
    holder.returncode = 0
    return found
