"""A function becomes a job: its declaration, its payloads, and still the plain function when it is called."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Concatenate, Generic, ParamSpec, TypeVar, Unpack, cast, overload

from laneway.definitions.options import Isolation, JobOptions, isolation_of, require_known
from laneway.definitions.registry import Registry
from laneway.definitions.signature import Signature, place_of, read_signature
from laneway.errors import DefinitionError
from laneway.model.bounds import BOUNDS, seconds_within
from laneway.model.context import HandlerContext
from laneway.model.definition import LONGEST_DESCRIPTION, Declaration
from laneway.model.item import Item

if TYPE_CHECKING:
    from types import FunctionType

    from laneway.definitions.schema import PayloadType

__all__ = ["AnyJob", "HandlerJob", "declare"]

CallP = ParamSpec("CallP")
P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
C = TypeVar("C", bound=HandlerContext)


class HandlerJob(Generic[CallP, P, R_co]):
    """A job whose work is a function of this code.

    `CallP` are the arguments of the function as it is called, `P` those of its payload (the context left out), `R_co`
    is what it returns, for a coroutine function the coroutine.
    """

    def __init__(self, function: Callable[CallP, R_co], options: JobOptions) -> None:
        _require_function(function)
        require_known(place_of(function), options)
        functools.update_wrapper(self, function)
        self.function = function
        self.signature: Signature = read_signature(function)
        self.place = self.signature.place
        """`module.function`"""
        # of the function itself, not of a decorator's around it
        line = cast("FunctionType", inspect.unwrap(function)).__code__.co_firstlineno
        self.origin = f"{function.__module__}:{line}"
        """`module:line`"""
        self.is_async = inspect.iscoroutinefunction(function)
        self.isolation: Isolation = isolation_of(self.place, options, is_async=self.is_async)
        self._declared = _declaration(function, self.place, options)

    @property
    def key(self) -> str:
        return self._declared.key

    @property
    def aliases(self) -> tuple[str, ...]:
        return self._declared.aliases

    @cached_property
    def payload(self) -> "PayloadType":
        """How its payloads are written and read. Made when it is first asked for: annotations may name what is
        defined further down, and pydantic takes a tenth of a second to import.
        """
        from laneway.definitions.schema import build  # noqa: PLC0415 (imports pydantic)

        return build(self.function)

    @property
    def declaration(self) -> Declaration:
        """What a sync writes down, with the schema of the payload."""
        return replace(self._declared, schema=self.payload.schema)

    def item(self, *args: P.args, **kwargs: P.kwargs) -> Item:
        """One job with this payload, for bulk forms; nothing is enqueued."""
        return Item(self.key, self.payload.encode(args, kwargs))

    def __call__(self, *args: CallP.args, **kwargs: CallP.kwargs) -> R_co:
        """The plain function, for its unit tests: calling never enqueues."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<job {self.key} of {self.origin}>"


AnyJob = HandlerJob[..., ..., object]


@overload
def declare(
    function: Callable[Concatenate[C, P], R_co], *, registry: Registry[AnyJob], **options: Unpack[JobOptions]
) -> HandlerJob[Concatenate[C, P], P, R_co]: ...
@overload
def declare(
    function: Callable[P, R_co], *, registry: Registry[AnyJob], **options: Unpack[JobOptions]
) -> HandlerJob[P, P, R_co]: ...
def declare(
    function: Callable[..., R_co], *, registry: Registry[AnyJob], **options: Unpack[JobOptions]
) -> HandlerJob[..., ..., R_co]:
    """Makes a job of a function and takes it into the registry; all that can be judged now is judged now."""
    job: HandlerJob[..., ..., R_co] = HandlerJob(function, options)
    registry.add(job)
    return job


def _require_function(function: object) -> None:
    if not inspect.isfunction(function):
        shown = getattr(function, "__name__", type(function).__name__)
        raise DefinitionError(
            f'job "{shown}" is a {type(function).__name__}, not a function',
            field="function",
            value=str(shown),
            hint="Declare a function: def or async def.",
        )
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise DefinitionError(
            f"job {place_of(function)}: it yields, and a job has one result",
            field="function",
            value=function.__name__,
            hint="Return the result.",
        )


def _declaration(function: Callable[..., object], place: str, options: JobOptions) -> Declaration:
    said: dict[str, object] = {name: value for name, value in options.items() if name != "isolation"}
    said.setdefault("key", function.__name__.strip("_").replace("_", "-"))
    said.setdefault("description", _first_line(function))
    if "system" in said:
        said["is_system"] = said.pop("system")
    if "timeout" in options:
        bound = BOUNDS["timeout_seconds"]
        said.pop("timeout")
        said["timeout_seconds"] = seconds_within(bound, options["timeout"], field="timeout", of=place)
    # whatever types were given: the declaration judges them
    make = cast("Callable[..., Declaration]", Declaration)
    return make(place=place, **said)


def _first_line(function: Callable[..., object]) -> str:
    return (inspect.getdoc(function) or "").partition("\n")[0][:LONGEST_DESCRIPTION]
