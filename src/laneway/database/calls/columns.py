"""Rows of named columns become frozen dataclasses whose fields bear the same names."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar
from uuid import UUID

from laneway.database.call import Row

__all__ = ["JSON", "columns_of", "json_or_none", "read_one", "reader"]

T = TypeVar("T")

Convert = Callable[[Any], Any]


def json_or_none(text: str | None) -> Any:  # noqa: ANN401 (a document)
    return None if text is None else json.loads(text)


# Which fields hold documents: sent home as text, since drivers disagree on what JSON becomes.
JSON = ("payload", "result", "error", "labels", "overrides")


def columns_of(model: type[Any]) -> list[str]:
    names = [field.name for field in fields(model)]
    return [f"{name}::text" if name in JSON else name for name in names]


def reader(model: type[T], **convert: Convert) -> Callable[[Row], T]:
    """From a row in the order of `columns_of` to the model."""
    names = [field.name for field in fields(model)]  # pyright: ignore[reportArgumentType] (a dataclass)
    by_place: list[Convert | None] = [
        convert.get(name) or (json_or_none if name in JSON else _uuid if _holds_id(name) else None) for name in names
    ]

    def read(row: Row) -> T:
        values: Mapping[str, object] = {
            name: value if change is None or value is None else change(value)
            for name, change, value in zip(names, by_place, row, strict=False)
        }
        return model(**values)

    return read


def read_one(read: Callable[[Row], T]) -> Callable[[Sequence[Row]], T | None]:
    return lambda rows: read(rows[0]) if rows else None


def _holds_id(name: str) -> bool:
    return name.endswith("_id") and name not in {"correlation_id", "trace_id"}


def _uuid(value: Any) -> UUID:  # noqa: ANN401 (a column)
    # asyncpg answers a subclass of its own, which does not pickle everywhere
    return value if type(value) is UUID else UUID(str(value))
