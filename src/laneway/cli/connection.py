"""A connection of a command, and what the server says against it as one sentence."""

from collections.abc import Generator
from contextlib import contextmanager

import psycopg

from laneway.cli.exits import CommandError, Exit
from laneway.database.install_errors import (
    InstallConflictError,
    InstallError,
    InstallPermissionError,
    InstallTimeoutError,
)

__all__ = ["connected"]

_CODES = {
    InstallConflictError: Exit.CONFLICT,
    InstallPermissionError: Exit.NOT_ALLOWED,
    InstallTimeoutError: Exit.TIMED_OUT,
    InstallError: Exit.FAILED,
}


@contextmanager
def connected(url: str, *, application_name: str) -> Generator[psycopg.Connection]:
    """Open while the command works; every error of the database ends the command with its exit code."""
    try:
        with _connect(url, application_name) as conn:
            yield conn
    except InstallError as error:
        raise CommandError(str(error), code=_CODES[type(error)]) from error
    except psycopg.errors.InsufficientPrivilege as error:
        raise CommandError(
            f"the server refused: {error.diag.message_primary}. Use a login that may.", code=Exit.NOT_ALLOWED
        ) from error
    except psycopg.errors.ReadOnlySqlTransaction as error:
        raise CommandError(
            "the database takes no writes: it is a standby. Name the primary.", code=Exit.CONFLICT
        ) from error
    except psycopg.Error as error:
        said = error.diag.message_primary or str(error).strip()
        raise CommandError(f"the server said: {said} ({error.sqlstate or 'no code'}).", code=Exit.FAILED) from error


def _connect(url: str, application_name: str) -> psycopg.Connection:
    try:
        # a database of encoding SQL_ASCII would else answer bytes
        return psycopg.connect(url, autocommit=True, application_name=application_name, client_encoding="UTF8")
    except psycopg.Error as error:
        # never the URL: it may hold a password
        said = " ".join(str(error).split()).rstrip(".?")
        raise CommandError(
            f"database_url: cannot connect: {said}. Check the URL, and that its server is up and lets you in.",
            code=Exit.NOT_CONNECTED,
        ) from error
