"""A database with the jobs of `programs/shop_jobs.py`, and workers that run them."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from processes import PROGRAMS, WorkerProcess, until

from kit.database import Database
from language import Heart

sys.path.insert(0, str(PROGRAMS))
from shop_jobs import app


@dataclass
class Shop:
    """One tenant, whose jobs real workers run."""

    database: Database
    heart: Heart
    tenant: UUID
    folder: Path
    workers: list[WorkerProcess] = field(default_factory=list)
    worker_dsn: str | None = None
    """Where its workers connect; None: to the server itself."""

    def start(self, *options: str) -> WorkerProcess:
        """Returns when it has registered."""
        before = len(self.registered())
        log = self.folder / f"worker-{len(self.workers)}.log"
        self.workers.append(WorkerProcess(self.worker_dsn or self.database.dsn("worker"), log, *options))
        until(lambda: len(self.registered()) > before or not self.workers[-1].is_running, "a worker registers")
        return self.workers[-1]

    def enqueue(self, definition: str, **payload: Any) -> UUID:
        return self.heart.job(self.tenant, definition=definition, payload=payload)

    def registered(self) -> list[tuple]:
        return self.heart.rows("select worker_id, ended_at from worker order by registered_at, worker_id")

    def state(self, job: UUID) -> str:
        return self.heart.state(job)

    def outcomes(self, job: UUID) -> list[str]:
        """Of its ended attempts, oldest first."""
        return [attempt.outcome for attempt in self.heart.attempts(job)]

    def result(self, job: UUID) -> Any:
        return self.heart.one("select result from attempt where job_id = %s order by attempt desc limit 1", [job])[0]

    def reason(self, job: UUID) -> str:
        return self.heart.one("select reason from attempt where job_id = %s order by attempt desc limit 1", [job])[0]

    def until_ended(self, job: UUID) -> None:
        until(lambda: self.state(job) not in ("queued", "running"), f"job {job} ends")

    def until_attempted(self, job: UUID) -> None:
        until(lambda: self.outcomes(job), f"an attempt of job {job} ends")

    def until_there(self, path: Path | str) -> None:
        until(Path(path).exists, f"{path} is there")


@pytest.fixture
def shop(database: Database, tmp_path: Path) -> Iterator[Shop]:
    heart = Heart(database)
    heart.rows("select key from sync_definitions('main', %s::jsonb)", [json.dumps(app.jobs.declared())])
    shop = Shop(database, heart, heart.tenant(), tmp_path)
    yield shop
    for worker in shop.workers:
        worker.kill()
    heart.verify()


@pytest.fixture
def pipe(tmp_path: Path) -> Callable[[str], Path]:
    """Handlers that read it block until the test writes."""

    def make(name: str) -> Path:
        os.mkfifo(tmp_path / name)
        return tmp_path / name

    return make
