"""Every order of the steps of several sessions, and playing one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from kit.lab import WAITS, Lab, Step

Order = tuple[tuple[str, Any], ...]


class ImpossibleOrderError(Exception):
    """A session's next step came while its last one waits: this order cannot happen."""


@dataclass(frozen=True, slots=True)
class MayWait:
    """A step that waits in some orders."""

    step: Step
    args: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)


def interleavings(**sessions: Sequence[Any]) -> Iterator[Order]:
    """Each order in which the steps of the sessions can follow each other; within a session they keep theirs."""
    left = {name: tuple(steps) for name, steps in sessions.items() if steps}
    if not left:
        yield ()
        return
    for name, steps in left.items():
        for rest in interleavings(**{**left, name: steps[1:]}):
            yield ((name, steps[0]), *rest)


def play(lab: Lab, order: Order) -> dict[str, list[Any]]:
    """Plays the steps: a verb or statement, a callable, a tuple (step, *args), or MayWait. Answers by session."""
    answers: dict[str, list[Any]] = {name: [] for name, _ in order}
    waiting: set[str] = set()
    for name, step in order:
        collect(lab, answers, waiting)
        if name in waiting:
            raise ImpossibleOrderError(f"{name} waits when its next step comes")
        answer = play_step(lab, name, step)
        if answer is WAITS:
            waiting.add(name)
        else:
            answers[name].append(answer)
    collect(lab, answers, waiting)
    if waiting:
        raise ImpossibleOrderError(f"{', '.join(sorted(waiting))} waits at the end")
    return answers


def play_step(lab: Lab, session: str, step: Any) -> Any:
    match step:
        case MayWait(verb, args, options):
            return lab.may_wait(session, verb, *args, **options)
        case (verb, *args):
            return lab(session, verb, *args)
        case _:
            return lab(session, step)


def collect(lab: Lab, answers: dict[str, list[Any]], waiting: set[str]) -> None:
    for name in sorted(waiting):
        if not lab.is_waiting(name):
            answers[name].append(lab.answer(name))
            waiting.discard(name)
