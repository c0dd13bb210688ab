"""`functions/workers.sql`: a worker says what it can run, that it lives, and asks what it holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from laneway.database.call import Argument, Call
from laneway.model.claim import AttemptRef

__all__ = ["Registered", "Registration", "beat", "end_worker", "held", "register_worker"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """One process start."""

    worker: UUID
    hostname: str
    pid: int
    version: str
    slots: int
    queues: Sequence[str]
    definitions: Sequence[str]


@dataclass(frozen=True, slots=True)
class Registered:
    """A definition that this worker can run: the short id that claims carry, its key, its queue."""

    id: int
    key: str
    queue: str


def register_worker(said: Registration) -> Call[list[Registered]]:
    return Call(
        function="register_worker",
        arguments={
            "worker": Argument(said.worker, "uuid"),
            "hostname": Argument(said.hostname, "text"),
            "pid": Argument(said.pid, "integer"),
            "version": Argument(said.version, "text"),
            "slots": Argument(said.slots, "integer"),
            "queues": Argument(list(said.queues), "text[]"),
            "definitions": Argument(list(said.definitions), "text[]"),
        },
        columns=("def_id", "definition", "queue"),
        read=lambda rows: [Registered(*row) for row in rows],
    )


def beat(worker: UUID) -> Call[bool]:
    """Answers whether the worker is to drain."""
    return Call(
        function="beat",
        arguments={"worker": Argument(worker, "uuid")},
        columns=("beat",),
        read=lambda rows: bool(rows[0][0]),
    )


def held(worker: UUID) -> Call[list[AttemptRef]]:
    return Call(
        function="held",
        arguments={"worker": Argument(worker, "uuid")},
        columns=("tenant_id", "job_id", "attempt"),
        read=lambda rows: [AttemptRef(*row) for row in rows],
    )


def end_worker(worker: UUID) -> Call[bool]:
    """False: somebody holds its row, say it again."""
    return Call(
        function="end_worker",
        arguments={"worker": Argument(worker, "uuid")},
        columns=("end_worker",),
        read=lambda rows: bool(rows[0][0]),
    )
