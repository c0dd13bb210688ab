"""Bounds of what may be declared, the same as in `require_definition()` of the SQL: a mistake is told at import."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import cast

from laneway.durations import Duration, seconds_of
from laneway.errors import DefinitionError, DurationInvalid, shorten

__all__ = ["BOUNDS", "Bound", "number_within", "seconds_within", "text_within", "words_within", "wrong"]


@dataclass(frozen=True, slots=True)
class Bound:
    """The least and the most that a number may be."""

    least: float
    most: float
    is_whole: bool = False

    def __str__(self) -> str:
        return f"{'a whole number from ' if self.is_whole else ''}{self.least:g} to {self.most:.15g}"

    def holds(self, number: float) -> bool:
        return self.least <= number <= self.most and not (self.is_whole and number != int(number))


BOUNDS = {
    "max_attempts": Bound(1, 100, is_whole=True),
    "priority": Bound(0, 1000, is_whole=True),
    "timeout_seconds": Bound(1, 604800, is_whole=True),
    "backoff_base_seconds": Bound(0, 3600),
    "backoff_factor": Bound(1, 10),
    "backoff_cap_seconds": Bound(1, 86400),
    "backoff_jitter": Bound(0, 1),
    "backoff_list_seconds": Bound(0, 86400),
}


def wrong(field: str, value: object, fact: str, *, of: str = "", hint: str) -> DefinitionError:
    """The error of a declaration: whose it is, which field, what stands there, and the way out."""
    whose = f"job {of}: " if of else ""
    shown = shorten(value)
    return DefinitionError(f'{whose}{field}: "{shown}" {fact}', field=field, value=shown, hint=hint)


def number_within(bound: Bound, value: object, *, field: str, of: str = "") -> float:
    """The number, a whole one as an int: 5 and 5.0 are one number, and must have one hash."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong(field, value, "is not a number", of=of, hint=f"Use {bound}.")
    # NaN is below and above nothing
    if not bound.holds(value):
        raise wrong(field, value, "is out of range", of=of, hint=f"Use {bound}.")
    # finer than a microsecond nobody waits, and 0.1 + 0.2 is to be 0.3
    return int(value) if value == int(value) else round(value, 6)


def seconds_within(bound: Bound, value: Duration, *, field: str, of: str = "") -> float:
    """The seconds of a duration, within bounds."""
    try:
        seconds = seconds_of(value)
    except DurationInvalid as error:
        raise wrong(field, value, "is not a duration", of=of, hint=error.hint) from None
    if not bound.holds(seconds):
        raise wrong(field, value, "is out of range", of=of, hint=f"Use {bound} seconds.")
    return number_within(bound, seconds, field=field, of=of)


def text_within(value: object, *, field: str, most: int, of: str = "") -> str:
    """A text that PostgreSQL can hold."""
    if not isinstance(value, str):
        raise wrong(field, value, "is not a text", of=of, hint=f"Give at most {most} characters.")
    if len(value) > most:
        raise wrong(field, value, f"has {len(value)} characters", of=of, hint=f"Give at most {most}.")
    if "\0" in value or any("\ud800" <= sign <= "\udfff" for sign in value):
        raise wrong(
            field, value, "has a sign that the database cannot hold", of=of, hint="Leave out NUL and surrogates."
        )
    return value


def words_within(value: object, *, field: str, most: int, of: str = "") -> tuple[str, ...]:
    """Words as a tuple: a text alone is not taken for its letters."""
    hint = f"Give a list of at most {most} words."
    if isinstance(value, str) or not isinstance(value, Collection):
        raise wrong(field, value, "is not a list", of=of, hint=hint)
    words = tuple(cast("Collection[object]", value))
    if len(words) > most:
        raise wrong(field, words, f"has {len(words)} words", of=of, hint=hint)
    return tuple(text_within(word, field=field, most=2000, of=of) for word in words)
