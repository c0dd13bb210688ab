"""`laneway init` and `laneway migrate`: the SQL in the database. What they do is in `installing.py`."""

from datetime import timedelta
from typing import Annotated

import typer

from laneway.cli.duration import duration
from laneway.cli.settings import Settings

__all__ = ["add_to"]

DatabaseUrl = Annotated[str | None, typer.Option("--database-url", help="The database; as before the command.")]
Schema = Annotated[str, typer.Option(envvar="LANEWAY_SCHEMA", help="The schema that Laneway lives in.")]
LockTimeout = Annotated[
    timedelta, typer.Option(parser=duration, metavar="TIME", help="How long one lock is waited for, for example 3s.")
]
GiveUpAfter = Annotated[
    timedelta, typer.Option(parser=duration, metavar="TIME", help="How long the whole is tried, for example 2m.")
]

LOCK_TIMEOUT = timedelta(seconds=3)
GIVE_UP_AFTER = timedelta(seconds=120)


def add_to(app: typer.Typer, settings: Settings) -> None:
    """Adds the commands."""
    _add_init(app, settings)
    migrate = typer.Typer(help="Upgrade the SQL in the database, or look at it.", no_args_is_help=True)
    _add_up(migrate, settings)
    _add_looks(migrate, settings)
    app.add_typer(migrate, name="migrate")


def _add_init(app: typer.Typer, settings: Settings) -> None:
    @app.command()
    def init(
        database_url: DatabaseUrl = None,
        schema: Schema = "laneway",
        single_role: Annotated[
            bool, typer.Option("--single-role", help="One login owns everything. For laptops: no wall between tenants.")
        ] = False,
        planner_pins: Annotated[bool, typer.Option(help="Pin planner settings to functions; off on Citus.")] = True,
        doorbell: Annotated[bool, typer.Option(help="Wake workers by NOTIFY; off where it cannot be used.")] = True,
        lock_timeout: LockTimeout = LOCK_TIMEOUT,
        give_up_after: GiveUpAfter = GIVE_UP_AFTER,
    ) -> None:
        """Make the schema, its roles, tables and functions."""
        from laneway.cli import installing

        installing.init(
            settings,
            url=settings.database(database_url),
            schema=schema,
            options=installing.InstallOptions(single_role=single_role, planner_pins=planner_pins, doorbell=doorbell),
            patience=installing.Patience(lock_timeout=lock_timeout, give_up_after=give_up_after),
        )


def _add_up(migrate: typer.Typer, settings: Settings) -> None:
    @migrate.command()
    def up(
        database_url: DatabaseUrl = None,
        schema: Schema = "laneway",
        lock_timeout: LockTimeout = LOCK_TIMEOUT,
        give_up_after: GiveUpAfter = GIVE_UP_AFTER,
    ) -> None:
        """Upgrade to this release. Options of the install stay as they were."""
        from laneway.cli import installing

        installing.up(
            settings,
            url=settings.database(database_url),
            schema=schema,
            patience=installing.Patience(lock_timeout=lock_timeout, give_up_after=give_up_after),
        )


def _add_looks(migrate: typer.Typer, settings: Settings) -> None:
    @migrate.command()
    def status(database_url: DatabaseUrl = None, schema: Schema = "laneway") -> None:
        """Show what is applied and what is pending."""
        from laneway.cli import installing

        installing.status(settings, url=settings.database(database_url), schema=schema)

    @migrate.command()
    def sql(database_url: DatabaseUrl = None, schema: Schema = "laneway") -> None:
        """Print the script that a database administrator can run instead of `migrate up`."""
        from laneway.cli import installing

        installing.script(url=settings.database(database_url), schema=schema)

    @migrate.command()
    def check(database_url: DatabaseUrl = None, schema: Schema = "laneway") -> None:
        """Exit with 8 when something is pending, or is not as Laneway left it."""
        from laneway.cli import installing

        installing.check(settings, url=settings.database(database_url), schema=schema)
