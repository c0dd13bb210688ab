"""The protocol as a model: what each verb answers and makes of the jobs. Written from the protocol, not from the SQL.

`step(world, verb, args, now)` answers the next world and the answer. What the protocol leaves open is told to the model
in `args` and judged by it: ids of new jobs (`id`), which jobs a claim took (`taken`), when a lost job goes on (`dues`),
and whose rows another session holds (`held`).
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from world_enqueue import enqueue, enqueue_many, run_again
from world_state import (
    FREE_RELEASES,
    GRACE,
    LEASE,
    LOST_WAIT,
    QUEUED,
    Args,
    Definition,
    Job,
    Key,
    World,
    end_job,
    end_queued,
    name_of,
    not_over,
    seconds,
    taken_over,
)


def step(world: World, verb: str, args: Args, now: datetime) -> tuple[World, Any]:
    after = world.copy()
    return after, VERBS[verb](after, args, now)


# A job comes out.


def claim(world: World, args: Args, now: datetime) -> int:
    """Fair turns between tenants, rank inside a tenant; one order of rank in a strict queue. Nothing is left undone."""
    ready = claimable(world, args, now)
    taken: Sequence[UUID] = args["taken"]
    assert len(taken) == min(args["jobs"], len(ready)), f"took {len(taken)} of {len(ready)}, asked for {args['jobs']}"
    if world.queues[args["queue"]].is_strict:
        judge_ranks(ready, taken)
    else:
        judge_turns(world, args["jobs"], ready, taken)
    for job in taken:
        begin(world, world.jobs[job], args["worker"], now)
    return len(taken)


def judge_turns(world: World, wanted: int, ready: Sequence[Job], taken: Sequence[UUID]) -> None:
    tenants = {job.tenant for job in ready}
    rounds = wanted // max(1, sum(world.weights[tenant] for tenant in tenants))
    for tenant in tenants:
        lane = [job for job in ready if job.tenant == tenant]
        mine = judge_ranks(lane, taken)
        assert mine >= min(len(lane), rounds * world.weights[tenant]), f"{tenant} was served {mine} of {wanted}"


def judge_ranks(ready: Sequence[Job], taken: Sequence[UUID]) -> int:
    """Of these, the lowest ranks were taken; answers how many."""
    order = [job.id for job in sorted(ready, key=lambda job: (job.rank, job.id))]
    mine = set(taken) & set(order)
    assert mine == set(order[: len(mine)]), f"taken {mine}, in order {order}"
    return len(mine)


def claimable(world: World, args: Args, now: datetime) -> list[Job]:
    return [
        job
        for job in world.jobs.values()
        if job.phase == "ready"
        and job.id not in args.get("held", ())
        and world.definitions[job.definition].queue == args["queue"]
        and job.definition in world.workers[args["worker"]]
        and (job.expires_at is None or job.expires_at > now)
        and not world.held_back & marks(args["queue"], job)
    ]


def marks(queue: str, job: Job) -> set[tuple[str, Any]]:
    """Everything whose pause holds this job back."""
    tenant = {("suspended", job.tenant), ("tenant", job.tenant), ("lane", (job.tenant, None))}
    return tenant | {("queue", queue), ("definition", job.definition), ("lane", (job.tenant, job.definition))}


def begin(world: World, job: Job, worker: UUID, now: datetime) -> None:
    world.put(
        job,
        phase="running",
        attempt=job.attempt + 1,
        worker=worker,
        until=now + seconds(min(LEASE, job.timeout_seconds + GRACE)),
        deadline=now + seconds(job.timeout_seconds),
        expires_at=None,
    )


def finish_and_claim(world: World, args: Args, now: datetime) -> tuple[list[str], int]:
    """Reports successes, then so many of each tenant's lanes, by rank."""
    answers = report(world, args | {"word": "succeeded"}, now)
    ready = claimable(world, args, now)
    for tenant in args["tenants"]:
        lane = [job for job in ready if job.tenant == tenant]
        assert judge_ranks(lane, args["taken"]) == min(len(lane), args["quota"])
    for job in args["taken"]:
        begin(world, world.jobs[job], args["worker"], now)
    return answers, len(args["taken"])


# The owner speaks: the fence is the attempt and the instance.


def report(world: World, args: Args, now: datetime) -> list[str]:
    return [report_one(world, args, item, now) for item in args["items"]]


def report_one(world: World, args: Args, item: tuple[UUID, UUID, int], now: datetime) -> str:
    tenant, job_id, attempt = item
    job, worker, word = world.find(tenant, job_id), args["worker"], args["word"]
    if job is None:
        return "stale"
    if not owns(job, attempt, worker):
        return "duplicate" if (attempt, worker, word) in job.said else "stale"
    if job.id in args.get("held", ()):
        return "busy"
    job = world.put(job, said=job.said | {(attempt, worker, word)})
    close(world, job, word, now, is_permanent=args.get("permanent", False), delay=args.get("delay"))
    return "accepted"


def owns(job: Job, attempt: int, worker: UUID) -> bool:
    return job.phase == "running" and (job.attempt, job.worker) == (attempt, worker)


def extend(world: World, args: Args, now: datetime) -> list[str]:
    answers: list[str] = []
    for tenant, job_id, attempt in args["items"]:
        job = world.find(tenant, job_id)
        if job is None or not owns(job, attempt, args["worker"]):
            answers.append("stale")
        elif job.id in args.get("held", ()):
            answers.append("busy")
        else:
            assert job.deadline is not None
            world.put(job, until=min(now + seconds(LEASE), job.deadline + seconds(GRACE)))
            answers.append("cancel" if job.is_cancel_requested else "ok")
    return answers


def close(
    world: World, job: Job, word: str, now: datetime, *, is_permanent: bool = False, delay: float | None = None
) -> None:
    """The end of an attempt, by whoever ends it."""
    refund = word == "snoozed" or (word == "released" and job.releases < FREE_RELEASES)
    history = (*job.history, (job.attempt, word))
    free = {"worker": None, "until": None, "deadline": None, "is_cancel_requested": False, "history": history}
    end = end_of(job, word, is_permanent=is_permanent, is_refunded=refund)
    if end is not None:
        end_job(world, world.put(job, **free), end, now)
        return
    wait = seconds(backoff(world.definitions[job.definition], job) if delay is None else delay)
    world.put(
        job,
        **free,
        phase="later" if wait else "ready",
        due_at=now + wait,
        max_attempts=job.max_attempts + refund,
        releases=job.releases + (word == "released"),
    )


def end_of(job: Job, word: str, *, is_permanent: bool, is_refunded: bool) -> str | None:
    """A success stays one; else a cancel that was asked for wins."""
    if word == "succeeded":
        return "succeeded"
    if word == "canceled" or job.is_cancel_requested:
        return "canceled"
    if is_permanent:
        return "failed"
    return "dead_letter" if not is_refunded and job.attempt >= job.max_attempts else None


def backoff(definition: Definition, job: Job) -> float:
    tries = max(1, job.attempt - (job.max_attempts - job.given_attempts))
    wait = definition.backoff_base_seconds * definition.backoff_factor ** (tries - 1)
    return min(definition.backoff_cap_seconds, wait)


# The passes.


def sweep(world: World, args: Args, now: datetime) -> tuple[int, int]:
    lost = timed_out = 0
    for job in list(world.jobs.values()):
        if job.phase != "running" or job.id in args.get("held", ()) or not_over(job.until, now):
            continue
        if not_over(job.deadline, now):
            lost += 1
            close(world, job, "lost", now, delay=(args["dues"].get(job.id, now) - now).total_seconds())
            wait = world.jobs[job.id].due_at - now
            assert world.jobs[job.id].phase == "ended" or timedelta(0) < wait <= LOST_WAIT
        else:
            timed_out += 1
            close(world, job, "timeout", now)
    return lost, timed_out


def promote(world: World, args: Args, now: datetime) -> int:
    """What is due becomes ready; a successor whose twin has ended becomes the job of its key, for the next pass."""
    held = args.get("held", ())
    due = [job for job in world.jobs.values() if job.phase == "later" and job.due_at <= now and job.id not in held]
    for job in due:
        world.put(job, phase="ready", rank=world.rank(job.definition, job.priority, job.due_at))
    for name, successor in list(world.successors.items()):
        key = world.keys.get(name)
        if successor.job not in held and (key is None or key.is_ended):
            world.keys[name] = taken_over(key, successor)
            del world.successors[name]
            # in line from now on: while its twin ran it was not
            waited = world.jobs[successor.job]
            world.put(waited, phase="later", due_at=max(waited.due_at, now))
    return len(due)


def expire(world: World, args: Args, now: datetime) -> int:
    """What did not start in time fails; what has started does not expire."""
    late = [
        job
        for job in world.jobs.values()
        if job.phase in QUEUED and not not_over(job.expires_at, now) and job.id not in args.get("held", ())
    ]
    for job in late:
        end_queued(world, job, "failed", now)
    return len(late)


# What people do.


def operate(world: World, args: Args, now: datetime) -> list[str]:
    return [operate_one(world, args, job, now) for job in args["jobs"]]


def operate_one(world: World, args: Args, job_id: UUID, now: datetime) -> str:
    job = world.find(args["tenant"], job_id)
    if job is None:
        return "not_found"
    answer = OPERATIONS[args["operation"]](world, job, args, now)
    return "ended" if answer is None else answer


def cancel(world: World, job: Job, args: Args, now: datetime) -> str | None:
    if job.phase == "ended":
        return None
    if job.id in args.get("held", ()):
        return "busy"
    if job.phase == "running":
        world.put(job, is_cancel_requested=True)
        return "requested"
    end_queued(world, job, "canceled", now)
    return "canceled"


def force_cancel(world: World, job: Job, args: Args, now: datetime) -> str | None:
    if job.phase != "running" or job.id in args.get("held", ()):
        return cancel(world, job, args, now)
    close(world, job, "canceled", now)
    return "canceled"


def retry(world: World, job: Job, _args: Args, now: datetime) -> str:
    """The attempt number goes on, refunds stay; a success is never revived; not beside an active twin."""
    if job.phase != "ended":
        return "active"
    if job.end == "succeeded":
        return "succeeded"
    key = world.keys.get(name_of(job))
    if job.key is not None:
        if key is not None and not key.is_ended:
            return "conflict"
        world.keys[name_of(job)] = taken_over(key, Key(job.id, None))
    snoozes, releases = (sum(each[1] == outcome for each in job.history) for outcome in ("snoozed", "released"))
    world.put(
        job,
        phase="ready",
        end=None,
        max_attempts=max(job.given_attempts + snoozes + min(releases, FREE_RELEASES), job.attempt + 1),
        releases=releases,
        due_at=now,
        rank=world.rank(job.definition, job.priority, now),
        history=tuple(each for each in job.history if each[0] > 0),
    )
    return "queued"


def move(world: World, job: Job, args: Args, now: datetime) -> str | None:
    """Reschedule and run now (without a delay): only what is queued; what is ready keeps its place."""
    if job.phase not in QUEUED:
        return "running" if job.phase == "running" else None
    if job.id in args.get("held", ()):
        return "busy"
    due = now + seconds(args.get("delay") or 0)
    if job.phase == "waiting":
        world.put(job, due_at=due)
    elif due > now:
        world.put(job, phase="later", due_at=due)
    elif job.phase == "later":
        world.put(job, phase="ready", due_at=now, rank=world.rank(job.definition, job.priority, now))
    return "queued"


def hold_back(world: World, args: Args, _now: datetime) -> None:
    """Pauses and suspensions, by what they are of."""
    mark = {args["mark"]}
    world.held_back = world.held_back | mark if args["on"] else world.held_back - mark


VERBS: Mapping[str, Callable[[World, Args, datetime], Any]] = {
    "enqueue": enqueue,
    "enqueue_many": enqueue_many,
    "run_again": run_again,
    "claim": claim,
    "finish_and_claim": finish_and_claim,
    "report": report,
    "extend": extend,
    "sweep": sweep,
    "promote": promote,
    "expire": expire,
    "operate": operate,
    "hold_back": hold_back,
}
OPERATIONS: Mapping[str, Callable[[World, Job, Args, datetime], str | None]] = {
    "cancel": cancel,
    "force_cancel": force_cancel,
    "retry": retry,
    "reschedule": move,
    "run_now": move,
}
