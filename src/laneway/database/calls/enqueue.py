"""`functions/enqueue.sql`: a job goes in, or many."""

import json
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from laneway.database.call import Argument, Call, Row
from laneway.model.enqueued import Enqueued, Refusal
from laneway.model.item import Item

__all__ = ["ANSWER", "enqueue", "enqueue_many", "read_answer"]

ANSWER = ("job_id", "created", "refusal", "field", "value", "hint")

# Per option of an item: its name here, in enqueue(), its plural in enqueue_many(), its SQL type.
_OPTIONS = (
    ("priority", "priority", "priorities", "integer"),
    ("delay_seconds", "delay_seconds", "delays_seconds", "float8"),
    ("run_at", "run_at", "run_at", "timestamptz"),
    ("expires_seconds", "expires_seconds", "expires_seconds", "float8"),
    ("max_attempts", "max_attempts", "max_attempts", "integer"),
    ("timeout_seconds", "timeout_seconds", "timeouts_seconds", "integer"),
    ("dedupe_key", "dedupe_key", "dedupe_keys", "text"),
    ("dedupe", "dedupe", "dedupe", "text"),
    ("dedupe_window_seconds", "dedupe_window_seconds", "dedupe_windows_seconds", "float8"),
    ("idempotency_key", "idempotency_key", "idempotency_keys", "text"),
    ("labels", "labels", "labels", "jsonb"),
    ("correlation_id", "correlation_id", "correlation_ids", "text"),
    ("trace_id", "trace_id", "trace_ids", "text"),
    ("source_ref", "source_ref", "source_refs", "text"),
)


def enqueue(tenant: UUID, item: Item) -> Call[Enqueued]:
    arguments = {
        "tenant": Argument(tenant, "uuid"),
        "definition": Argument(item.definition, "text"),
        "payload": Argument(item.payload, "text::jsonb"),
    }
    for name, singular, _, type_ in _OPTIONS:
        arguments[singular] = Argument(_sent(item, name), _wire(type_))
    return Call(function="enqueue", arguments=arguments, columns=ANSWER, read=read_answer, tenant=tenant)


def enqueue_many(tenant: UUID, items: Sequence[Item]) -> Call[list[Enqueued]]:
    """Answers in the order of the items."""
    definitions = [item.definition for item in items]
    arguments = {
        "tenant": Argument(tenant, "uuid"),
        # one definition in the array counts for all, and spares the look at each
        "definitions": Argument(definitions[:1] if len(set(definitions)) == 1 else definitions, "text[]"),
        "payloads": Argument([item.payload for item in items], "text[]::jsonb[]"),
    }
    for name, _, plural, type_ in _OPTIONS:
        values = [_sent(item, name) for item in items]
        given = values if any(value is not None for value in values) else None
        arguments[plural] = Argument(given, _wire(type_, array=True))
    return Call(
        function="enqueue_many", arguments=arguments, columns=("ordinal", *ANSWER), read=_in_order, tenant=tenant
    )


def _sent(item: Item, name: str) -> object:
    if name == "labels":
        return None if item.labels is None else json.dumps(dict(item.labels))
    return getattr(item, name)


def _wire(type_: str, *, array: bool = False) -> str:
    """Documents travel as text: what a driver would make of JSON depends on the driver."""
    tail = "[]" if array else ""
    return f"text{tail}::jsonb{tail}" if type_ == "jsonb" else f"{type_}{tail}"


def read_answer(rows: Sequence[Row]) -> Enqueued:
    return _answer(rows[0])


def _in_order(rows: Sequence[Row]) -> list[Enqueued]:
    ordinal: Callable[[Row], Any] = lambda row: row[0]  # noqa: E731 (a key with its type)
    return [_answer(row[1:]) for row in sorted(rows, key=ordinal)]


def _answer(row: Row) -> Enqueued:
    job_id, created, code, field, value, hint = row
    refusal = None if code is None else Refusal(code, field, value, hint)
    return Enqueued(None if job_id is None else UUID(str(job_id)), bool(created), refusal)
