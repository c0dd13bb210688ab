"""From a handler's signature to the documents of its jobs, and back. Imports pydantic: `declare` does so when the
first payload is made.

If the one argument beside the context is a pydantic model or a dataclass, its document is the payload. Else the payload
is an object of the arguments by name, made from the signature. What `encode` writes has been read back: a payload that
its own handler could not take is refused where it is enqueued.
"""

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import Parameter
from itertools import islice
from typing import Any, NamedTuple, Optional, cast, get_origin

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
from pydantic_core import PydanticSerializationError, SchemaError, to_jsonable_python

from laneway.definitions.binding import bind, takes
from laneway.definitions.faults import faults_of
from laneway.definitions.foreign import foreign_values, has_endless_number
from laneway.definitions.json_schema import PayloadSchema, has_secrets
from laneway.definitions.signature import Signature, read_signature, resolve
from laneway.errors import MOST_FAULTS, DefinitionError, PayloadFault, PayloadInvalid, shorten
from laneway.payload_schema import Checker

__all__ = ["CallArguments", "PayloadType", "build"]

# In front of the names of fields: an argument may be called `json` or `_x`, a field of a model may not.
_FIELD = "argument_"
# What pydantic writes instead of a secret.
_MASKED = '"**********"'
_UNWRITABLE = (PydanticSerializationError, ValueError, TypeError, RecursionError)


class CallArguments(NamedTuple):
    """What a handler is called with, behind its context."""

    args: tuple[object, ...]
    kwargs: dict[str, object]


def build(function: Callable[..., object]) -> "PayloadType":
    """Reads the handler's signature; a DefinitionError names what cannot be a payload."""
    signature = read_signature(function)
    hints = resolve(signature)
    whole = _document_argument(signature, hints)
    try:
        kind = hints[whole.name] if whole else _model_of(signature, hints)
        adapter = TypeAdapter(cast("type[object]", kind))
        schema = adapter.json_schema(schema_generator=PayloadSchema)
        Checker(schema)
    except DefinitionError as error:
        message = f"job {signature.place}: {error.message}"
        raise DefinitionError(message, field=error.field, value=error.value, hint=error.hint) from error
    except (PydanticUserError, PydanticUndefinedAnnotation, SchemaError) as error:
        raise _no_payload(signature, error) from error
    return PayloadType(signature, adapter, schema, whole)


class PayloadType:
    """How the payloads of one definition are checked, written and read."""

    def __init__(
        self,
        signature: Signature,
        adapter: TypeAdapter[object],
        schema: dict[str, object],
        whole: Parameter | None,
    ) -> None:
        self.schema = schema
        """JSON Schema (2020-12) of the payload."""
        self._signature = signature
        self._adapter = adapter
        self._whole = whole
        self._has_secrets = has_secrets(schema)

    def encode(self, args: Sequence[object], kwargs: Mapping[str, object]) -> str:
        """The payload of a call of the handler, its context left out, as JSON text."""
        given = bind(self._signature, args, kwargs)
        if self._whole is None:
            document: object = given
        else:
            document = given.get(self._whole.name, self._whole.default)
        try:
            value = self._adapter.validate_python(document)
        except ValidationError as error:
            raise self._invalid(*faults_of(error, document)) from None
        return self._write(value)

    def encode_mapping(self, mapping: Mapping[str, object]) -> str:
        """The payload that a document gives: checked, with its defaults filled in, as JSON text."""
        try:
            text = json.dumps(to_jsonable_python(mapping, inf_nan_mode="constants"))
        except _UNWRITABLE as error:
            raise self._unwritable(error) from None
        return self._write(self._read(text))

    def decode(self, text: str) -> CallArguments:
        """What the handler is called with; the payload is checked again: it may be older than the code."""
        if has_endless_number(text):
            raise self._invalid(PayloadFault("", "JSON has no NaN and no Infinity", shorten(text)))
        value = self._read(text)
        if self._whole is not None:
            return CallArguments((), {self._whole.name: value})
        names = (argument.name for argument in self._signature.arguments)
        return CallArguments((), {name: getattr(value, _FIELD + name) for name in names})

    def _write(self, value: object) -> str:
        try:
            text = self._adapter.dump_json(value, by_alias=True, round_trip=True, warnings=False).decode()
        except _UNWRITABLE as error:
            raise self._unwritable(error) from None
        unwritten = partial(self._adapter.dump_python, value, by_alias=True, warnings=False)
        faults = tuple(islice(foreign_values(text, unwritten), MOST_FAULTS))
        if faults:
            raise self._invalid(*faults)
        if self._has_secrets and _MASKED in text:
            fact = "a secret would be stored as asterisks, annotate it as str or send where it is kept"
            raise self._invalid(PayloadFault("", fact))
        self._read(text)
        return text

    def _read(self, text: str) -> object:
        try:
            return self._adapter.validate_json(text)
        except ValidationError as error:
            raise self._invalid(*faults_of(error, _document_of(text))) from None

    def _invalid(self, *faults: PayloadFault) -> PayloadInvalid:
        hint = takes(self._signature) if self._whole is None else ""
        return PayloadInvalid.of(self._signature.place, faults, hint=hint)

    def _unwritable(self, error: Exception) -> PayloadInvalid:
        return self._invalid(PayloadFault("", f"it cannot be written as JSON: {shorten(str(error))}"))


def _document_of(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _document_argument(signature: Signature, hints: Mapping[str, object]) -> Parameter | None:
    """The one argument whose document is the payload, if it is such a one."""
    if len(signature.arguments) != 1:
        return None
    only = signature.arguments[0]
    hint = hints.get(only.name)
    kind: object = get_origin(hint) or hint
    return only if isinstance(kind, type) and _is_document(cast("type[object]", kind)) else None


def _is_document(kind: type[object]) -> bool:
    return issubclass(kind, BaseModel) or dataclasses.is_dataclass(kind)


def _model_of(signature: Signature, hints: Mapping[str, object]) -> type[BaseModel]:
    fields = {_FIELD + argument.name: _field_of(argument, hints) for argument in signature.arguments}
    config = ConfigDict(extra="forbid", allow_inf_nan=False, validate_default=True)
    make = cast("Callable[..., type[BaseModel]]", create_model)
    model = make(signature.function.__name__, __config__=config, **fields)
    _require_defaults(model)
    return model


def _field_of(argument: Parameter, hints: Mapping[str, object]) -> tuple[object, object]:
    hint = hints.get(argument.name, Any)
    if argument.default is Parameter.empty:
        return hint, Field(alias=argument.name)
    # `width: int = None` has said that None is fine
    kind = Optional[hint] if argument.default is None else hint  # noqa: UP045 (a value, not an annotation)
    return kind, Field(default=argument.default, alias=argument.name)


def _require_defaults(model: type[BaseModel]) -> None:
    """Of no arguments at all, the missing ones are none of the defaults' fault."""
    try:
        model.model_validate({})
    except ValidationError as error:
        for found in error.errors(include_url=False, include_context=False):
            if found["type"] != "missing" or len(found["loc"]) > 1:
                name = str(found["loc"][0]).removeprefix(_FIELD)
                raise DefinitionError(
                    f'default of argument "{name}": {found["msg"]}',
                    field="signature",
                    value=shorten(found["input"]),
                    hint="Give a default that the annotation allows.",
                ) from None


def _no_payload(signature: Signature, error: Exception) -> DefinitionError:
    return DefinitionError(
        f"job {signature.place}: its arguments cannot be a payload: {str(error).splitlines()[0].rstrip('.')}",
        field="signature",
        hint="Take what JSON can hold: texts, numbers, lists, dataclasses, pydantic models.",
    )
