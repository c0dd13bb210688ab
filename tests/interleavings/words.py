"""What sessions say in a scene, with answers that can be compared between orders."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from stage import Stage

from language import Answer, EnqueueAnswer, ExtendAnswer, Heart

BUSY = frozenset({Answer.BUSY, ExtendAnswer.BUSY, "busy"})


@dataclass(frozen=True, slots=True)
class Failed:
    """An error: nothing of its transaction is left."""

    sqlstate: str | None


def is_busy(answer: Any) -> bool:
    """Somebody held what it was about, or a newer snapshot is needed: said again, it is decided."""
    if isinstance(answer, Failed):
        return answer.sqlstate == "40001"
    return is_partly_busy(answer) if isinstance(answer, list) else answer in BUSY


def is_partly_busy(answer: Any) -> bool:
    return isinstance(answer, list) and any(item in BUSY for item in answer)


def is_nothing(answer: Any) -> bool:
    """A pass or a claim that found nothing: what there was may have been held."""
    return is_busy(answer) or not (any(answer) if isinstance(answer, tuple) else answer)


def instead(first: Any, again: Any) -> Any:
    """Words about single rows: what was busy is answered now."""
    if isinstance(first, list):
        return [second if item in BUSY else item for item, second in zip(first, again, strict=True)]
    return again


def added(first: tuple[int, ...], again: tuple[int, ...]) -> tuple[int, ...]:
    return again if isinstance(first, Failed) else tuple(map(sum, zip(first, again, strict=True)))


def united(first: Sequence[str], again: Sequence[str]) -> list[str]:
    return sorted([*first, *again])


@dataclass(frozen=True, slots=True)
class Word:
    """A verb and its arguments. `quiet`: the answer may be another when it is said again after the others.

    `may_wait`: for the end of another's transaction; `pauses`: for some milliseconds at most, whatever others do.
    `shown`: what of the answer is compared. `committed_before`: to these it is said when its transaction ends.
    """

    name: str
    say: Callable[[Heart, Stage], Any]
    quiet: Callable[[Any], bool] = is_busy
    combine: Callable[[Any, Any], Any] = instead
    may_wait: bool = False
    pauses: bool = False
    shown: Callable[[Any], Any] = lambda answer: answer
    committed_before: frozenset[str] = frozenset()


def owner(verb: str, job: str = "j", **options: Any) -> Word:
    """complete, fail, release, .. by the owner of the attempt that the stage knows."""
    return Word(verb, lambda heart, stage: getattr(heart, f"{verb}_one")(stage.claims[job], **options))


def owner_batch(verb: str, jobs: Sequence[str]) -> Word:
    """Answers in the order of the names, in whatever order they are said."""

    def say(heart: Heart, stage: Stage) -> list[Any]:
        answers = getattr(heart, verb)([stage.claims[job] for job in jobs])
        return [answer for _, answer in sorted(zip(jobs, answers, strict=True))]

    return Word(verb, say)


def operator(verb: str, job: str = "j", *, pauses: bool = False, **options: Any) -> Word:
    """cancel, retry, reschedule, .. of one job."""

    def say(heart: Heart, stage: Stage) -> str:
        return getattr(heart, f"{verb}_one")(stage.tenant, stage.jobs[job], **options).answer

    return Word(verb, say, pauses=pauses)


def sweep() -> Word:
    def say(heart: Heart, _: Stage) -> tuple[int, ...]:
        swept = heart.sweep()
        return (swept.swept, swept.lost, swept.timed_out, swept.failed)

    return Word("sweep", say, quiet=is_nothing, combine=added)


def promote() -> Word:
    """What came of it is seen by what is left: how much fell to one pass of two is not compared."""

    def say(heart: Heart, _: Stage) -> tuple[int, ...]:
        done = heart.promote()
        return (done.promoted, done.handed_over)

    return Word("promote", say, quiet=is_nothing, combine=added, pauses=True, shown=lambda _: "done")


def expire() -> Word:
    return Word("expire", lambda heart, _: (heart.expire(),), quiet=is_nothing, combine=added)


def claim(n: int = 1, **options: Any) -> Word:
    """Answers the names of the jobs, and keeps them as the stage's claims."""

    def say(heart: Heart, stage: Stage) -> list[str]:
        claims = heart.claim(stage.worker, n, **options)
        names = sorted(str(claim.payload["name"]) for claim in claims)
        stage.claims |= {str(claim.payload["name"]): claim for claim in claims}
        return names

    return Word("claim", say, quiet=lambda answer: is_busy(answer) or len(answer) < n, combine=united)


def enqueue(name: str, **options: Any) -> Word:
    """Answers what became of it: created, or the name of the job that it found, or why it was refused."""

    def say(heart: Heart, stage: Stage) -> str:
        answer = heart.enqueue(stage.tenant, payload={"name": name}, **options)
        return outcome_of(answer, heart, stage)

    # whoever is told that a queued job will do relies on it to see what this transaction changed
    relies = frozenset({"claim"}) if options.get("dedupe") == "requeue" else frozenset[str]()
    return Word(f"enqueue {name}", say, may_wait=True, committed_before=relies)


def outcome_of(answer: EnqueueAnswer, heart: Heart, stage: Stage) -> str:
    if answer.created:
        return "created"
    if answer.refusal == "busy":
        return "busy"
    rows = heart.rows(
        "select payload ->> 'name' from job where tenant_id = %s and id = %s", [stage.tenant, answer.job_id]
    )
    found = rows[0][0] if rows else None
    return f"{answer.refusal}: {found}" if answer.refusal else f"is {found}"


def effect(name: str, act: Callable[[Heart, Stage], object]) -> Word:
    """A verb that answers nothing."""

    def say(heart: Heart, stage: Stage) -> str:
        act(heart, stage)
        return "done"

    return Word(name, say)
