"""`functions/doorbell.sql`: who is woken."""

from dataclasses import dataclass

from laneway.database.call import Argument, Call

__all__ = ["Bell", "arm", "disarm"]


@dataclass(frozen=True, slots=True)
class Bell:
    """What a sleeper listens for."""

    is_armed: bool
    channel: str
    message: str


def arm(queue: str) -> Call[Bell]:
    return Call(
        function="arm",
        arguments={"queue": Argument(queue, "text")},
        columns=("armed", "channel", "message"),
        read=lambda rows: Bell(*rows[0]),
    )


def disarm(queue: str) -> Call[bool]:
    return Call(
        function="disarm",
        arguments={"queue": Argument(queue, "text")},
        columns=("disarm",),
        read=lambda rows: bool(rows[0][0]),
    )
