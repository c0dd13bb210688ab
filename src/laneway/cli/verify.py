"""`laneway verify`: does everything hold that always holds? Reads, and changes nothing."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from laneway.cli.exits import CommandError, Exit
from laneway.cli.settings import Settings

if TYPE_CHECKING:
    import psycopg

    from laneway.verify import Violation

__all__ = ["add_to"]


def add_to(app: typer.Typer, settings: Settings) -> None:
    """Adds the command."""

    @app.command()
    def verify(
        database_url: Annotated[
            str | None, typer.Option("--database-url", help="The database; as before the command.")
        ] = None,
        schema: Annotated[
            str, typer.Option(envvar="LANEWAY_SCHEMA", help="The schema that Laneway lives in.")
        ] = "laneway",
        sample: Annotated[
            int | None, typer.Option(min=1, help="Look at so many jobs of each kind instead of all.")
        ] = None,
        as_json: Annotated[bool, typer.Option("--json", help="As before the command.")] = False,
    ) -> None:
        """Check the invariants; exit with 8 when one does not hold."""
        violations = _look(settings.database(database_url), schema=schema, sample=sample)
        if as_json or settings.json:
            _answer_document(violations)
        else:
            _answer_lines(violations)
        if violations:
            raise typer.Exit(Exit.FOUND_SOMETHING)


def _look(url: str, *, schema: str, sample: int | None) -> "list[Violation]":
    # drivers are loaded when a command needs them
    import psycopg

    from laneway.cli.connection import connected
    from laneway.verify import verify

    with connected(url, application_name="laneway verify") as conn:
        try:
            return verify(conn, schema=schema, sample=sample)
        except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn) as error:
            sentence, code = _absent(conn, schema, str(error.diag.message_primary))
            raise CommandError(sentence, code=code) from error


def _absent(conn: "psycopg.Connection", schema: str, said: str) -> tuple[str, Exit]:
    """Why the tables cannot be read: no schema, no right to look into it, or other tables."""
    found = conn.execute("select has_schema_privilege(oid, 'USAGE') from pg_namespace where nspname = %s", [schema])
    match found.fetchone():
        case None:
            return f'schema: there is no "{schema}". Name another with --schema, or run laneway init.', Exit.NOT_FOUND
        case (False,):
            return f'schema: this login may not look into "{schema}". Use the one that installed it.', Exit.NOT_ALLOWED
        case _:
            sentence = (
                f'schema: "{schema}" does not hold the tables of this release: {said}. See laneway migrate status.'
            )
            return sentence, Exit.NOT_FOUND


def _answer_document(violations: "list[Violation]") -> None:
    document = [{"invariant": v.invariant, "title": v.title, "rows": list(v.rows)} for v in violations]
    typer.echo(json.dumps({"violations": document}, default=str))


def _answer_lines(violations: "list[Violation]") -> None:
    for violation in violations:
        typer.echo(f"{violation.invariant} does not hold: {violation.title}")
        for row in violation.rows:
            typer.echo("  " + " ".join(f"{name}={value}" for name, value in row.items() if value is not None))
    if not violations:
        typer.echo("All invariants hold.")
