"""`laneway`: assembles the commands and turns errors into one sentence and an exit code."""

import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer

from laneway.cli import database, definitions, dev, jobs, verify, worker
from laneway.cli.exits import CommandError, Exit
from laneway.cli.settings import Settings

__all__ = ["build", "run"]


def run(arguments: Sequence[str] | None = None) -> None:
    """The entry point: runs one command and ends the process with its exit code."""
    settings = Settings()
    try:
        build(settings)(args=None if arguments is None else list(arguments), prog_name="laneway")
    except CommandError as error:
        if settings.verbosity > 1:
            traceback.print_exception(error)
        typer.echo(f"laneway: {error.sentence}", err=True)
        sys.exit(error.code)
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)


def build(settings: Settings) -> typer.Typer:
    """All commands; the options before the command are written into the settings."""
    app = typer.Typer(
        help="A multi-tenant job platform that lives in your PostgreSQL.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )

    @app.callback()
    def options(
        database_url: Annotated[
            str | None, typer.Option(envvar="LANEWAY_DATABASE_URL", help="The database, as a URL or libpq string.")
        ] = None,
        json: Annotated[bool, typer.Option("--json", help="Answer with one JSON document on stdout.")] = False,
        verbosity: Annotated[int, typer.Option("--verbose", "-v", count=True, help="-vv shows tracebacks.")] = 0,
    ) -> None:
        settings.database_url = database_url
        settings.json = json
        settings.verbosity = verbosity

    database.add_to(app, settings)
    dev.add_to(app, settings)
    verify.add_to(app, settings)
    worker.add_to(app, settings)
    definitions.add_to(app, settings)
    jobs.add_to(app, settings)
    return app
