"""Child processes as the server's account whose life is bound to ours."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from laneway.devserver import launch
from laneway.devserver.account import Account


def launch_command(account: Account, program: Path, arguments: Sequence[str], *, log: Path | None = None) -> list[str]:
    launcher = [sys.executable, "-I", "-S", str(Path(launch.__file__).resolve())]
    who = [str(os.getpid()), str(account.uid), str(account.gid), str(log or "-")]
    return [*launcher, *who, str(program), *arguments]


def clean_environment() -> dict[str, str]:
    """Our environment without what would move PostgreSQL: PG* variables, and messages that cannot be read back."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_", "LANG"))}
    return kept | {"LC_ALL": "C"}


def run_to_end(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Runs what the launcher makes: initdb, say, which ends with us."""
    return run_as(None, command)


def run_as(account: Account | None, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Runs a program for moments, without a launcher; as the account if we are root and one is given."""
    other = account if os.geteuid() == 0 else None
    return subprocess.run(
        command,
        user=other.uid if other else None,
        group=other.gid if other else None,
        extra_groups=[] if other else None,
        cwd="/",
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )


class ServerProcess:
    """A server in a process group of its own, forked and reaped by a thread that lives exactly as long as it.

    The parent-death signal is sent when the forking *thread* ends. A fork from the caller's thread would tie the server
    to that thread; this one ends only with the server or with the whole process.
    """

    def __init__(self, command: Sequence[str], *, environment: Mapping[str, str]) -> None:
        self._command = command
        self._environment = environment
        self._thread = threading.Thread(target=self._keep, name="laneway-devserver", daemon=True)
        self._forked = threading.Event()
        self._child: subprocess.Popen[str] | None = None
        self._failure: Exception | None = None
        self._launcher_words = ""

    def start(self) -> None:
        self._thread.start()
        self._forked.wait()
        if self._failure is not None:
            raise self._failure

    @property
    def pid(self) -> int:
        return self._running_child().pid

    @property
    def exit_code(self) -> int | None:
        return None if self._thread.is_alive() else self._running_child().returncode

    @property
    def launcher_words(self) -> str:
        """What the launcher said before it became the server, once the server has ended."""
        return "" if self._thread.is_alive() else self._launcher_words

    def signal(self, number: signal.Signals) -> None:
        self._running_child().send_signal(number)

    def ended_within(self, seconds: float) -> bool:
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _running_child(self) -> "subprocess.Popen[str]":
        if self._child is None:
            raise RuntimeError("the server process was not started")
        return self._child

    def _keep(self) -> None:
        try:
            self._child = self._fork()
        except OSError as failure:
            self._failure = failure
            return
        finally:
            self._forked.set()
        with self._child as child:
            # The launcher's stderr ends when it has become the server, whose output goes to its log.
            self._launcher_words = child.stderr.read() if child.stderr else ""
            child.wait()

    def _fork(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            self._command,
            cwd="/",
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            process_group=0,
        )
