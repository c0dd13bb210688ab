"""What a worker needs to know of a definition in code; `definitions/declare.py` makes such."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

__all__ = ["Runnable"]


class Runnable(Protocol):
    """A handler with its payload."""

    @property
    def key(self) -> str: ...
    @property
    def is_async(self) -> bool: ...
    @property
    def function(self) -> Callable[..., Any]: ...
    @property
    def takes_context(self) -> bool: ...
    def decode(self, payload: str, /) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """The arguments behind the context; raises PayloadInvalid."""
        ...
