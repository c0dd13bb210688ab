"""Durations of options: `500ms`, `3s`, `2m`, `1h30m`."""

from datetime import timedelta

import typer

from laneway.durations import seconds_of
from laneway.errors import DurationInvalid

__all__ = ["duration"]


def duration(text: str | timedelta) -> timedelta:
    """Reads one; Typer hands a default through as it is."""
    if isinstance(text, timedelta):
        return text
    try:
        return timedelta(seconds=seconds_of(text))
    except (DurationInvalid, OverflowError):
        raise typer.BadParameter(f'"{text}" is not a duration, write for example 500ms, 3s or 2m.') from None
