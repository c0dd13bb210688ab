"""An embedded PostgreSQL for development and tests: found, initialised, started, joined, stopped, nothing left over."""

from laneway.devserver.errors import (
    DevServerError,
    NoServerBinariesError,
    OtherMajorVersionError,
    OtherSettingsError,
    PortTakenError,
    ServerDidNotStartError,
    UnusableAccountError,
    UnusableFolderError,
)
from laneway.devserver.options import ServerOptions
from laneway.devserver.server import DevServer

__all__ = [
    "DevServer",
    "DevServerError",
    "NoServerBinariesError",
    "OtherMajorVersionError",
    "OtherSettingsError",
    "PortTakenError",
    "ServerDidNotStartError",
    "ServerOptions",
    "UnusableAccountError",
    "UnusableFolderError",
]
