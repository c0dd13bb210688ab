"""How everything here is measured: contenders in turns (ABAB), a warm-up, rounds, ratios within a round."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from ground import Ground, lay_ground
from laneway.devserver import DevServer

__all__ = ["FULL", "QUICK", "Bench", "Line", "Sizes", "alone", "compare", "interleave"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much is measured, for a run of under ten minutes or one that only shows that the bench works."""

    slice_seconds: float
    """How long one contender goes before the next one's turn."""
    backlog: int
    """Jobs in front of a drain, for all its rounds."""
    tenants: tuple[int, ...]
    """How many tenants have them, one after the other."""
    parked: int
    pinned: int
    tries: int
    sample: int
    """Jobs whose bytes and buffers are counted."""


FULL = Sizes(
    slice_seconds=0.25,
    backlog=400_000,
    tenants=(1, 20, 1_000, 10_000),
    parked=1_000_000,
    pinned=500_000,
    tries=20,
    sample=20_000,
)
QUICK = Sizes(
    slice_seconds=0.06, backlog=60_000, tenants=(1, 1_000), parked=50_000, pinned=30_000, tries=5, sample=2_000
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One figure: what was measured in each round, what it is compared with, and the ratio of the two."""

    figure: str
    """Its key in figures.toml; a line without a row there has no floor."""
    title: str
    unit: str
    measured: Sequence[float]
    reference: Sequence[float] = ()
    """Nothing where the figure is a value of its own."""

    @property
    def ratios(self) -> list[float]:
        if not self.reference:
            return list(self.measured)
        return [mine / other for mine, other in zip(self.measured, self.reference, strict=True)]

    @property
    def ratio(self) -> float:
        return median(self.ratios)


@dataclass(slots=True)
class Bench:
    """What a question gets: the databases, how many rounds, how much."""

    server: DevServer
    rounds: int
    sizes: Sizes
    grounds: dict[str, Ground] = field(default_factory=dict[str, Ground])

    def ground(self, database: str) -> Ground:
        """A database with both contenders, made when it is first asked for."""
        if database not in self.grounds:
            self.grounds[database] = lay_ground(self.server, database)
        return self.grounds[database]


Contender = Callable[[], Awaitable[float]]


async def interleave(rounds: int, contenders: Mapping[str, Contender]) -> dict[str, list[float]]:
    """Every contender once to warm up, then all of them in each round; answers what they gave, round by round."""
    measured: dict[str, list[float]] = {name: [] for name in contenders}
    for contender in contenders.values():
        await contender()
    for _ in range(rounds):
        for name, contender in contenders.items():
            measured[name].append(await contender())
    return measured


def compare(measured: Mapping[str, Sequence[float]], name: str, *, to: str, figure: str, title: str, unit: str) -> Line:
    return Line(figure=figure, title=title, unit=unit, measured=measured[name], reference=measured[to])


def alone(values: Sequence[float], *, figure: str, title: str, unit: str) -> Line:
    return Line(figure=figure, title=title, unit=unit, measured=values)
