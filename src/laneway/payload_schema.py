"""JSON Schema: checks a document, and names the paths that fail.

Schemas come from code and from databases of others, so nothing is fetched (by default a `$ref` would read files and
call URLs), patterns run in an engine that does not backtrack, and formats are asserted, not only noted.
"""

from collections.abc import Iterator
from itertools import islice

import jsonschema_rs
from jsonschema_rs import ValidationErrorKind

from laneway.document import pointer, walk
from laneway.errors import MOST_FAULTS, DefinitionError, PayloadFault, shorten

__all__ = ["Checker"]

_LONGEST_MESSAGE = 200
_SMALL = 1000
"""Values in a document of which all faults are looked for."""
_HINT = "Give a JSON Schema (2020-12) that refers to nothing outside and has patterns without looking around."


class Checker:
    """A schema, compiled once; holds for documents as `json.loads` gives them."""

    def __init__(self, schema: dict[str, object] | bool) -> None:  # noqa: FBT001 (false is a schema)
        try:
            self._validator = jsonschema_rs.validator_for(
                schema,
                offline=True,
                validate_formats=True,
                pattern_options=jsonschema_rs.RegexOptions(),
                # faults carry the value beside the sentence
                mask="it",
            )
        except jsonschema_rs.ValidationError as error:
            raise _broken(pointer(error.instance_path), error.message, error.instance) from None
        except ValueError as error:
            raise _broken("", str(error), schema) from None

    def check(self, document: object) -> tuple[PayloadFault, ...]:
        """What is wrong; empty: it fits."""
        try:
            if self._validator.is_valid(document):
                return ()
            errors = self._all(document) if _is_small(document) else self._first(document)
            return tuple(islice((fault for error in errors for fault in _faults_of(error)), MOST_FAULTS))
        except ValueError as error:
            return (PayloadFault("", f"it is no JSON document: {error}", shorten(document)),)

    def _all(self, document: object) -> Iterator[jsonschema_rs.ValidationError]:
        return self._validator.iter_errors(document)

    def _first(self, document: object) -> Iterator[jsonschema_rs.ValidationError]:
        try:
            self._validator.validate(document)
        except jsonschema_rs.ValidationError as error:
            yield error


def _is_small(document: object) -> bool:
    """All errors are made before the first is seen, 25 us each: a payload of 131,072 wrong numbers would take 3 s."""
    return sum(1 for _ in islice(walk(document), _SMALL + 1)) <= _SMALL


def _faults_of(error: jsonschema_rs.ValidationError) -> Iterator[PayloadFault]:
    """A property that is missing or unknown is the place of the fault, not the object around it."""
    match error.kind:
        case ValidationErrorKind.Required(name):
            yield PayloadFault(pointer([*error.instance_path, name]), "it is missing")
        case ValidationErrorKind.AdditionalProperties(names) | ValidationErrorKind.UnevaluatedProperties(names):
            for name in names:
                yield PayloadFault(pointer([*error.instance_path, name]), "it is not known")
        case _:
            yield PayloadFault(pointer(error.instance_path), error.message[:_LONGEST_MESSAGE], shorten(error.instance))


def _broken(place: str, fact: str, value: object) -> DefinitionError:
    where = f"schema{place}"
    sentence = f"{where}: {fact[:_LONGEST_MESSAGE].rstrip('.')}"
    return DefinitionError(sentence, field=where, value=shorten(value), hint=_HINT)
