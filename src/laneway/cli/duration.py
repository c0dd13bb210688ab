"""Durations as people write them: `500ms`, `3s`, `2m`, `1h`."""

import re
from datetime import timedelta

import typer

__all__ = ["duration"]

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_WRITTEN = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")


def duration(text: str | timedelta) -> timedelta:
    """Reads one; Typer hands a default through as it is."""
    if isinstance(text, timedelta):
        return text
    match = _WRITTEN.fullmatch(text.strip())
    if match is None:
        raise typer.BadParameter(f'"{text}" is not a duration, write for example 500ms, 3s or 2m.')
    return timedelta(seconds=float(match[1]) * _UNITS[match[2]])
