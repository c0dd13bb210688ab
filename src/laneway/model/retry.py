"""How long a failed attempt waits for the next: declared here, reckoned in `backoff.sql`."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from laneway.durations import Duration
from laneway.errors import DefinitionError
from laneway.model.bounds import BOUNDS, number_within, seconds_within, wrong

__all__ = ["Backoff", "Retry"]

_CAP = 3600.0
_JITTER = 0.2
_MOST_WAITS = 100


class Backoff(StrEnum):
    """The kinds of backoff."""

    EXPONENTIAL = "exponential"
    LINEAR = "linear"
    FIXED = "fixed"
    LIST = "list"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """The wait before the next attempt; made by `exponential`, `linear`, `fixed` or `list`.

    Jitter is the part of a wait that is added at random: 0.2 spreads waits of 10 s over 10 to 12 s, so that jobs that
    failed together do not come back together. The cap holds for the sum.
    """

    kind: Backoff = Backoff.EXPONENTIAL
    base_seconds: float = 5
    factor: float = 2
    cap_seconds: float = _CAP
    jitter: float = _JITTER
    list_seconds: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("base_seconds", "factor", "cap_seconds", "jitter"):
            number = number_within(BOUNDS[f"backoff_{name}"], getattr(self, name), field=f"retry.{name}")
            object.__setattr__(self, name, number)
        _require_waits(self.kind, self.list_seconds)

    @classmethod
    def exponential(
        cls, base: Duration = "5s", *, factor: float = 2, cap: Duration = "1h", jitter: float = _JITTER
    ) -> "Retry":
        """Base, base x factor, base x factor², .. up to the cap."""
        return cls(base_seconds=_base(base), factor=factor, cap_seconds=_cap(cap), jitter=jitter)

    @classmethod
    def linear(cls, base: Duration = "5s", *, cap: Duration = "1h", jitter: float = _JITTER) -> "Retry":
        """Base, 2 x base, 3 x base, .. up to the cap."""
        return cls(kind=Backoff.LINEAR, base_seconds=_base(base), cap_seconds=_cap(cap), jitter=jitter)

    @classmethod
    def fixed(cls, delay: Duration, *, jitter: float = _JITTER) -> "Retry":
        """The same wait each time."""
        base = _base(delay, field="retry.delay")
        return cls(kind=Backoff.FIXED, base_seconds=base, cap_seconds=_cap_above(base, jitter), jitter=jitter)

    @classmethod
    def list(cls, delays: Iterable[Duration], *, jitter: float = _JITTER) -> "Retry":
        """These waits in turn; the last one again where there are more attempts than waits."""
        bound = BOUNDS["backoff_list_seconds"]
        waits = tuple(seconds_within(bound, delay, field="retry.delays") for delay in delays)
        _require_waits(Backoff.LIST, waits)
        cap = _cap_above(max(waits), jitter)
        return cls(kind=Backoff.LIST, cap_seconds=cap, jitter=jitter, list_seconds=waits)

    def fields(self) -> dict[str, object]:
        """As a sync takes them."""
        return {
            "backoff_kind": self.kind.value,
            "backoff_base_seconds": self.base_seconds,
            "backoff_factor": self.factor,
            "backoff_cap_seconds": self.cap_seconds,
            "backoff_jitter": self.jitter,
            "backoff_list_seconds": None if self.list_seconds is None else [*self.list_seconds],
        }


def _base(delay: Duration, *, field: str = "retry.base") -> float:
    return seconds_within(BOUNDS["backoff_base_seconds"], delay, field=field)


def _cap(cap: Duration) -> float:
    return seconds_within(BOUNDS["backoff_cap_seconds"], cap, field="retry.cap")


def _cap_above(longest: float, jitter: float) -> float:
    """A wait that is written down is not to be cut by the usual cap, nor is its jitter."""
    jitter = number_within(BOUNDS["backoff_jitter"], jitter, field="retry.jitter")
    return min(BOUNDS["backoff_cap_seconds"].most, max(_CAP, longest * (1 + jitter)))


def _require_waits(kind: Backoff, waits: tuple[float, ...] | None) -> None:
    if (kind is Backoff.LIST) != (waits is not None) or (waits is not None and not 1 <= len(waits) <= _MOST_WAITS):
        raise _wrong_waits(waits)
    for wait in waits or ():
        number_within(BOUNDS["backoff_list_seconds"], wait, field="retry.list_seconds")


def _wrong_waits(waits: tuple[float, ...] | None) -> DefinitionError:
    count = "no list" if waits is None else f"{len(waits)} waits"
    return wrong(
        "retry.delays", count, "is not 1 to 100 waits", hint='Write for example Retry.list(["5s", "1m", "10m"]).'
    )
