"""A SQL function to be called, as a value: it waits for nothing and knows no driver.

`calls/` makes them, one Python function per SQL function; a session or a borrowed connection sends the statement that
comes out of one and reads the rows that come back. What a driver would turn into a value of its own making (JSON) goes
out and comes home as text, so that a call means the same on psycopg, asyncpg, SQLAlchemy and Django.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import Any, Generic, NamedTuple, Protocol, TypeVar
from uuid import UUID

__all__ = ["Argument", "Call", "Reads", "Row", "Runs", "Scope", "Statement", "Style", "statement"]

T = TypeVar("T")

Row = Sequence[Any]
Reads = Callable[[Sequence[Row]], T]


class Scope(Enum):
    """What a call may do in the context of its tenant, as tokens say it."""

    READ = "r"
    OPERATE = "o"
    ADMINISTER = "a"


class Style(Enum):
    """How a driver writes its placeholders."""

    NUMBERED = "${}"
    FORMAT = "%s"


class Argument(NamedTuple):
    """A value and the SQL type it is sent as. A type with two casts is sent as the first of them."""

    value: object
    type: str
    is_always_sent: bool = False
    """Null as well: one text, and one prepared statement, for calls that are made all the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[T]):
    """One call of one SQL function."""

    function: str
    arguments: Mapping[str, Argument]
    """By name, without the prefix. What is None is left out: the function's default stands."""
    columns: Sequence[str]
    read: Reads[T]
    tenant: UUID | None = None
    """Whose context the call needs; None: it needs none."""
    scope: Scope = Scope.OPERATE

    def with_argument(self, name: str, argument: Argument) -> "Call[T]":
        return replace(self, arguments={**self.arguments, name: argument})


class Runs(Protocol):
    """Whatever sends calls and awaits their answers."""

    async def run(self, call: Call[T]) -> T: ...


class Statement(NamedTuple):
    """What a driver is given."""

    text: str
    parameters: Sequence[object]


def statement(call: Call[Any], *, schema: str, style: Style) -> Statement:
    given = [
        (name, argument)
        for name, argument in call.arguments.items()
        if argument.value is not None or argument.is_always_sent
    ]
    shape = tuple((name, argument.type) for name, argument in given)
    text = _text(schema, call.function, shape, tuple(call.columns), style)
    return Statement(text, [argument.value for _, argument in given])


# The shapes are as many as there are functions and options in use: a few dozen in a process.
@lru_cache(maxsize=512)
def _text(
    schema: str, function: str, shape: tuple[tuple[str, str], ...], columns: tuple[str, ...], style: Style
) -> str:
    arguments = ", ".join(
        f"p_{name} => {style.value.format(place)}::{type_}" for place, (name, type_) in enumerate(shape, start=1)
    )
    inside = '"' + schema.replace('"', '""') + '"'
    text = f"select {', '.join(columns)} from {inside}.{function}({arguments})"  # noqa: S608 (names of our own)
    return text if style is Style.NUMBERED else text.replace(inside, inside.replace("%", "%%"))
