"""The application that a command works with: found by its path, spoken to at the database of the command."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from laneway.cli.exits import CommandError, Exit
from laneway.cli.settings import Settings

if TYPE_CHECKING:
    from laneway.app import Laneway

__all__ = ["answering", "found_app", "plain_app"]


def found_app(path: str | None, settings: Settings) -> "Laneway":
    """The one at `module:name`; modules are looked for in the current directory as well."""
    from laneway.app import Laneway
    from laneway.definitions.discover import load

    if not path:
        raise CommandError(
            "app: no application is named. Give --app shop.jobs:app or set LANEWAY_APP.", code=Exit.USAGE
        )
    app = load(path, Laneway, from_directory=Path.cwd())
    if settings.database_url:
        app.connect_to(settings.database_url)
    return app


def plain_app(settings: Settings) -> "Laneway":
    """No code at all: for commands that only look at jobs or enqueue by name."""
    from laneway.app import Laneway

    return Laneway(settings.database(None), actor=f"cli:{os.environ.get('USER') or 'unknown'}"[:80])


@contextmanager
def answering() -> Generator[None]:
    """Every error of ours ends the command with one sentence and its exit code."""
    from laneway.errors import (
        Busy,
        ConfigurationError,
        Conflict,
        ConnectionLost,
        DefinitionError,
        Forbidden,
        JobCanceled,
        JobFailed,
        LanewayError,
        NotFound,
        PayloadInvalid,
        ResultTimeout,
    )

    codes = {
        ConfigurationError: Exit.USAGE,
        DefinitionError: Exit.USAGE,
        PayloadInvalid: Exit.USAGE,
        NotFound: Exit.NOT_FOUND,
        Conflict: Exit.CONFLICT,
        Busy: Exit.CONFLICT,
        Forbidden: Exit.NOT_ALLOWED,
        ConnectionLost: Exit.NOT_CONNECTED,
        JobFailed: Exit.JOB_FAILED,
        JobCanceled: Exit.JOB_FAILED,
        ResultTimeout: Exit.TIMED_OUT,
    }
    try:
        yield
    except LanewayError as error:
        code = next((code for kind, code in codes.items() if isinstance(error, kind)), Exit.FAILED)
        raise CommandError(str(error), code=code) from error
