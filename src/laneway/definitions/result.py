"""What a handler gave back, as its annotation says. Imports pydantic: loaded when the first result is read."""

from collections.abc import Callable
from typing import Any, cast, get_type_hints

from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError

__all__ = ["result_reader"]


def result_reader(function: Callable[..., object]) -> Callable[[Any], object]:
    """From the stored document to a value of the annotated type; as it is where there is no usable annotation."""
    try:
        hint = get_type_hints(function).get("return", Any)
        adapter: TypeAdapter[object] = TypeAdapter(cast("type[object]", hint))
    except (NameError, TypeError, PydanticUserError):
        return lambda document: document
    return adapter.validate_python
