"""The arguments of a call by their names, as Python would bind them, but with every fault told and named."""

from collections.abc import Iterator, Mapping, Sequence
from inspect import Parameter

from laneway.definitions.signature import Signature
from laneway.document import pointer
from laneway.errors import PayloadFault, PayloadInvalid, shorten

__all__ = ["bind", "takes"]


def bind(signature: Signature, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object]:
    """What was given for each argument; those with a default may be missing."""
    by_place = [argument.name for argument in signature.arguments if argument.kind is not Parameter.KEYWORD_ONLY]
    given = dict(zip(by_place, args, strict=False))
    faults = (*_surplus(by_place, args), *_misnamed(signature, given, kwargs), *_missing(signature, given, kwargs))
    if faults:
        raise PayloadInvalid.of(signature.place, faults, hint=takes(signature))
    return given | dict(kwargs)


def takes(signature: Signature) -> str:
    """The way out of a wrong call."""
    names = ", ".join(argument.name for argument in signature.arguments)
    return f"It takes {names}." if names else "It takes no arguments."


def _surplus(by_place: Sequence[str], args: Sequence[object]) -> Iterator[PayloadFault]:
    if len(args) > len(by_place):
        fact = f"{len(args)} arguments are given by position, {len(by_place)} can be"
        yield PayloadFault("", fact, shorten(args[len(by_place)]))


def _misnamed(
    signature: Signature, given: Mapping[str, object], kwargs: Mapping[str, object]
) -> Iterator[PayloadFault]:
    known = {argument.name for argument in signature.arguments}
    for name, value in kwargs.items():
        if name in given:
            yield PayloadFault(pointer([name]), "it is given twice", shorten(value))
        elif name not in known:
            yield PayloadFault(pointer([name]), "it is not known", shorten(value))


def _missing(signature: Signature, given: Mapping[str, object], kwargs: Mapping[str, object]) -> Iterator[PayloadFault]:
    for argument in signature.arguments:
        if argument.default is Parameter.empty and argument.name not in given and argument.name not in kwargs:
            yield PayloadFault(pointer([argument.name]), "it is missing")
