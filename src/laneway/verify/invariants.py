"""The packaged files: the surface, and one query per invariant, named by the number it has in the design."""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import LiteralString, cast

__all__ = ["Invariant", "invariants", "packaged"]

_HEADER = re.compile(r"-- (?P<number>I\d+) (?P<name>[a-z_]+): (?P<title>.+)")


@dataclass(frozen=True, slots=True)
class Invariant:
    """One file: `number` is what people call it, `title` what always holds, `query` answers the rows that break it."""

    number: str
    name: str
    title: str
    query: LiteralString


def packaged(name: str) -> LiteralString:
    """The text of a file beside this one. Files of ours are as literal as text in the code."""
    return cast("LiteralString", files(__package__ or "laneway.verify").joinpath(name).read_text("utf-8"))


@cache
def invariants() -> tuple[Invariant, ...]:
    """All of them, in the order of their numbers."""
    names = sorted(file.name for file in files(__package__ or "laneway.verify").iterdir() if _is_query(file.name))
    return tuple(_read(name) for name in names)


def _is_query(name: str) -> bool:
    return name.startswith("I") and name.endswith(".sql")


def _read(name: str) -> Invariant:
    text = packaged(name)
    header = _HEADER.match(text)
    if header is None:
        raise ValueError(f'{name}: the first line is no header; write "-- I1 one_owner: what always holds."')
    return Invariant(number=header["number"], name=header["name"], title=header["title"], query=text)
