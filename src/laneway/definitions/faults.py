"""pydantic's errors as faults of a payload: with the path into what was given, and our words."""

from collections.abc import Iterator

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from laneway.document import parts_of, pointer
from laneway.errors import MOST_FAULTS, PayloadFault, shorten

__all__ = ["faults_of"]

_SENTENCES = {"missing": "it is missing", "extra_forbidden": "it is not known"}
_NOWHERE = object()


def faults_of(error: ValidationError, document: object) -> tuple[PayloadFault, ...]:
    """Each error with the path into what was given."""
    errors = error.errors(include_url=False, include_context=False)
    return tuple(_fault_of(found, document) for found in errors[:MOST_FAULTS])


def _fault_of(found: ErrorDetails, document: object) -> PayloadFault:
    is_missing = found["type"] == "missing"
    path = pointer(_path_into(document, found["loc"], ends_nowhere=is_missing))
    value = None if is_missing else shorten(found["input"])
    return PayloadFault(path, _SENTENCES.get(found["type"], found["msg"]), value)


def _path_into(document: object, location: tuple[str | int, ...], *, ends_nowhere: bool) -> Iterator[str | int]:
    """The parts that lead somewhere: between them pydantic names members of unions and validators."""
    here = document
    for place, part in enumerate(location, 1):
        there = _step(here, part)
        if there is not _NOWHERE:
            here = there
            yield part
        elif ends_nowhere and place == len(location):
            yield part


def _step(here: object, part: str | int) -> object:
    inner = dict(parts_of(here))
    if inner or not isinstance(part, str):
        return inner.get(part, _NOWHERE)
    return getattr(here, part, _NOWHERE)
