"""`functions/definitions.sql`: what code declares comes into the database."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from laneway.database.call import Argument, Call
from laneway.database.calls.columns import json_or_none

__all__ = ["DefinitionChange", "check_definitions", "force_definitions", "sync_definitions"]

Declared = Mapping[str, Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class DefinitionChange:
    key: str
    change: str
    """added, changed, restored, removed, unchanged or gone."""
    overrides: dict[str, Any]
    """What an operator has set instead of what the code says."""


def sync_definitions(app: str, declared: Declared) -> Call[list[DefinitionChange]]:
    return _call("sync_definitions", app, declared)


def check_definitions(app: str, declared: Declared) -> Call[list[DefinitionChange]]:
    """What a sync would change."""
    return _call("check_definitions", app, declared)


def force_definitions(app: str, declared: Declared, *, reason: str) -> Call[list[DefinitionChange]]:
    """A sync that takes operators' overrides back."""
    return _call("force_definitions", app, declared).with_argument("reason", Argument(reason, "text"))


def _call(function: str, app: str, declared: Declared) -> Call[list[DefinitionChange]]:
    return Call(
        function=function,
        arguments={"app": Argument(app, "text"), "definitions": Argument(json.dumps(declared), "text::jsonb")},
        columns=("key", "change", "overrides::text"),
        read=lambda rows: [
            DefinitionChange(key, change, json_or_none(overrides) or {}) for key, change, overrides in rows
        ],
    )
