"""Whose turn it is among the lanes a worker knows: what `finish_and_claim` is asked for between two full claims.

A full claim finds lanes by itself and says which; from then on the worker shares them out by weight without another
look, until a full claim is due: when all lanes are known and an answer came home short, when the lanes known have had
their turns and others wait behind them, and every half second, for lanes that are new. Tenants take turns in ring
order, a turn is weight x quantum jobs, and what is left of one is carried on, into the next full claim as well: 10 to 1
stays 10 to 1 whatever the size of the calls. The quantum grows with the calls and changes between two rounds only.

Slow mode: while some old transaction is open, claimed jobs leave dead entries at the head of their lane and each claim
walks over all of them. Once a claim shows it (over 10 ms, and twice the usual), lanes are asked for from a floor
on, the highest rank that came home. Full claims go without floors and find what lies below; they are made so seldom
then that they cost a tenth of the time, and a quick one ends slow mode.

Nothing here reads a clock or draws at random: times come in as arguments.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

__all__ = ["Found", "Lane", "Share", "Taken", "Turns", "quantum_of"]

FULL_CLAIM_EVERY = 0.5
SLOW_SHARE = 10
SLOW_SECONDS = 0.01
# At five times, claims of 500 walked 300,000 dead entries unseen: 33 us of the server per job instead of 25.
SLOW_TIMES = 2
ASSUMED_SECONDS_PER_JOB = 0.00004
USUAL_KEPT_SECONDS = 300.0
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
    floors: Sequence[datetime | None] | None
    """None outside of slow mode."""


@dataclass(slots=True)
class _Tenant:
    id: UUID
    weight: int
    lanes: list[Lane]
    round: int = 0
    """The last round in which its turn began."""


@dataclass(slots=True)
class _Usual:
    """The shortest call of each size in the last minutes: a mean would follow a slow growth and never see it."""

    since: float | None = None
    before: dict[int, float] = field(default_factory=dict[int, float])
    recent: dict[int, float] = field(default_factory=dict[int, float])

    def is_slow(self, jobs: int, seconds: float, *, unknown: float) -> bool:
        """Compares with calls of that size, or with what is given where there were none."""
        size = jobs.bit_length()
        usual = min((kept[size] for kept in (self.before, self.recent) if size in kept), default=unknown)
        return seconds > max(SLOW_SECONDS, SLOW_TIMES * usual)

    def add(self, jobs: int, seconds: float, *, now: float) -> None:
        if self.since is None:
            self.since = now
        elif now - self.since > USUAL_KEPT_SECONDS:
            self.since, self.before, self.recent = now, self.recent, {}
        size = jobs.bit_length()
        self.recent[size] = min(seconds, self.recent.get(size, seconds))


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
        self._is_slow = False
        self._full_claim_at = 0.0
        self._ranks: dict[Lane, datetime] = {}
        self._usual = _Usual()
        self._usual_full = _Usual()

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

    @property
    def is_slow(self) -> bool:
        return self._is_slow

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
            floors=[self._ranks.get(lane) for lane in lanes] if self._is_slow else None,
        )

    def took(self, share: Share, jobs: Sequence[Taken], *, now: float, seconds: float) -> None:
        """Learns from the answer to a share, which took so many seconds."""
        if len(jobs) < share.jobs:
            self._forget_dry(share, jobs)
        elif share.floors is None and self._is_slow_share(share.jobs, seconds):
            self._is_slow = True
        else:
            self._usual.add(share.jobs, seconds, now=now)
        self._keep_ranks(jobs)

    def found(self, found: Found, jobs: Sequence[Taken], *, wanted: int, now: float, seconds: float) -> None:
        """Learns from a full claim of so many jobs: its lanes replace all that was known."""
        is_full = len(jobs) == wanted
        self._is_short = False
        self._is_slow = self._usual_full.is_slow(wanted, seconds, unknown=seconds)
        if is_full:
            self._usual_full.add(wanted, seconds, now=now)
        self._full_claim_at = now + max(FULL_CLAIM_EVERY, SLOW_SHARE * seconds if self._is_slow else 0.0)
        self._after, self._left, self._after_definition = found.after, found.left, found.after_definition
        self._is_ring = found.is_ring
        # an answer that is not full leaves nothing behind: whatever it found is dry, or held by others
        self._known = self._in_round(_from_cursor(found)) if is_full else []
        self._lanes = {tenant.id: tenant.lanes for tenant in self._known}
        self._ranks = {}
        self._keep_ranks(jobs)

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

    def _is_slow_share(self, jobs: int, seconds: float) -> bool:
        # a worker that starts when lanes are slow already has nothing to compare with; an assumption that is wrong,
        # because the server is far away, is mended by what the calls with floors take
        return self._usual.is_slow(jobs, seconds, unknown=jobs * ASSUMED_SECONDS_PER_JOB)

    def _forget_dry(self, share: Share, jobs: Sequence[Taken]) -> None:
        # of a ring that is known in part each lane gets one turn anyway: the next in line go on
        self._is_short = self._is_ring or share.floors is not None
        counts = Counter(job.tenant for job in jobs)
        quotas = zip(share.tenants, share.quotas, strict=True)
        dry = {tenant for tenant, quota in quotas if counts[tenant] < quota}
        self._known = [tenant for tenant in self._known if tenant.id not in dry]

    def _keep_ranks(self, jobs: Sequence[Taken]) -> None:
        for job in jobs if self._is_slow else ():
            lane = Lane(job.tenant, job.definition)
            self._ranks[lane] = max(job.rank, self._ranks.get(lane, job.rank))


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
