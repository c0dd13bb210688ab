"""Walks documents: what JSON holds, and what Python holds that becomes JSON."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import cast

__all__ = ["Path", "depth_of", "parts_of", "pointer", "walk"]

Path = tuple[str | int, ...]


def pointer(path: Iterable[str | int]) -> str:
    """A path as a JSON pointer."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def parts_of(value: object) -> list[tuple[str | int, object]]:
    """What a value holds, by key or place; nothing where it is no container."""
    match value:
        case Mapping():
            entries = cast("Mapping[object, object]", value).items()
            return [(str(key), part) for key, part in entries]
        case list() | tuple() | set() | frozenset() | deque():
            return [*enumerate(cast("Iterable[object]", value))]
        case _:
            return []


def walk(document: object) -> Iterator[tuple[Path, object]]:
    """The document and all values in it, each with its path; a key is the end of its value's path."""
    # not by recursion: a document may be deeper than Python's stack
    ahead: list[tuple[Path, object]] = [((), document)]
    while ahead:
        path, value = ahead.pop()
        yield path, value
        ahead.extend(((*path, key), part) for key, part in reversed(parts_of(value)))


def depth_of(document: object) -> int:
    """How many objects and lists stand in each other."""
    return max((len(path) + 1 for path, value in walk(document) if isinstance(value, dict | list)), default=0)
