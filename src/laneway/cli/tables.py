"""Rows for people: as wide as the terminal, and no wider; for machines: one document, or an object a line."""

import dataclasses
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["ago", "document", "document_of", "table"]

_WIDE = 10_000
_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def document_of(value: "DataclassInstance") -> dict[str, object]:
    """A frozen dataclass by its fields."""
    return dataclasses.asdict(value)


def document(value: object) -> None:
    typer.echo(json.dumps(value, default=_plain, ensure_ascii=False))


def table(titles: Sequence[str], rows: Sequence[Sequence[object]], *, empty: str) -> None:
    """Cells are cut to fit a terminal; a pipe gets them whole."""
    if not rows:
        typer.echo(empty)
        return
    drawn = Table(box=None, pad_edge=False, header_style="bold")
    for title in titles:
        drawn.add_column(title, overflow="ellipsis", no_wrap=True)
    for row in rows:
        drawn.add_row(*map(_cell, row))
    console = Console(width=None if sys.stdout.isatty() else _WIDE, highlight=False)
    with console.capture() as drawing:
        console.print(drawn)
    # no blanks behind the last cell of a line
    typer.echo("\n".join(line.rstrip() for line in drawing.get().splitlines()))


def ago(at: datetime | None) -> str:
    """`3m ago`, `in 2h`."""
    if at is None:
        return ""
    seconds = (datetime.now(UTC) - at).total_seconds()
    size, unit = next(((size, unit) for size, unit in _UNITS if abs(seconds) >= size), (1, "s"))
    count = round(abs(seconds) / size)
    return f"{count}{unit} ago" if seconds >= 0 else f"in {count}{unit}"


def _plain(value: object) -> str:
    """Times as RFC 3339 has them."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return str(value)


def _cell(value: object) -> str:
    return "" if value is None else str(value).replace("\n", " ")
