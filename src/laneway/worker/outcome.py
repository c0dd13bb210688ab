"""How an attempt ended, as its runner judges it; the reporter says it to the database."""

from dataclasses import dataclass

__all__ = ["Canceled", "Failed", "Outcome", "Released", "Snoozed", "Succeeded"]


@dataclass(frozen=True, slots=True)
class Succeeded:
    result: str | None
    """As JSON text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    error: str
    """As JSON text: kind, message, traceback."""
    reason: str
    is_permanent: bool = False
    retry_in_seconds: float | None = None
    """Instead of what the retry policy says."""
    is_timeout: bool = False


@dataclass(frozen=True, slots=True)
class Snoozed:
    delay_seconds: float
    reason: str | None


@dataclass(frozen=True, slots=True)
class Released:
    reason: str


@dataclass(frozen=True, slots=True)
class Canceled:
    reason: str


Outcome = Succeeded | Failed | Snoozed | Released | Canceled
