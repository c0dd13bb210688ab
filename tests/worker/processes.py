"""Workers as processes of their own, killed by real signals; conditions are waited for, with a deadline."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["WorkerProcess", "until"]

PROGRAMS = Path(__file__).parent / "programs"
DEADLINE = 30.0


def until(condition: Callable[[], object], what: str = "") -> None:
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline, f"not within {DEADLINE:g} s: {what or condition}"
        time.sleep(0.02)


class WorkerProcess:
    """One `laneway worker`."""

    def __init__(self, dsn: str, log: Path, *options: str) -> None:
        self.log = log
        with log.open("w") as stream:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "laneway", "worker", "--app", "shop_jobs:app", "--lease", "5", *options],
                cwd=PROGRAMS,
                env={**os.environ, "LANEWAY_DATABASE_URL": dsn},
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
            )

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def wait(self) -> int:
        return self._process.wait(DEADLINE)

    def said(self) -> str:
        return self.log.read_text()

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        if self.is_running:
            self._process.kill()
        self._process.wait()
