"""`postmaster.pid`: what a running server, or one that was killed, says about itself."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import psycopg

from laneway.devserver.cluster import SUPERUSER

# From the start of the process to its readiness; recovery after a crash lies between.
LONGEST_START = 600


@dataclass(frozen=True, slots=True)
class PidFile:
    data_dir: Path
    pid: int
    started_at: int
    socket_port: int
    socket_dir: Path
    listens_on_tcp: bool
    shared_memory: tuple[int, int] | None
    is_ready: bool

    @property
    def port(self) -> int | None:
        return self.socket_port if self.listens_on_tcp else None


def read_pid_file(data_dir: Path) -> PidFile | None:
    """None when there is none, or one that is being written at this moment."""
    try:
        lines = (data_dir / "postmaster.pid").read_text("utf-8", "surrogateescape").splitlines()
    except FileNotFoundError:
        return None
    pid, _, started_at, port, socket, listens, memory, state = [*lines, *[""] * 8][:8]
    if not pid.strip().isdigit():
        return None
    return PidFile(
        data_dir=data_dir,
        pid=int(pid),
        started_at=int(started_at or 0),
        socket_port=int(port or 0),
        socket_dir=Path(socket),
        listens_on_tcp=bool(listens.strip()),
        shared_memory=key_and_id(memory),
        is_ready=state.strip() == "ready",
    )


def key_and_id(line: str) -> tuple[int, int] | None:
    numbers = [int(word) for word in line.split()]
    return (numbers[0], numbers[1]) if len(numbers) > 1 else None


def is_alive(pid: int) -> bool:
    """A zombie is dead: where nobody reaps orphans it would hold the folder for ever."""
    if sys.platform == "linux":
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
        except (FileNotFoundError, ProcessLookupError):
            return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def answers(server: PidFile, password: str) -> bool:
    """Says whether a connection reaches the very server of this file: the same data, the same start."""
    question = "select current_setting('data_directory'), extract(epoch from pg_postmaster_start_time())::bigint"
    try:
        with psycopg.connect(
            host=str(server.socket_dir),
            hostaddr="",  # else PGHOSTADDR would lead to another server
            port=server.socket_port,
            user=SUPERUSER,
            password=password,
            dbname="postgres",
            connect_timeout=5,
        ) as connection:
            row = connection.execute(question).fetchone()
    except psycopg.OperationalError:
        return False
    return row is not None and is_the_same(server, data_dir=row[0], ready_at=row[1])


def is_the_same(server: PidFile, *, data_dir: str, ready_at: int) -> bool:
    return Path(data_dir) == server.data_dir and 0 <= ready_at - server.started_at <= LONGEST_START


def runs_on(server: PidFile) -> bool:
    """Says whether the process is a server started on this folder, one that takes no connections included.

    After a reboot the number may belong to any program. Linux shows the arguments of each process to everybody;
    elsewhere only a connection can tell (see `answers`).
    """
    if sys.platform != "linux":
        return False
    try:
        arguments = Path(f"/proc/{server.pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return Path(os.fsdecode(arguments[0])).name == "postgres" and os.fsencode(server.data_dir) in arguments
