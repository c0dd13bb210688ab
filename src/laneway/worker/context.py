"""What a handler is given of its attempt."""

import logging
from collections.abc import Callable
from uuid import UUID

from laneway.model.context import HandlerContext
from laneway.worker.holding import Held

__all__ = ["CanceledByRequest", "Context", "SyncContext"]

log = logging.getLogger("laneway.job")


class CanceledByRequest(BaseException):
    """Raised in a handler that asked whether to stop. No `except Exception` of the handler's own may swallow it."""


class Context(HandlerContext):
    """One attempt, as its handler sees it."""

    __slots__ = ("_deadline", "_held", "_now", "definition")

    def __init__(self, held: Held, definition: str, *, deadline: float, now: Callable[[], float]) -> None:
        self._held = held
        self._deadline = deadline
        self._now = now
        self.definition = definition
        """The key of what is run."""

    @property
    def tenant(self) -> UUID:
        return self._held.claim.tenant

    @property
    def job(self) -> UUID:
        return self._held.claim.job

    @property
    def attempt(self) -> int:
        """1 for the first; it only grows."""
        return self._held.claim.attempt

    @property
    def max_attempts(self) -> int:
        return self._held.claim.max_attempts

    @property
    def correlation_id(self) -> str | None:
        return self._held.claim.correlation_id

    @property
    def trace_id(self) -> str | None:
        return self._held.claim.trace_id

    @property
    def idempotency_key(self) -> str:
        """The same for each try of this attempt's effect, another for the next attempt: `job:attempt`."""
        return f"{self.job}:{self.attempt}"

    @property
    def remaining(self) -> float:
        """Seconds until the attempt's time is over."""
        return max(0.0, self._deadline - self._now())

    @property
    def is_canceled(self) -> bool:
        """Whether somebody asked for this job to be canceled, or it is not this worker's any more."""
        return self._held.is_cancel_requested or self._held.is_lost

    def raise_if_canceled(self) -> None:
        if self.is_canceled:
            raise CanceledByRequest

    @property
    def log(self) -> "logging.LoggerAdapter[logging.Logger]":
        """Lines bear the ids of the job."""
        return logging.LoggerAdapter(
            log,
            {
                "tenant_id": str(self.tenant),
                "job_id": str(self.job),
                "attempt_no": self.attempt,
                "definition_key": self.definition,
                "correlation_id": self.correlation_id,
            },
        )


class SyncContext(Context):
    """The same, for handlers that run in a thread."""

    __slots__ = ()
