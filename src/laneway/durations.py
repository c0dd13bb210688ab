"""Durations as people write them: `500ms`, `10m`, `1h30m`, seconds, or a timedelta."""

import math
import re
from datetime import timedelta

from laneway.errors import DurationInvalid, shorten

__all__ = ["Duration", "seconds_of"]

Duration = str | int | float | timedelta

_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
# each unit once, the larger first: what else could `5m1h` mean than a mistake
_WRITTEN = re.compile("".join(rf"(?:([0-9]+(?:\.[0-9]+)?){unit})?" for unit in _UNITS))
_LONGEST = 64
_HINT = "Write for example 500ms, 90s, 10m, 1h30m or 2d; a plain number is seconds."


def seconds_of(duration: Duration) -> float:
    """How long, in seconds; refuses what is negative, endless or no duration at all."""
    seconds = _seconds(duration)
    if seconds is None or not math.isfinite(seconds):
        raise _invalid("is not a duration", duration)
    if seconds < 0:
        raise _invalid("is negative, and nothing takes less than no time", duration)
    return seconds


def _seconds(duration: object) -> float | None:
    match duration:
        case bool():
            return None
        case str():
            return _read(duration.strip())
        case timedelta():
            return duration.total_seconds()
        case int() | float():
            return _as_float(duration)
        case _:
            return None


def _read(text: str) -> float | None:
    match = _WRITTEN.fullmatch(text) if 0 < len(text) <= _LONGEST else None
    if match is None:
        return None
    parts = zip(match.groups(), _UNITS.values(), strict=True)
    return sum(float(count) * unit for count, unit in parts if count is not None)


def _as_float(number: float) -> float | None:
    try:
        return float(number)
    except OverflowError:
        return None


def _invalid(fact: str, duration: object) -> DurationInvalid:
    shown = shorten(str(duration) if isinstance(duration, timedelta) else duration)
    return DurationInvalid(f'duration: "{shown}" {fact}', field="duration", value=shown, hint=_HINT)
