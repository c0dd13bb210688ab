"""What a handler takes: perhaps a context, and arguments that become the payload. Read without pydantic, when the
handler is declared; names in annotations are looked up when the first payload is made, as they may be defined later.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter
from typing import get_origin, get_type_hints

from laneway.errors import DefinitionError
from laneway.model.context import HandlerContext

__all__ = ["Signature", "place_of", "read_signature", "resolve"]

_CONTEXTS = frozenset({"Context", "SyncContext"})
_CONTEXT_NAME = "ctx"
_UNUSABLE = {
    Parameter.VAR_POSITIONAL: "takes any number of arguments",
    Parameter.VAR_KEYWORD: "takes arguments of any name",
    Parameter.POSITIONAL_ONLY: "cannot be given by name",
}


@dataclass(frozen=True, slots=True)
class Signature:
    """A handler's arguments, its context apart."""

    function: Callable[..., object]
    place: str
    takes_context: bool
    arguments: tuple[Parameter, ...]


def place_of(function: Callable[..., object]) -> str:
    """`module.function`, as errors name it."""
    return f"{function.__module__}.{function.__qualname__}"


def read_signature(function: Callable[..., object]) -> Signature:
    """Refuses what no JSON document can be handed to."""
    place = place_of(function)
    parameters = [*inspect.signature(function).parameters.values()]
    takes_context = bool(parameters) and _is_context(parameters[0])
    arguments = tuple(parameters[1:] if takes_context else parameters)
    for argument in arguments:
        _require_usable(place, argument)
    return Signature(function, place, takes_context, arguments)


def resolve(signature: Signature) -> dict[str, object]:
    """The annotations of the arguments, with their names looked up; what has none is missing."""
    annotations = {
        argument.name: argument.annotation
        for argument in signature.arguments
        if argument.annotation is not Parameter.empty
    }
    function = inspect.unwrap(signature.function)
    try:
        return _look_up(annotations, getattr(function, "__globals__", {}))
    except NameError as error:
        raise _unresolved(signature, str(error.name), annotations) from error
    except (TypeError, SyntaxError, AttributeError) as error:
        raise DefinitionError(
            f"job {signature.place}: an annotation cannot be read: {error}",
            field="signature",
            hint="Annotate each argument with a type.",
        ) from error


def _look_up(annotations: Mapping[str, object], names: Mapping[str, object]) -> dict[str, object]:
    """Those of the arguments alone: a context or a result may be imported for type checkers only."""

    class Arguments: ...

    Arguments.__annotations__ = dict(annotations)
    return get_type_hints(Arguments, globalns=dict(names), include_extras=True)


def _is_context(parameter: Parameter) -> bool:
    if parameter.kind in {Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD}:
        return False
    return parameter.name == _CONTEXT_NAME or _names_a_context(parameter.annotation)


def _names_a_context(annotation: object) -> bool:
    """By name: the text of an annotation may name a class that is imported for type checkers only."""
    if isinstance(annotation, str):
        return annotation.partition("[")[0].rpartition(".")[2].strip() in _CONTEXTS
    kind = get_origin(annotation) or annotation
    return isinstance(kind, type) and (kind.__name__ in _CONTEXTS or issubclass(kind, HandlerContext))


def _require_usable(place: str, argument: Parameter) -> None:
    if argument.kind in _UNUSABLE:
        fact, hint = _UNUSABLE[argument.kind], "A payload is a document: give each argument a name of its own."
    elif _is_context(argument):
        fact, hint = "is a context in the wrong place", "Make the context the first argument."
    else:
        return
    raise DefinitionError(
        f'job {place}: argument "{argument}" {fact}', field="signature", value=str(argument), hint=hint
    )


def _unresolved(signature: Signature, name: str, annotations: Mapping[str, object]) -> DefinitionError:
    written = next((f"{key}: {text}" for key, text in annotations.items() if name in str(text)), name)
    return DefinitionError(
        f'job {signature.place}: "{name}" of "{written}" is not known in {signature.function.__module__}',
        field="signature",
        value=name,
        hint="Define or import it at the level of the module, not under TYPE_CHECKING or inside a function.",
    )
