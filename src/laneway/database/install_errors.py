"""What can stop an install, an upgrade or a look at one.

InstallError                 the files or the database are not as they must be
├── InstallConflictError     the database holds something this release must not touch
├── InstallPermissionError   the login may not do it
└── InstallTimeoutError      somebody else holds what is needed
"""

__all__ = ["InstallConflictError", "InstallError", "InstallPermissionError", "InstallTimeoutError"]


class InstallError(Exception):
    """A refusal: a factual line that names the field and the value, and the way out."""

    def __init__(self, fact: str, *, hint: str) -> None:
        super().__init__(fact, hint)
        self.fact = fact
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.fact}. {self.hint}"


class InstallConflictError(InstallError):
    """A newer release, a changed migration, a stranger's table: nothing this release may touch."""


class InstallPermissionError(InstallError):
    """The login may not do what the install needs."""


class InstallTimeoutError(InstallError):
    """Somebody else held what was needed for as long as was waited."""
