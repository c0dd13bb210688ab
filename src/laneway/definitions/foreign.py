"""Values that get lost on the way to the database: numbers that JSON does not have, which pydantic writes as null or as
a word, and NUL, which PostgreSQL holds in no text. Texts without a sign of them are not walked: most payloads are.
"""

import json
import math
from collections.abc import Callable, Iterator
from decimal import Decimal

from laneway.document import pointer, walk
from laneway.errors import PayloadFault

__all__ = ["foreign_values", "has_endless_number"]

_SIGNS_OF_ENDLESS = ("null", "NaN", "Infinity")
_SIGN_OF_NUL = "\\u0000"


def foreign_values(text: str, unwritten: Callable[[], object]) -> Iterator[PayloadFault]:
    """What the text does not hold, or may not, of the values that it was written from."""
    if any(sign in text for sign in _SIGNS_OF_ENDLESS):
        for path, value in walk(unwritten()):
            if _is_endless(value):
                yield PayloadFault(pointer(path), "JSON has no such number", str(value))
    if _SIGN_OF_NUL in text:
        for path, value in walk(json.loads(text)):
            if _has_nul(value) or (path and _has_nul(path[-1])):
                shown = pointer(path).replace("\0", _SIGN_OF_NUL)
                yield PayloadFault(shown, "it has a NUL, which the database cannot hold")


def has_endless_number(text: str) -> bool:
    """Whether a JSON text has NaN or Infinity as a number, which Python's readers take."""
    if "NaN" not in text and "Infinity" not in text:
        return False
    constants: list[str] = []
    try:
        json.loads(text, parse_constant=constants.append)
    except (ValueError, RecursionError):
        # no JSON that could be read: whoever reads it next says so
        return False
    return bool(constants)


def _is_endless(value: object) -> bool:
    match value:
        case float():
            return not math.isfinite(value)
        case Decimal():
            return not value.is_finite()
        case _:
            return False


def _has_nul(value: object) -> bool:
    return isinstance(value, str) and "\0" in value
