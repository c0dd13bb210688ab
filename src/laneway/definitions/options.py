"""What may be said of a job beside its code, and what is refused: an option that is taken and not kept is a lie."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Literal, TypedDict

from laneway.durations import Duration
from laneway.errors import DefinitionError
from laneway.model.bounds import wrong
from laneway.model.retry import Retry

__all__ = ["Isolation", "JobOptions", "isolation_of", "require_known"]

Isolation = Literal["coroutine", "thread"]


class JobOptions(TypedDict, total=False):
    """The options of a declaration; what is left out is as the database has it by default."""

    key: str
    queue: str
    description: str
    tags: Sequence[str]
    max_attempts: int
    priority: int
    timeout: Duration
    retry: Retry
    system: bool
    aliases: Sequence[str]
    isolation: str


# Options that are to come: the database cannot keep them yet.
_LATER = frozenset(
    {
        "in_flight",
        "in_flight_per_tenant",
        "ordering_key",
        "schedule",
        "interval",
        "init",
        "on_success",
        "on_failure",
        "on_dead",
        "retention",
    }
)
_LATER_FAMILY = "start_rate"


def require_known(place: str, options: Mapping[str, object]) -> None:
    """Refuses options that are none, or none yet."""
    known = JobOptions.__annotations__
    for name in options:
        if name in _LATER or name.startswith(_LATER_FAMILY):
            fact, hint = "is not available in this release", "Leave it out: it would not be kept."
        elif name not in known:
            near = get_close_matches(name, known, n=1)
            fact, hint = "is not known", f'Did you mean "{near[0]}"?' if near else f"Use {', '.join(known)}."
        else:
            continue
        raise DefinitionError(f"job {place}: option '{name}' {fact}", field=name, value=name, hint=hint)


def isolation_of(place: str, options: JobOptions, *, is_async: bool) -> Isolation:
    """Where the handler runs: in the event loop or in a thread."""
    fitting: Isolation = "coroutine" if is_async else "thread"
    said = options.get("isolation", fitting)
    if said == "process":
        hint = "Leave it out; run a program as a child of the handler where it must be killable."
        raise wrong("isolation", said, "is not available in this release", of=place, hint=hint)
    if said != fitting:
        what = "async" if is_async else "sync"
        raise wrong("isolation", said, f"does not fit a handler that is {what}", of=place, hint=f'Use "{fitting}".')
    return fitting
