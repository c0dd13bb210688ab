"""`functions/sweep.sql` and `promote.sql`: the passes that any process may run. One of a kind runs at a time."""

from dataclasses import dataclass
from datetime import datetime

from laneway.database.call import Argument, Call

__all__ = ["Promoted", "Swept", "expire", "promote", "sweep"]


@dataclass(frozen=True, slots=True)
class Swept:
    swept: int
    lost: int
    timed_out: int
    failed: int


@dataclass(frozen=True, slots=True)
class Promoted:
    promoted: int
    handed_over: int
    next_due_at: datetime | None


def sweep(jobs: int = 1000) -> Call[Swept]:
    return Call(
        function="sweep",
        arguments={"jobs": Argument(jobs, "integer")},
        columns=("swept", "lost", "timed_out", "failed"),
        read=lambda rows: Swept(*rows[0]),
    )


def promote(jobs: int = 1000) -> Call[Promoted]:
    return Call(
        function="promote",
        arguments={"jobs": Argument(jobs, "integer")},
        columns=("promoted", "handed_over", "next_due_at"),
        read=lambda rows: Promoted(*rows[0]),
    )


def expire(jobs: int = 1000) -> Call[int]:
    return Call(
        function="expire",
        arguments={"jobs": Argument(jobs, "integer")},
        columns=("expire",),
        read=lambda rows: int(rows[0][0]),
    )
