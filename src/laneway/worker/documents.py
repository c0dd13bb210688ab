"""What a handler gives back or says when it fails, as text that the database can store."""

import json
import re
import traceback
from typing import Any

__all__ = ["encode_result", "error_of", "storable"]

_LONGEST_MESSAGE = 2_000
_LONGEST_TRACEBACK = 16_000
# an odd number of backslashes before the u: the escape itself, not a text that speaks of it
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


def encode_result(result: object) -> str | None:
    """JSON text; raises ValueError or TypeError for what is no document that PostgreSQL can hold."""
    if result is None:
        return None
    text = json.dumps(result, allow_nan=False, ensure_ascii=False, separators=(",", ":"), default=_plain)
    text.encode()
    if _NUL.search(text):
        raise ValueError("a text in it holds U+0000, which PostgreSQL cannot store")
    return text


def error_of(error: BaseException) -> str:
    """Kind, message and traceback of an exception, as JSON text."""
    shown = "".join(traceback.format_exception(error, limit=-30))
    return json.dumps(
        {
            "kind": type(error).__qualname__,
            "message": storable(str(error), _LONGEST_MESSAGE),
            "traceback": storable(shown, _LONGEST_TRACEBACK, from_end=True),
        }
    )


def storable(text: str, longest: int, *, from_end: bool = False) -> str:
    """Without what a text column cannot hold, and no longer than this."""
    plain = text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()
    if len(plain) <= longest:
        return plain
    return f"...{plain[3 - longest :]}" if from_end else f"{plain[: longest - 3]}..."


def _plain(value: Any) -> Any:  # noqa: ANN401 (whatever a handler returned)
    """Models, dataclasses, times, ids and the like: what pydantic can write as JSON."""
    from pydantic_core import to_jsonable_python  # noqa: PLC0415 (loaded by the first result that needs it)

    return to_jsonable_python(value)
