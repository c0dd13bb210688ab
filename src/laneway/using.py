"""The options of one enqueue, beside its payload; every one becomes a field of the item that is sent."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from difflib import get_close_matches
from typing import Any, Literal, TypedDict, cast
from uuid import UUID

from laneway.durations import Duration, seconds_of
from laneway.errors import ConfigurationError
from laneway.model.item import Item

__all__ = ["OnRefused", "Using", "item_with", "require_known"]

OnRefused = Literal["raise", "return"]


class Using(TypedDict, total=False):
    """What `using()` takes."""

    tenant: UUID | str
    conn: object
    """The caller's own connection: the job stands and falls with its transaction."""
    delay: Duration
    at: datetime
    expires: Duration
    priority: int
    max_attempts: int
    timeout: Duration
    dedupe_key: str
    dedupe: Literal["skip", "replace", "requeue", "error"]
    dedupe_window: Duration
    idempotency_key: str
    labels: Mapping[str, str]
    correlation_id: str
    trace_id: str
    on_refused: OnRefused


_LATER = frozenset({"ordering_key", "depends_on", "batch", "workflow"})
_DURATIONS = {"delay": "delay_seconds", "expires": "expires_seconds", "dedupe_window": "dedupe_window_seconds"}
_PLAIN = (
    "priority",
    "max_attempts",
    "dedupe_key",
    "dedupe",
    "idempotency_key",
    "labels",
    "correlation_id",
    "trace_id",
)


def require_known(options: Mapping[str, object]) -> None:
    known = Using.__annotations__
    for name in options:
        if name in known:
            continue
        if name in _LATER:
            fact, hint = "is not available in this release", "Leave it out: it would not be kept."
        else:
            near = get_close_matches(name, known, n=1)
            fact, hint = "is not known", f'Did you mean "{near[0]}"?' if near else f"Use {', '.join(known)}."
        raise ConfigurationError(f"using: option '{name}' {fact}", field=name, value=name, hint=hint)


def item_with(item: Item, options: Using) -> Item:
    """The item with the options of this call on top."""
    given = cast("Mapping[str, Any]", options)
    changes: dict[str, Any] = {name: given[name] for name in _PLAIN if name in given}
    changes |= {field: seconds_of(given[name]) for name, field in _DURATIONS.items() if name in given}
    if "at" in options:
        changes["run_at"] = _with_zone(options["at"])
    if "timeout" in options:
        changes["timeout_seconds"] = round(seconds_of(options["timeout"]))
    return replace(item, **changes) if changes else item


def _with_zone(at: datetime) -> datetime:
    if at.tzinfo is None:
        raise ConfigurationError(
            f"at: {at.isoformat()} has no time zone",
            field="at",
            value=at.isoformat(),
            hint="Give one, for example datetime.now(UTC) + timedelta(hours=1).",
        )
    return at
