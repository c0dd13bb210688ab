"""Whose turn it is among the lanes a worker knows: what `finish_and_claim` is asked for between two full claims.

A full claim finds lanes by itself and says which; from then on the worker shares them out by weight without another
look, until a full claim is due: when all lanes are known and an answer came home short, when the lanes known have had
their turns and others wait behind them, and five times a second, for what is new. Tenants take turns in ring
order, a turn is weight x quantum jobs, and what is left of one is carried on, into the next full claim as well: 10 to 1
stays 10 to 1 whatever the size of the calls. The quantum grows with the calls and changes between two rounds only.

Floors: claimed jobs leave dead entries at the head of their lane until a vacuum comes by, and for as long as some old
transaction is open; a claim from the head walks over all of them. So lanes are asked for from a floor on: the lowest
rank that the full claim saw there, then the highest that came home. What arrives below a floor (a job of higher
priority, one that was committed late or handed back) is found by the next full claim, which goes without floors. Where
those are slow they are made less often, so that they take a tenth of the time.

Nothing here reads a clock or draws at random: times come in as arguments.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

__all__ = ["Found", "Lane", "Share", "Taken", "Turns", "quantum_of"]

FULL_CLAIM_EVERY = 0.2
# A full claim walks the dead entries of every lane that it finds: ten times its own duration passes before the next,
# two seconds at most: one call that was held up must not hide new tenants.
FULL_CLAIM_REST = 10
FULL_CLAIM_AT_LEAST_EVERY = 2.0
JOBS_PER_QUANTUM = 32


def quantum_of(jobs: int) -> int:
    """How much larger than its weight a turn is in calls of this size: fewer lanes per call, the same shares."""
    return max(1, jobs // JOBS_PER_QUANTUM)


# Named tuples, not dataclasses: one of each is made and hashed per job, on the path that reports and claims.
class Lane(NamedTuple):
    """The lane of one tenant and definition in the worker's queue."""

    tenant: UUID
    definition: int


class Taken(NamedTuple):
    """What came home of a job: its lane and its place in it."""

    tenant: UUID
    definition: int
    rank: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The last row of a full claim: where the next one goes on, and the lanes found, in ring order."""

    after: UUID | None
    left: int
    after_definition: int | None
    """Set when the claim stopped among lanes of a tenant that nobody may serve: the next one goes on behind it."""
    tenants: Sequence[UUID]
    definitions: Sequence[int]
    weights: Sequence[int]
    floors: Sequence[datetime]
    """The lowest rank of each lane."""
    is_ring: bool
    """Whether these are all lanes of the queue that this worker may serve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What the next call asks for, as parallel arrays with a row per lane."""

    jobs: int
    tenants: Sequence[UUID]
    definitions: Sequence[int]
    quotas: Sequence[int]
    """Of the tenant: its lanes stand side by side with the same quota, and the lowest ranks of them all are taken."""
    floors: Sequence[datetime]
    """Of the lane: what stands before it is left to the next full claim."""


@dataclass(slots=True)
class _Tenant:
    id: UUID
    weight: int
    lanes: list[Lane]
    round: int = 0
    """The last round in which its turn began."""


class Turns:
    """The turns of one queue, as one worker gives them. Not for more than one call at a time."""

    def __init__(self) -> None:
        self._after: UUID | None = None
        self._left = 0
        self._after_definition: int | None = None
        self._known: list[_Tenant] = []
        self._lanes: dict[UUID, list[Lane]] = {}
        self._is_ring = False
        self._round = 0
        self._quantum = 1
        self._is_short = True
        self._full_claim_at = 0.0
        self._floors: dict[Lane, datetime] = {}

    @property
    def after(self) -> UUID | None:
        """The tenant that was served last: the cursor of the next full claim."""
        return self._after

    @property
    def left(self) -> int:
        """How many jobs are left of that tenant's turn."""
        return self._left

    @property
    def after_definition(self) -> int | None:
        """The definition within that tenant where the last full claim stopped, if it found nothing to serve."""
        return self._after_definition

    def is_full_claim_due(self, jobs: int, *, now: float) -> bool:
        """Whether the next call, for so many jobs, is a full claim; `now` is a monotonic time in seconds."""
        return self._is_short or now >= self._full_claim_at or not self._has_turns_for(jobs)

    def share(self, jobs: int) -> Share:
        """Gives the next turns to the lanes known: fewer jobs than asked for when the rest waits behind them."""
        if jobs < 1:
            raise ValueError(f"jobs: {jobs} is out of range; ask for 1 or more")
        quotas: dict[UUID, int] = {}
        rest = self._give_full_rounds(jobs, quotas) if self._is_ring else jobs
        while rest > 0 and self._known:
            rest -= self._give_next(rest, jobs, quotas)
        lanes = [lane for tenant in quotas for lane in self._lanes[tenant]]
        return Share(
            jobs=jobs - rest,
            tenants=[lane.tenant for lane in lanes],
            definitions=[lane.definition for lane in lanes],
            quotas=[quotas[lane.tenant] for lane in lanes],
            floors=[self._floors[lane] for lane in lanes],
        )

    def took(self, share: Share, jobs: Sequence[Taken]) -> None:
        """Learns from the answer to a share."""
        if len(jobs) < share.jobs:
            self._forget_dry(share, jobs)
        self._raise_floors(jobs)

    def found(self, found: Found, jobs: Sequence[Taken], *, wanted: int, now: float, seconds: float) -> None:
        """Learns from a full claim of so many jobs, which took so long: its lanes replace all that was known."""
        self._is_short = False
        self._full_claim_at = now + min(max(FULL_CLAIM_EVERY, FULL_CLAIM_REST * seconds), FULL_CLAIM_AT_LEAST_EVERY)
        self._after, self._left, self._after_definition = found.after, found.left, found.after_definition
        self._is_ring = found.is_ring
        # an answer that is not full leaves nothing behind: whatever it found is dry, or held by others
        self._known = self._in_round(_from_cursor(found)) if len(jobs) == wanted else []
        self._lanes = {tenant.id: tenant.lanes for tenant in self._known}
        self._floors = _floors_of(found)
        self._raise_floors(jobs)

    def _has_turns_for(self, jobs: int) -> bool:
        if self._is_ring or len(self._known) >= jobs:
            return bool(self._known)
        return sum(tenant.weight for tenant in self._known) * quantum_of(jobs) >= jobs

    def _give_full_rounds(self, jobs: int, quotas: dict[UUID, int]) -> int:
        """A division of all jobs would flatten weights below their sum: whole rounds only, the rest is walked."""
        round_jobs = sum(tenant.weight for tenant in self._known) * quantum_of(jobs)
        rounds = jobs // round_jobs if round_jobs else 0
        for tenant in self._known if rounds else ():
            quotas[tenant.id] = rounds * tenant.weight * quantum_of(jobs)
        return jobs - rounds * round_jobs

    def _give_next(self, rest: int, jobs: int, quotas: dict[UUID, int]) -> int:
        """Gives to the first in line; a turn that is used up sends its tenant to the end of the ring, or away."""
        tenant = self._known[0]
        if tenant.id != self._after or self._left < 1:
            self._begin_turn(tenant, jobs)
        given = min(rest, self._left)
        quotas[tenant.id] = quotas.get(tenant.id, 0) + given
        self._left -= given
        if self._left == 0:
            self._known.pop(0)
            if self._is_ring:
                self._known.append(tenant)
        return given

    def _begin_turn(self, tenant: _Tenant, jobs: int) -> None:
        if tenant.round == self._round:
            self._round += 1
            self._quantum = quantum_of(jobs)
        tenant.round = self._round
        self._after, self._left = tenant.id, tenant.weight * self._quantum
        self._after_definition = None

    def _in_round(self, tenants: list[_Tenant]) -> list[_Tenant]:
        """Tenants that were known stay in their round; one that is new begins the next when its turn comes."""
        rounds = {tenant.id: tenant.round for tenant in self._known}
        for tenant in tenants:
            tenant.round = rounds.get(tenant.id, self._round)
        return tenants

    def _forget_dry(self, share: Share, jobs: Sequence[Taken]) -> None:
        # of a ring that is known in part each lane gets one turn anyway: the next in line go on
        self._is_short = self._is_ring or not jobs
        counts = Counter(job.tenant for job in jobs)
        quotas = zip(share.tenants, share.quotas, strict=True)
        dry = {tenant for tenant, quota in quotas if counts[tenant] < quota}
        self._known = [tenant for tenant in self._known if tenant.id not in dry]

    def _raise_floors(self, jobs: Sequence[Taken]) -> None:
        for job in jobs:
            lane = Lane(job.tenant, job.definition)
            if job.rank > self._floors.get(lane, job.rank):
                self._floors[lane] = job.rank


def _floors_of(found: Found) -> dict[Lane, datetime]:
    """A lane that was seen twice was seen at its head first."""
    lanes = map(Lane, found.tenants, found.definitions)
    return dict(zip(reversed(list(lanes)), reversed(found.floors), strict=True))


def _from_cursor(found: Found) -> list[_Tenant]:
    """The tenants in the order of their next turns, behind the last one served; each once, if seen twice."""
    tenants = _by_tenant(found)
    last = max((place for place, tenant in enumerate(tenants) if tenant.id == found.after), default=-1)
    start = last if last >= 0 and found.left > 0 else last + 1
    ordered: dict[UUID, _Tenant] = {}
    for tenant in tenants[start:] + (tenants[:start] if found.is_ring else []):
        ordered.setdefault(tenant.id, tenant)
    return list(ordered.values())


def _by_tenant(found: Found) -> list[_Tenant]:
    tenants: list[_Tenant] = []
    for tenant, definition, weight in zip(found.tenants, found.definitions, found.weights, strict=True):
        if not tenants or tenants[-1].id != tenant:
            tenants.append(_Tenant(tenant, weight, []))
        tenants[-1].lanes.append(Lane(tenant, definition))
    return tenants
