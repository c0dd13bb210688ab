"""What was acknowledged is there after the server was killed: fsync on, kill -9, start on the same data."""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

import psycopg
import pytest

from laneway.database.install import install
from laneway.devserver import DevServer, ServerOptions
from laneway.verify import verify

TENANT = UUID("0192f0c1-0000-7000-8000-000000000001")
WORKER = UUID("7b0c1a52-1111-4222-8333-444455556666")
ENOUGH = 200


@pytest.fixture
def options() -> Iterator[ServerOptions]:
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # the server's account must reach its data through it
        yield ServerOptions(data_dir=Path(folder, "pg"))


def prepare(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        install(conn)
        conn.execute("set search_path = laneway, pg_temp")
        conn.execute("select add_context_key('k1')")
        conn.execute("select create_tenant('acme', 'Acme', %s)", [TENANT])
        conn.execute("select sync_definitions('shop', '{\"echo\": {}}')")
        conn.execute("select register_worker(%s, 'here', 1, '1', 4, '{default}', '{echo}')", [WORKER])


def enqueue_until_cut(dsn: str, acknowledged: list[UUID], enough: threading.Event) -> None:
    with psycopg.connect(dsn) as conn:
        conn.execute("set search_path = laneway, pg_temp")
        conn.commit()
        while True:
            conn.execute("select enter_tenant(%s, 'o', 'test')", [TENANT])
            rows = conn.execute("select job_id from enqueue(%s, 'echo')", [TENANT]).fetchall()
            conn.commit()
            acknowledged.append(rows[0][0])
            if len(acknowledged) >= ENOUGH:
                enough.set()


def complete_until_cut(dsn: str, acknowledged: list[UUID]) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("set search_path = laneway, pg_temp")
        while True:
            rows = conn.execute(
                "select job_id, attempt from claim(%s, 'default', 5) where job_id is not null", [WORKER]
            ).fetchall()
            jobs = [row[0] for row in rows]
            conn.execute(
                "select complete(%s, %s, %s, %s)", [WORKER, [TENANT] * len(rows), jobs, [row[1] for row in rows]]
            )
            acknowledged.extend(jobs)


def until_cut(work: object, *arguments: object) -> None:
    assert callable(work)
    with pytest.raises(psycopg.OperationalError):
        work(*arguments)


@pytest.mark.covers("I3", "C1")
def test_nothing_acknowledged_is_lost_when_the_server_is_killed(options: ServerOptions) -> None:
    enqueued: list[UUID] = []
    completed: list[UUID] = []
    enough = threading.Event()
    with DevServer(options) as server:
        dsn = server.dsn()
        prepare(dsn)
        clients = [
            threading.Thread(target=until_cut, args=(enqueue_until_cut, dsn, enqueued, enough)),
            threading.Thread(target=until_cut, args=(complete_until_cut, dsn, completed)),
        ]
        for client in clients:
            client.start()
        assert enough.wait(30), f"{len(enqueued)} enqueued"
        os.kill(server.pid, signal.SIGKILL)
        for client in clients:
            client.join(30)
    with DevServer(options) as server, psycopg.connect(server.dsn()) as conn:
        conn.execute("set search_path = laneway, pg_temp")
        there = {row[0] for row in conn.execute("select id from job").fetchall()}
        ended = {row[0] for row in conn.execute("select job_id from attempt where final_state = 1").fetchall()}
        assert set(enqueued) <= there
        assert len(there) <= len(enqueued) + 1, "one more at most: committed, and cut before the answer"
        assert completed
        assert set(completed) <= ended
        conn.commit()
        assert verify(conn) == []
