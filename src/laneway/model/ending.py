"""What a handler raises to say how its attempt ends. Anything else that it raises is a failure, and the retry policy
of its definition decides.
"""

from laneway.durations import Duration, seconds_of

__all__ = ["Ending", "Permanent", "RetryIn", "Snooze"]


class Ending(Exception):
    """The handler has decided; not an error of Laneway, so that `except LanewayError` lets it through."""


class Permanent(Ending):
    """The job failed, and trying again cannot help."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class _Later(Ending):
    """Another attempt after a delay that the handler chose."""

    def __init__(self, delay: Duration, reason: str | None = None) -> None:
        # both, as they came: what is raised in another process is made anew from them
        super().__init__(delay, reason)
        self.delay_seconds = seconds_of(delay)
        self.reason = reason

    def __str__(self) -> str:
        return self.reason or f"in {self.delay_seconds:g} s"


class Snooze(_Later):
    """Not now: again after the delay, and this attempt does not count."""


class RetryIn(_Later):
    """The attempt failed: again after the delay instead of what the retry policy says. It counts."""
