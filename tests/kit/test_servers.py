"""The server of a run: shared by its processes, gone with it."""

import fcntl
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from kit.server import DSN, FOLDER, LOCK, Offer, superuser_dsn

# Offers a server, asks for it, says where, and waits to be killed.
CONTROLLER = """
import sys
from kit.server import Offer, superuser_dsn
offer = Offer.make()
print(offer.folder, flush=True)
print(superuser_dsn(), flush=True)
sys.stdin.read()
"""


def test_a_killed_run_leaves_no_server():
    environment = {name: value for name, value in os.environ.items() if name not in {DSN, FOLDER}}
    environment["PYTHONPATH"] = str(Path(__file__).parents[1])
    with subprocess.Popen(
        [sys.executable, "-c", CONTROLLER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as run:
        assert run.stdout is not None
        folder, dsn = (run.stdout.readline().strip() for _ in range(2))
        server = os.pidfd_open(server_pid(dsn))
        with (Path(folder) / LOCK).open() as lock:
            run.send_signal(signal.SIGKILL)
            # the holder keeps this lock until it has stopped the server and removed the folder
            fcntl.flock(lock, fcntl.LOCK_EX)
        assert select.select([server], [], [], 10)[0]
        os.close(server)
    assert not Path(folder).exists()


def server_pid(dsn: str) -> int:
    with psycopg.connect(dsn) as conn:
        row = conn.execute("select pg_read_file('postmaster.pid')").fetchone()
    assert row is not None
    return int(row[0].split()[0])


def test_all_processes_of_a_run_get_one_server():
    program = "from kit.server import superuser_dsn; print(superuser_dsn())"
    found = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
        )
        for _ in range(3)
    ]
    assert {process.communicate()[0].strip() for process in found} == {superuser_dsn()}


def test_a_server_that_is_given_is_used(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(DSN, "host=elsewhere")
    assert superuser_dsn() == "host=elsewhere"


def test_a_server_that_does_not_start_says_why(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(DSN, raising=False)
    monkeypatch.setenv(FOLDER, os.environ.get(FOLDER, ""))
    offer = Offer.make()
    try:
        (offer.folder / "data").write_text("a file is in the way")
        with pytest.raises(RuntimeError, match="the test server did not start:"):
            superuser_dsn()
    finally:
        offer.close()
