"""One job as it is asked for: what `enqueue()` of the SQL takes for it. Bounds are the database's to judge, which
answers per item.
"""

import json
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from hashlib import sha256

__all__ = ["AUTO", "Item", "auto_dedupe_key"]

AUTO = "auto"
"""As a dedupe key: jobs of one definition and payload are the same."""


@dataclass(frozen=True, slots=True)
class Item:
    """A definition's key, the payload as JSON text, and the options of this job alone; None: as the definition says."""

    definition: str
    payload: str = "{}"
    _: KW_ONLY
    priority: int | None = None
    delay_seconds: float | None = None
    run_at: datetime | None = None
    expires_seconds: float | None = None
    max_attempts: int | None = None
    timeout_seconds: int | None = None
    dedupe_key: str | None = None
    """"auto" becomes a hash of definition and payload when the item is made."""
    dedupe: str | None = None
    """skip, replace, requeue or error."""
    dedupe_window_seconds: float | None = None
    idempotency_key: str | None = None
    labels: Mapping[str, str] | None = None
    correlation_id: str | None = None
    trace_id: str | None = None
    source_ref: str | None = None

    def __post_init__(self) -> None:
        if self.dedupe_key == AUTO:
            object.__setattr__(self, "dedupe_key", auto_dedupe_key(self.definition, self.payload))


def auto_dedupe_key(definition: str, payload: str) -> str:
    """The same for the same document, whatever the order of its keys and its white space."""
    canonical = json.dumps(json.loads(payload), sort_keys=True, separators=(",", ":"))
    # no key of a definition has a space: no two pairs are written alike
    return f"{AUTO}:{sha256(f'{definition} {canonical}'.encode()).hexdigest()}"
