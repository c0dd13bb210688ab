"""What a worker is told when it starts, with defaults and bounds."""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Place", "WorkerOptions"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where the database is."""

    dsn: str
    schema: str = "laneway"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """How one worker process works."""

    queues: Sequence[str] = ()
    """Empty: the queues of all definitions it can run."""
    concurrency: int = 4
    buffer: int | None = None
    """Jobs claimed ahead of a free slot; None: as many as there are slots."""
    lease_seconds: int = 60
    poll_seconds: float = 1.0
    """How long an idle worker waits at most, at first; longer when it stays idle and its bell works."""
    longest_poll_seconds: float = 5.0
    upkeep_seconds: float = 5.0
    shutdown_timeout_seconds: float = 30.0
    kill_grace_seconds: float = 5.0

    @property
    def room(self) -> int:
        """How many jobs it holds at most."""
        return self.concurrency + (self.concurrency if self.buffer is None else self.buffer)
