"""What the model knows of the world: definitions, queues, tenants, workers, jobs and their keys."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

LEASE, GRACE, FREE_RELEASES = 60, 5, 10
LOST_WAIT = timedelta(seconds=1)
QUEUED = ("ready", "later", "waiting")
Args = Mapping[str, Any]
KeyName = tuple[UUID, str, str]


@dataclass(frozen=True, slots=True)
class Definition:
    queue: str = "default"
    max_attempts: int = 3
    priority: int = 100
    timeout_seconds: int = 3600
    backoff_base_seconds: float = 5
    backoff_factor: float = 2
    backoff_cap_seconds: float = 3600


@dataclass(frozen=True, slots=True)
class Queue:
    is_strict: bool = False
    ageing_seconds: int = 60


@dataclass(frozen=True, slots=True)
class Job:
    id: UUID
    tenant: UUID
    definition: str
    priority: int
    given_attempts: int
    max_attempts: int
    timeout_seconds: int
    phase: str
    due_at: datetime
    rank: datetime
    expires_at: datetime | None = None
    key: str | None = None
    attempt: int = 0
    releases: int = 0
    worker: UUID | None = None
    until: datetime | None = None
    deadline: datetime | None = None
    is_cancel_requested: bool = False
    end: str | None = None
    said: frozenset[tuple[int, UUID, str]] = frozenset()
    history: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Key:
    job: UUID
    until: datetime | None = None
    is_ended: bool = False


@dataclass(slots=True)
class World:
    definitions: dict[str, Definition]
    queues: dict[str, Queue]
    weights: dict[UUID, int]
    workers: dict[UUID, frozenset[str]] = field(default_factory=dict)
    jobs: dict[UUID, Job] = field(default_factory=dict)
    keys: dict[KeyName, Key] = field(default_factory=dict)
    successors: dict[KeyName, Key] = field(default_factory=dict)
    calls: dict[KeyName, UUID] = field(default_factory=dict)
    held_back: frozenset[tuple[str, Any]] = frozenset()

    def copy(self) -> "World":
        return replace(
            self,
            jobs=dict(self.jobs),
            keys=dict(self.keys),
            successors=dict(self.successors),
            calls=dict(self.calls),
        )

    def put(self, job: Job, **changes: Any) -> Job:
        self.jobs[job.id] = replace(job, **changes)
        return self.jobs[job.id]

    def find(self, tenant: UUID, job: UUID) -> Job | None:
        found = self.jobs.get(job)
        return found if found is not None and found.tenant == tenant else None

    def rank(self, definition: str, priority: int, at: datetime) -> datetime:
        return at + seconds(priority * self.queues[self.definitions[definition].queue].ageing_seconds)


def look(world: World) -> dict[UUID, tuple[Any, ...]]:
    """What must be seen of each job."""
    return {job.id: (*standing(job), job.history) for job in world.jobs.values()}


def standing(job: Job) -> tuple[Any, ...]:
    match job.phase:
        case "running":
            return (
                job.phase,
                job.attempt,
                job.max_attempts,
                job.worker,
                job.until,
                job.deadline,
                job.is_cancel_requested,
            )
        case "ended":
            return job.phase, job.end
        case _:
            at = job.rank if job.phase == "ready" else job.due_at
            return job.phase, job.attempt, job.max_attempts, job.releases, at, job.expires_at


def end_job(world: World, job: Job, end: str, now: datetime) -> None:
    world.put(job, phase="ended", end=end, expires_at=None)
    key = world.keys.get(name_of(job))
    if key is not None and key.job == job.id and not key.is_ended:
        if key.until is not None and key.until > now:
            world.keys[name_of(job)] = replace(key, is_ended=True)
        else:
            del world.keys[name_of(job)]
    successor = world.successors.get(name_of(job))
    if successor is not None and successor.job == job.id:
        del world.successors[name_of(job)]


def taken_over(left: Key | None, by: Key) -> Key:
    """The key of a job that comes after another: no window is shortened by who comes after."""
    windows = [key.until for key in (left, by) if key is not None and key.until is not None]
    return replace(by, until=max(windows, default=None))


def end_queued(world: World, job: Job, end: str, now: datetime) -> None:
    """The end of a job without an attempt is told by number 0."""
    end_job(world, world.put(job, history=((0, "canceled" if end == "canceled" else "failed"), *job.history)), end, now)


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)


def not_over(at: datetime | None, now: datetime) -> bool:
    return at is None or at > now


def given(value: int | None, default: int) -> int:
    return default if value is None else value


def name_of(job: Job) -> KeyName:
    return job.tenant, job.definition, job.key or ""
