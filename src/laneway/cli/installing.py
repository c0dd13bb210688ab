"""What `laneway init` and `laneway migrate` do."""

import json
from dataclasses import asdict

import psycopg
import typer

from laneway.cli.connection import connected
from laneway.cli.exits import CommandError, Exit
from laneway.cli.settings import Settings
from laneway.database.context_key import first_context_key
from laneway.database.install import InstallOptions, InstallResult, Patience, install
from laneway.database.review import Review, review
from laneway.database.script import install_script

__all__ = ["InstallOptions", "Patience", "check", "init", "script", "status", "up"]

_APPLICATION = "laneway migrate"


def init(settings: Settings, *, url: str, schema: str, options: InstallOptions, patience: Patience) -> None:
    with connected(url, application_name=_APPLICATION) as conn:
        result = install(conn, schema=schema, options=options, patience=patience)
        key = _first_key(conn, schema=schema, is_needed=result.was_applied)
    _tell(settings, result, context_key=key)


def _first_key(conn: psycopg.Connection, *, schema: str, is_needed: bool) -> str | None:
    """Also where all was there already: `migrate up` and the script of `migrate sql` make none."""
    try:
        return first_context_key(conn, schema=schema)
    except psycopg.errors.InsufficientPrivilege:
        # a login that only looks may not see keys
        if is_needed:
            raise
        return None


def up(settings: Settings, *, url: str, schema: str, patience: Patience) -> None:
    with connected(url, application_name=_APPLICATION) as conn:
        if not review(conn, schema=schema).is_installed:
            raise CommandError(
                f'schema: nothing is installed in "{schema}". Name another with --schema, or run laneway init.',
                code=Exit.NOT_FOUND,
            )
        _tell(settings, install(conn, schema=schema, patience=patience))


def status(settings: Settings, *, url: str, schema: str) -> None:
    with connected(url, application_name=_APPLICATION) as conn:
        found = review(conn, schema=schema)
    if settings.json:
        typer.echo(json.dumps(_status_document(found)))
        return
    release = found.stamp.release if found.stamp else "nothing"
    typer.echo(f'Schema "{schema}" has {release}, this is {found.release}.')
    for row in found.applied:
        typer.echo(f"applied  {row.name}  {row.applied_at:%Y-%m-%d %H:%M:%S}  by {row.release}")
    for migration in found.plan.migrations:
        typer.echo(f"pending  {migration.name}")
    for file in found.plan.files:
        typer.echo(f"to run   functions/{file.name}")
    for made in found.plan.leftovers:
        typer.echo(f"to drop  {made}")


def check(settings: Settings, *, url: str, schema: str) -> None:
    with connected(url, application_name=_APPLICATION) as conn:
        found = review(conn, schema=schema)
    findings = found.findings()
    if settings.json:
        typer.echo(json.dumps({"schema": schema, "release": found.release, "findings": findings}))
    else:
        for finding in findings:
            typer.echo(finding)
        if not findings:
            typer.echo(f'Schema "{schema}" is as Laneway {found.release} wants it.')
    if findings:
        typer.echo("Run laneway migrate up.", err=True)
        raise typer.Exit(Exit.FOUND_SOMETHING)


def script(*, url: str, schema: str) -> None:
    with connected(url, application_name=_APPLICATION) as conn:
        typer.echo(install_script(conn, schema=schema), nl=False)


def _tell(settings: Settings, result: InstallResult, *, context_key: str | None = None) -> None:
    if settings.json:
        typer.echo(json.dumps(asdict(result) | ({"context_key": context_key} if context_key else {})))
        return
    for statement in result.roles:
        typer.echo(f"ran      {statement}")
    for kind, names in (
        ("applied", result.migrations),
        ("ran", tuple(f"functions/{name}" for name in result.files)),
        ("dropped", result.dropped),
        ("mended", result.mended),
    ):
        for name in names:
            typer.echo(f"{kind:8} {name}")
    for warning in result.warnings:
        typer.echo(f"warning: {warning}", err=True)
    done = "now as" if result.was_applied else "already as"
    typer.echo(f'Schema "{result.schema}" is {done} Laneway {result.release} wants it.')
    if context_key:
        typer.echo(f"The key that signs tenant contexts, shown this once:\nLANEWAY_CONTEXT_KEY={context_key}")


def _status_document(found: Review) -> dict[str, object]:
    return {
        "schema": found.schema,
        "release": found.release,
        "installed_release": found.stamp.release if found.stamp else None,
        "options": found.stamp.options.to_json() if found.stamp else None,
        "applied": [
            {"name": row.name, "release": row.release, "applied_at": row.applied_at.isoformat()}
            for row in found.applied
        ],
        "pending": [migration.name for migration in found.plan.migrations],
        "files_to_run": [file.name for file in found.plan.files],
        "to_drop": [str(made) for made in found.plan.leftovers],
    }
