"""`laneway dev`: the product on an embedded PostgreSQL, with jobs of two tenants flowing."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from laneway.cli.connection import connected
from laneway.cli.exits import CommandError, Exit
from laneway.cli.settings import Settings
from laneway.database.install import install
from laneway.demo import tell_story
from laneway.devserver import DevServer, DevServerError, ServerOptions
from laneway.verify import verify

__all__ = ["add_to"]


def add_to(app: typer.Typer, settings: Settings) -> None:
    @app.command()
    def dev(
        database_url: Annotated[
            str | None,
            typer.Option("--database-url", help="Use this database instead, which gets schema, demo tenants and jobs."),
        ] = None,
        data_dir: Annotated[
            Path | None, typer.Option(help="Where the embedded server keeps its data; a place of this user by default.")
        ] = None,
        ephemeral: Annotated[bool, typer.Option("--ephemeral", help="Keep nothing.")] = False,
        reset: Annotated[
            bool, typer.Option("--reset", help="Forget what an earlier run has kept, and begin anew.")
        ] = False,
        jobs: Annotated[int, typer.Option(min=3, max=10_000, help="Jobs that the noisy tenant enqueues.")] = 300,
    ) -> None:
        """Starts the embedded database, installs the schema and pushes jobs of two tenants through."""
        if settings.json:
            raise CommandError("json: laneway dev tells a story. Leave --json out.", code=Exit.USAGE)
        if database_url:
            if reset:
                raise CommandError(
                    "reset: only the embedded server's database is dropped. Leave out --reset or --database-url.",
                    code=Exit.USAGE,
                )
            _show(database_url, jobs=jobs)
            return
        if settings.database_url:
            # the application's database is no place for a demo
            typer.echo("The database named by LANEWAY_DATABASE_URL or before the command is left alone.")
        with _server(data_dir, ephemeral=ephemeral) as server:
            _ensure_database(server, reset=reset)
            try:
                _show(server.dsn("laneway"), jobs=jobs)
            except CommandError as error:
                if error.code is not Exit.CONFLICT:
                    raise
                raise CommandError(f"{error.sentence} Or begin anew: laneway dev --reset.", code=error.code) from error
        typer.echo("Stopped in order.")


@contextmanager
def _server(data_dir: Path | None, *, ephemeral: bool) -> Generator[DevServer]:
    try:
        with DevServer(ServerOptions(data_dir=data_dir, ephemeral=ephemeral)) as server:
            joined = ", which another process keeps running" if server.joined else ""
            typer.echo(f"PostgreSQL {server.major_version} in {server.data_dir}{joined}.")
            yield server
    except DevServerError as error:
        raise CommandError(str(error), code=Exit.FAILED) from error


def _ensure_database(server: DevServer, *, reset: bool) -> None:
    with connected(server.dsn(), application_name="laneway dev") as conn:
        if reset:
            conn.execute("drop database if exists laneway with (force)")
        if not conn.execute("select 1 from pg_database where datname = 'laneway'").fetchone():
            conn.execute("create database laneway")


def _show(url: str, *, jobs: int) -> None:
    with connected(url, application_name="laneway dev") as conn:
        result = install(conn)
        done = f"{len(result.files)} function files" if result.was_applied else "nothing to do"
        typer.echo(f'Schema "{result.schema}" as Laneway {result.release} wants it: {done}.\n')
        done = tell_story(conn, typer.echo, schema=result.schema, jobs=jobs)
        broken = verify(conn, schema=result.schema)
    if broken or done.completed != done.enqueued:
        raise CommandError(
            f"{done.completed} of {done.enqueued} jobs completed, {len(broken)} invariants broken. See laneway verify.",
            code=Exit.FAILED,
        )
    typer.echo(f"\n{done.completed} jobs completed, none lost, none twice; all invariants hold.")
