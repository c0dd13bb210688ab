"""An attempt that a worker owns, and what it says about it."""

from datetime import datetime
from enum import IntEnum
from typing import NamedTuple
from uuid import UUID

__all__ = ["AttemptRef", "Claim", "ExtendAnswer", "ReportAnswer"]


class AttemptRef(NamedTuple):
    """With the worker's instance the fence: every word about an attempt presents both."""

    tenant: UUID
    job: UUID
    attempt: int


# A named tuple, and the payload as text: one of each is made per job, and most handlers want the payload once.
class Claim(NamedTuple):
    """One claimed job."""

    tenant: UUID
    job: UUID
    definition: int
    """The short id that `register_worker` answered."""
    attempt: int
    max_attempts: int
    priority: int
    rank: datetime
    timeout_seconds: int
    run_at: datetime
    correlation_id: str | None
    trace_id: str | None
    payload: str

    @property
    def ref(self) -> AttemptRef:
        return AttemptRef(self.tenant, self.job, self.attempt)


class ReportAnswer(IntEnum):
    """What the database says to an outcome."""

    STALE = 0
    ACCEPTED = 1
    DUPLICATE = 2
    BUSY = 3
    REFUSED = 4


class ExtendAnswer(IntEnum):
    """What the database says to an extension."""

    STALE = 0
    OK = 1
    CANCEL = 2
    BUSY = 3
