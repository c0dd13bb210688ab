"""A job goes in: keys decide whether it is new, an earlier one, or a successor behind a twin that runs."""

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from world_state import (
    QUEUED,
    Args,
    Job,
    Key,
    KeyName,
    World,
    end_queued,
    given,
    name_of,
    not_over,
    seconds,
    taken_over,
)


def enqueue(world: World, args: Args, now: datetime) -> tuple[str, UUID | None]:
    tenant, key, call = args["tenant"], args.get("dedupe_key"), args.get("idempotency_key")
    if args["definition"] not in world.definitions:
        return "unknown", None
    name = tenant, args["definition"], call
    if ("suspended", tenant) in world.held_back:
        # a repeat of what went in before is answered all the same
        return ("existing", world.calls[name]) if name in world.calls else ("suspended", None)
    if not 0 <= (args.get("priority") or 0) <= 1000:
        return "out_of_range", None
    if call is not None and name in world.calls:
        return "existing", world.calls[name]
    # an item of this call with the same idempotency key was refused: it is one and the same
    refused: dict[KeyName, tuple[str, UUID | None]] = args.get("refused", {})
    if call is not None and name in refused:
        return refused[name]
    job = new_job(world, args, now)
    word, holder = created(world, job) if key is None else settle_once(world, args, job, now)
    if call is not None and holder is not None and word in {"created", "existing"}:
        world.calls[name] = holder
    elif call is not None:
        refused[name] = word, holder
    return word, holder


def new_job(world: World, args: Args, now: datetime) -> Job:
    definition = world.definitions[args["definition"]]
    delay = args.get("delay_seconds") or 0
    priority = given(args.get("priority"), definition.priority)
    attempts = given(args.get("max_attempts"), definition.max_attempts)
    expires = args.get("expires_seconds")
    return Job(
        id=args["id"],
        tenant=args["tenant"],
        definition=args["definition"],
        priority=priority,
        given_attempts=attempts,
        max_attempts=attempts,
        timeout_seconds=given(args.get("timeout_seconds"), definition.timeout_seconds),
        phase="later" if delay > 0 else "ready",
        due_at=now + seconds(delay),
        rank=world.rank(args["definition"], priority, now + seconds(delay)),
        expires_at=None if expires is None else now + seconds(expires),
        key=args.get("dedupe_key"),
    )


def settle_once(world: World, args: Args, job: Job, now: datetime) -> tuple[str, UUID | None]:
    """Items of one call with one key are settled once: the others are answered with what the first was."""
    met: dict[KeyName, tuple[str, UUID | None]] = args.get("met", {})
    if name_of(job) not in met:
        met[name_of(job)] = settle(world, args, job, now)
        return met[name_of(job)]
    word, holder = met[name_of(job)]
    if word == "busy":
        return word, holder
    return "duplicate" if args.get("dedupe") == "error" else "existing", holder


def settle(world: World, args: Args, job: Job, now: datetime) -> tuple[str, UUID | None]:
    """Who is the job of this key: the new one, the twin there is, or a successor behind a twin that runs."""
    name, policy, held = name_of(job), args.get("dedupe") or "skip", args.get("held", ())
    key = world.keys.get(name)
    if key is None or (key.is_ended and not not_over(key.until, now)):
        world.keys[name] = key_of(args, job, now)
        return created(world, job)
    twin, successor = world.jobs[key.job], world.successors.get(name)
    if policy == "error":
        return "duplicate", twin.id
    if policy == "skip" or key.is_ended or (policy == "requeue" and twin.phase in QUEUED and twin.id not in held):
        return "existing", twin.id
    if twin.phase not in QUEUED or twin.id in held:
        return succeed(world, args, job, now)
    end_queued(world, twin, "canceled", now)
    if successor is not None and successor.job not in held:
        # it is older than the one that takes its twin's place
        end_queued(world, world.jobs[successor.job], "canceled", now)
    world.keys[name] = taken_over(world.keys.get(name), key_of(args, job, now))
    return created(world, job)


def succeed(world: World, args: Args, job: Job, now: datetime) -> tuple[str, UUID | None]:
    """At most one successor waits: the first (requeue) or the last (replace)."""
    name = name_of(job)
    behind = world.successors.get(name)
    if behind is not None:
        if behind.job in args.get("held", ()):
            return "busy", None
        if args["dedupe"] == "requeue":
            return "existing", behind.job
        end_queued(world, world.jobs[behind.job], "canceled", now)
    world.successors[name] = key_of(args, job, now)
    return created(world, replace(job, phase="waiting"))


def key_of(args: Args, job: Job, now: datetime) -> Key:
    window = args.get("dedupe_window_seconds")
    return Key(job.id, None if window is None else now + seconds(window))


def created(world: World, job: Job) -> tuple[str, UUID | None]:
    world.jobs[job.id] = job
    return "created", job.id


def enqueue_many(world: World, args: Args, now: datetime) -> list[tuple[str, UUID | None]]:
    """An answer per item; a bad one fails no other; of two with one key the first is the job, or the last replace."""
    call = {"tenant": args["tenant"], "met": {}, "refused": {}}
    items = [call | {"id": new_id} | item for item, new_id in zip(args["items"], args["ids"], strict=True)]
    answers = {place: enqueue(world, items[place], now) for place in speakers_first(world, items)}
    return [answers[place] for place in range(len(items))]


def speakers_first(world: World, items: list[Args]) -> list[int]:
    """The items that speak for their dedupe key, then the others."""
    speakers: dict[tuple[str, str], int] = {}
    calls: set[tuple[str, str]] = set()
    for place, item in enumerate(items):
        name = item["tenant"], item["definition"], item.get("idempotency_key")
        is_repeat = name[2] is not None and (name in world.calls or name[1:] in calls)
        if is_repeat or item["definition"] not in world.definitions or not 0 <= (item.get("priority") or 0) <= 1000:
            continue
        calls.add((item["definition"], item.get("idempotency_key")))
        key = item["definition"], item.get("dedupe_key")
        if key[1] is not None and (key not in speakers or item.get("dedupe") == "replace"):
            speakers[key] = place
    return sorted(range(len(items)), key=lambda place: (place not in speakers.values(), place))


def run_again(world: World, args: Args, now: datetime) -> str:
    old = world.find(args["tenant"], args["job"])
    if old is None:
        return "unknown"
    if ("suspended", old.tenant) in world.held_back:
        return "suspended"
    options = {"max_attempts": old.given_attempts, "priority": old.priority, "timeout_seconds": old.timeout_seconds}
    job = new_job(world, {"tenant": old.tenant, "definition": old.definition, "id": args["id"]} | options, now)
    return created(world, job)[0]
