"""`laneway definitions`: what code declares, and what the database has."""

from typing import Annotated

import typer

from laneway.cli.application import answering, found_app
from laneway.cli.exits import Exit
from laneway.cli.settings import Settings

__all__ = ["add_to"]

Application = Annotated[
    str | None, typer.Option("--app", envvar="LANEWAY_APP", help="The application, for example shop.jobs:app.")
]


def add_to(app: typer.Typer, settings: Settings) -> None:
    group = typer.Typer(help="What code declares, and what the database has of it.", no_args_is_help=True)

    @group.command()
    def sync(
        application: Application = None,
        check: Annotated[
            bool, typer.Option("--check", help="Change nothing; exit with 8 where code and database differ.")
        ] = False,
        force: Annotated[
            str | None, typer.Option(metavar="REASON", help="Take operators' overrides back as well, for this reason.")
        ] = None,
    ) -> None:
        """Write what the code declares into the database."""
        from laneway.cli.tables import document, document_of, table

        with answering():
            found = found_app(application, settings)
            changes = found.check() if check else found.sync(force=force)
        if settings.json:
            document({"changes": [document_of(change) for change in changes]})
        else:
            rows = [(change.key, change.change, ", ".join(sorted(change.overrides))) for change in changes]
            table(("definition", "change", "overridden"), rows, empty="The code declares nothing.")
        if check and any(change.change != "unchanged" for change in changes):
            raise typer.Exit(Exit.FOUND_SOMETHING)

    app.add_typer(group, name="definitions")
