"""What can go wrong with the embedded server: each error is one fact, its detail and the way out."""

from typing import final


class DevServerError(Exception):
    """The embedded server cannot do what was asked. The three parts stay apart for whoever prints them."""

    def __init__(self, fact: str, *, hint: str, detail: str = "") -> None:
        super().__init__("\n".join(part for part in (fact, detail, hint) if part))
        self.fact = fact
        self.detail = detail
        self.hint = hint


@final
class NoServerBinariesError(DevServerError):
    """No initdb and postgres of a supported version that this user can run."""


@final
class UnusableAccountError(DevServerError):
    """There is no user that PostgreSQL accepts to run as."""


@final
class UnusableFolderError(DevServerError):
    """The data folder cannot be made, entered, trusted or held."""


@final
class OtherMajorVersionError(DevServerError):
    """The data was written by another major version of PostgreSQL than the one found."""


@final
class PortTakenError(DevServerError):
    """Somebody else listens on the port that was asked for."""


@final
class OtherSettingsError(DevServerError):
    """The server to be joined was started with options that do not give what this caller asks for."""


@final
class ServerDidNotStartError(DevServerError):
    """The server or initdb ended, or did not get ready in time; the detail is the end of its log."""
