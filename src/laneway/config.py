"""What the environment says: the only reader of it. Whatever is given in code wins."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from laneway.errors import ConfigurationError

__all__ = ["Environment"]

_PREFIX = "LANEWAY_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The settings that an application and its workers share."""

    database_url: str | None = None
    schema: str | None = None
    context_key: str | None = None

    @classmethod
    def read(cls, environment: Mapping[str, str] | None = None) -> "Environment":
        """`LANEWAY_DATABASE_URL`, `LANEWAY_SCHEMA`, `LANEWAY_CONTEXT_KEY`; for secrets also `.._FILE`."""
        source = os.environ if environment is None else environment
        return cls(
            database_url=_secret(source, "DATABASE_URL"),
            schema=source.get(f"{_PREFIX}SCHEMA") or None,
            context_key=_secret(source, "CONTEXT_KEY"),
        )


def _secret(source: Mapping[str, str], name: str) -> str | None:
    """The value, or the content of the file that is named instead; both at once are a mistake."""
    given, path = source.get(_PREFIX + name), source.get(f"{_PREFIX}{name}_FILE")
    if given and path:
        raise ConfigurationError(
            f"{_PREFIX}{name}: it is set, and {_PREFIX}{name}_FILE as well",
            field=name.lower(),
            hint="Set one of them.",
        )
    if not path:
        return given or None
    try:
        return Path(path).read_text("utf-8").strip() or None
    except OSError as error:
        raise ConfigurationError(
            f"{_PREFIX}{name}_FILE: {path} cannot be read: {error.strerror}",
            field=name.lower(),
            value=path,
            hint="Name a file that this process may read.",
        ) from error
