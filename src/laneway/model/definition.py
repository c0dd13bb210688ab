"""What code says of a definition, judged where it is said, and written as a sync takes it."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from laneway.document import depth_of
from laneway.model.bounds import BOUNDS, number_within, text_within, words_within, wrong
from laneway.model.retry import Retry

__all__ = ["DEFAULTS", "KEY", "LONGEST_DESCRIPTION", "QUEUE", "Declaration"]

DEFAULTS: Mapping[str, object] = {
    "queue": "default",
    "description": "",
    "tags": [],
    "schema": None,
    "max_attempts": 3,
    "priority": 100,
    "timeout_seconds": 3600,
    **Retry().fields(),
    "is_system": False,
}
"""What the database fills in where nothing is declared: `definition_defaults()`, but for is_enabled, an operator's."""

KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/-]{0,119}")
QUEUE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,119}")
_MOST_TAGS = 50
_LONGEST_TAG = 63
_MOST_ALIASES = 50
LONGEST_DESCRIPTION = 2000
_LARGEST_SCHEMA = 262144
_DEEPEST_SCHEMA = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """A definition as the code declares it. An operator's overrides stand in the database and win."""

    key: str
    place: str = ""
    """`module.function`, for errors."""
    queue: str = "default"
    description: str = ""
    tags: tuple[str, ...] = ()
    max_attempts: int = 3
    priority: int = 100
    timeout_seconds: int = 3600
    retry: Retry = field(default_factory=Retry)
    is_system: bool = False
    """Jobs of the platform itself, not of a tenant's business."""
    schema: dict[str, object] | None = None
    aliases: tuple[str, ...] = ()
    """Former keys: rows enqueued under them are still run. Known to workers, not to the database."""

    def __post_init__(self) -> None:
        _require_name(self, "key", self.key, KEY, "_ . : / -")
        _require_name(self, "queue", self.queue, QUEUE, "_ . : -")
        _require_aliases(self)
        text_within(self.description, field="description", most=LONGEST_DESCRIPTION, of=self.place)
        _require_tags(self)
        for name in ("max_attempts", "priority", "timeout_seconds"):
            number = number_within(BOUNDS[name], getattr(self, name), field=name, of=self.place)
            object.__setattr__(self, name, number)
        _require_kind(self, "retry", self.retry, Retry, 'Write for example Retry.exponential("5s", cap="1h").')
        _require_kind(self, "is_system", self.is_system, bool, "Use True or False.")
        if self.schema is not None:
            _require_schema(self, self.schema)

    def fields(self) -> dict[str, object]:
        """As a sync takes it. What is the default anyway is left out: hashes stay the same when fields are added."""
        said: dict[str, object] = {
            "queue": self.queue,
            "description": self.description,
            "tags": [*self.tags],
            "schema": self.schema,
            "max_attempts": self.max_attempts,
            "priority": self.priority,
            "timeout_seconds": self.timeout_seconds,
            **self.retry.fields(),
            "is_system": self.is_system,
        }
        return {name: value for name, value in said.items() if value != DEFAULTS[name]}


def _require_name(declared: Declaration, name: str, value: object, pattern: re.Pattern[str], signs: str) -> None:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        hint = f"Use 1 to 120 of A-Z a-z 0-9 {signs}, beginning with a letter or digit."
        raise wrong(name, value, "is malformed", of=declared.place, hint=hint)


def _require_aliases(declared: Declaration) -> None:
    aliases = words_within(declared.aliases, field="aliases", most=_MOST_ALIASES, of=declared.place)
    object.__setattr__(declared, "aliases", aliases)
    for alias in aliases:
        _require_name(declared, "aliases", alias, KEY, "_ . : / -")
        if alias == declared.key or aliases.count(alias) > 1:
            raise wrong("aliases", alias, "is named twice", of=declared.place, hint="Name each former key once.")


def _require_tags(declared: Declaration) -> None:
    tags = words_within(declared.tags, field="tags", most=_MOST_TAGS, of=declared.place)
    object.__setattr__(declared, "tags", tags)
    for tag in tags:
        if not 1 <= len(tag) <= _LONGEST_TAG:
            hint = f"Give words of 1 to {_LONGEST_TAG} characters."
            raise wrong("tags", tag, f"has {len(tag)} characters", of=declared.place, hint=hint)


def _require_kind(declared: Declaration, name: str, value: object, kind: type, hint: str) -> None:
    if not isinstance(value, kind):
        raise wrong(name, value, f"is not a {kind.__name__}", of=declared.place, hint=hint)


def _require_schema(declared: Declaration, schema: dict[str, object]) -> None:
    size = len(json.dumps(schema, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    if size > _LARGEST_SCHEMA:
        hint = f"Keep it within {_LARGEST_SCHEMA}: refer to data by an id instead of describing all of it."
        raise wrong("schema", f"{size} bytes", "is too large", of=declared.place, hint=hint)
    depth = depth_of(schema)
    if depth > _DEEPEST_SCHEMA:
        hint = f"Keep it within {_DEEPEST_SCHEMA}: name inner models, each becomes a definition of its own."
        raise wrong("schema", f"{depth} levels", "is too deep", of=declared.place, hint=hint)
