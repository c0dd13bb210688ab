"""The story of docs/start/python.md, followed to the letter."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.database import Database

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/start/python.md").read_text("utf-8")
DECLARED, ENQUEUED, TRANSACTION = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
SYNC, WORKER = (text.split() for text in re.findall(r"^```shell\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
(PRINTED,) = re.findall(r"^```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
TENANT = "0192f0c1-0000-7000-8000-000000000001"


def environment(database: Database, role: str) -> dict[str, str]:
    return {**os.environ, "LANEWAY_DATABASE_URL": database.dsn(role)}


def laneway(words: list[str]) -> list[str]:
    assert words[0] == "laneway"
    return [sys.executable, "-m", *words]


def run(program: str, folder: Path, database: Database) -> str:
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(
        command, cwd=folder, env=environment(database, "backend"), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def folder(database: Database, tmp_path: Path) -> Iterator[Path]:
    """With `shop.py`, its definitions synced and a worker running."""
    (tmp_path / "shop.py").write_text(DECLARED)
    with database.connect() as conn:
        conn.execute("select create_tenant('acme', 'Acme Ltd', %s)", [TENANT])
    subprocess.run(laneway(SYNC), cwd=tmp_path, env=environment(database, "admin"), check=True, capture_output=True)
    with (tmp_path / "log").open("w") as log:
        worker = subprocess.Popen(laneway(WORKER), cwd=tmp_path, env=environment(database, "worker"), stderr=log)
    yield tmp_path
    worker.terminate()
    assert worker.wait(60) == 0


def test_the_page_does_what_it_says(folder: Path, database: Database) -> None:
    assert run(ENQUEUED, folder, database) == PRINTED
    run(TRANSACTION, folder, database)
    with database.connect() as conn:
        found = conn.execute(
            "select j.payload -> 'order' from job j where j.payload ? 'order' order by j.id"
        ).fetchall()
    assert found == [(7,), (9,)]
