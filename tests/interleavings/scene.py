"""Plays the words of several sessions in every order of their steps, and judges each order.

The answers and what is left must be those of some serial order of the same words that respects real time: a word that
was over before another began comes before it. What was answered busy, or nothing while it overlapped with others, is
said again after all the others; then that answer counts, as said at the end. What was rolled back, or ended in an
error, was not said. After each order all invariants hold.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from time import monotonic
from typing import Any

import psycopg
from cuts import Allows, Cast, Cut, Gate, Once, Played, Transaction, item_by_item
from stage import House, Stage
from words import Failed, Word, is_partly_busy

from kit.lab import WAITS, Lab
from kit.orders import interleavings

__all__ = ["Gate", "Once", "Scene", "Transaction", "item_by_item"]

# Longer than any lock_timeout that a verb sets for itself.
PAUSE = 1.0
STANDS = """
    select exists (select from pg_locks l where l.pid = %s and not l.granted and l.locktype = 'advisory'
        and l.classid = hashtext('laneway_test.gate')::bigint::bit(32)::bigint::oid)
"""


class ImpossibleOrderError(Exception):
    """A session's next step came while its word waited for another's commit."""


class Scene:
    """A stage that is set anew for each order.

    `settle`: what is said last of all, before the picture is taken; `undo`: puts back what outlives the stage;
    `allows`: answers with what is left that no serial order gives and that are right all the same.
    """

    def __init__(
        self,
        lab: Lab,
        house: House,
        set_stage: Callable[[Stage], None],
        *,
        settle: Callable[[Stage], None] = lambda _: None,
        undo: Callable[[Stage], None] = lambda _: None,
        allows: Allows = lambda _answers, _left, _tried: False,
    ) -> None:
        self.lab = lab
        self.house = house
        self.set_stage = set_stage
        self.settle = settle
        self.undo = undo
        self.allows = allows
        self.stood: set[tuple[str, Gate]] = set()

    def play_all(self, **cast: tuple[Word, Cut]) -> int:
        """Every order; answers how many could happen."""
        serial: dict[tuple[str, ...], tuple[dict[str, Any], Any]] = {}
        gates = {(word.name, cut) for word, cut in cast.values() if isinstance(cut, Gate)}
        count = sum(self._play(order, cast, serial) for order in orders_of(cast))
        assert gates <= self.stood, f"nobody ever stood at {gates - self.stood}"
        return count

    def _play(self, order: Sequence[tuple[str, str]], cast: Cast, serial: dict[Any, Any]) -> bool:
        stage = self._stage()
        played = Played()
        try:
            for number, (name, step) in enumerate(order):
                played.now = number
                self._step(stage, played, cast, name=name, kind=step)
            assert not played.waiting, f"{played.waiting} wait for nobody\n{self.lab.dump()}"
        except ImpossibleOrderError:
            self._give_up(played, cast)
            self._strike(stage)
            return False
        first = dict(played.answers)
        left = self._finish(stage, played, cast, last=len(order))
        self.lab.verify()
        self._strike(stage)
        self._judge(played, left, cast, serial, said=(order, first))
        return True

    def _step(self, stage: Stage, played: Played, cast: Cast, *, name: str, kind: str) -> None:
        word, cut = cast[name]
        if name in played.waiting and not isinstance(cut, Gate):
            raise ImpossibleOrderError
        match kind:
            case "begin":
                played.began[name] = played.now
                self.lab(name, lambda heart: begin(heart, cut))
            case "say":
                played.began.setdefault(name, played.now)
                self._say(stage, played, name, word, cut)
            case _:
                self._end(played, cast, name)

    def _say(self, stage: Stage, played: Played, name: str, word: Word, cut: Cut) -> None:
        if isinstance(cut, Gate):
            self.lab.gate(f"gate of {name}", name, at=cut.at, skip=cut.skip)
        say = self.lab.may_wait if word.may_wait or word.pauses else self.lab
        answer = say(name, lambda heart: said(heart, stage, word, cut))
        if answer is WAITS and word.pauses and not self._stands(name):
            answer = self._after_pause(name)
        if answer is not WAITS:
            played.take(name, answer, cut)
            return
        played.waiting.add(name)
        if isinstance(cut, Gate) and self._stands(name):
            self.stood.add((word.name, cut))
            played.standing.add(name)
        elif not word.may_wait:
            raise AssertionError(f"{word.name} waits for a lock, not at its gate\n{self.lab.dump()}")

    def _after_pause(self, name: str) -> Any:
        until = monotonic() + PAUSE
        while self.lab.is_waiting(name):
            if monotonic() > until:
                raise AssertionError(f"{name} waits for longer than a pause\n{self.lab.dump()}")
        return self.lab.answer(name)

    def _stands(self, name: str) -> bool:
        return self.lab.heart.one(STANDS, [self.lab.heart_of(name).conn.info.backend_pid])[0]

    def _end(self, played: Played, cast: Cast, name: str) -> None:
        word, cut = cast[name]
        match cut:
            case Gate():
                played.standing.discard(name)
                self.lab.open(f"gate of {name}")
                if name in played.waiting and word.pauses:
                    played.take(name, self._after_pause(name), cut)
            case Transaction(end):
                (self.lab.commit if end == "commit" else self.lab.rollback)(name)
                played.over[name] = played.now
                if end == "rollback":
                    played.undone.add(name)
            case Once():
                raise AssertionError("a word that is said in one step has no end")
        self._collect(played, cast)

    def _collect(self, played: Played, cast: Cast) -> None:
        """Answers of those that waited and no longer do: only a gate that opens, or an end, frees any."""
        for name in sorted(played.waiting - played.standing):
            if not self.lab.is_waiting(name):
                played.take(name, self.lab.answer(name), cast[name][1])

    def _finish(self, stage: Stage, played: Played, cast: Cast, *, last: int) -> Any:
        """Says again what is to be said again; answers what is left in the end."""
        first = dict(played.answers)
        for name in [name for name in first if self._is_to_be_said_again(played, cast[name][0], name)]:
            word, last = cast[name][0], last + 1
            answer = said(stage.heart, stage, word, Once())
            played.answers[name] = answer if name in played.undone else word.combine(first[name], answer)
            played.undone.discard(name)
            played.over[name] = last
            if not is_partly_busy(first[name]):
                # of a batch a part was said then and a part is said now
                played.began[name] = last
        self.settle(stage)
        return stage.picture()

    def _judge(self, played: Played, left: Any, cast: Cast, serial: dict[Any, Any], *, said: tuple[Any, Any]) -> None:
        names = [name for name in cast if name not in played.undone]
        answers = {name: cast[name][0].shown(played.answers[name]) for name in names}
        tried = [self._serial(each, cast, serial) for each in permutations(names) if played.allows(each, cast)]
        if (answers, left) not in tried and not self.allows(answers, left, tried):
            lines = (
                "no serial order gives these answers",
                f"order: {said[0]}",
                f"cast: { {name: (word.name, cut) for name, (word, cut) in cast.items()} }",
                f"first: {said[1]}",
                f"in the end: {answers}, undone: {played.undone}",
                f"left: {left}",
                *(f"serial: {result}" for result in tried),
            )
            raise AssertionError("\n".join(lines))

    def _is_to_be_said_again(self, played: Played, word: Word, name: str) -> bool:
        answer = played.answers[name]
        if isinstance(answer, Failed):
            if not word.quiet(answer):
                raise AssertionError(f"{word.name}: {answer}")
            # nothing of it is left; a transaction that was to be rolled back anyhow is not said again
            was_undone = name in played.undone
            played.undone.add(name)
            return not was_undone
        return name not in played.undone and word.quiet(answer) and played.overlaps(name)

    def _serial(self, names: Sequence[str], cast: Cast, known: dict[Any, Any]) -> tuple[dict[str, Any], Any]:
        """What these words answer one after another, and what is left."""
        key = tuple(names)
        if key not in known:
            stage = self._stage()
            answers = {name: cast[name][0].shown(said(stage.heart, stage, cast[name][0], Once())) for name in names}
            self.settle(stage)
            known[key] = (answers, stage.picture())
            self._strike(stage)
        return known[key]

    def _give_up(self, played: Played, cast: Cast) -> None:
        """Whoever waits goes on when the others are rolled back, one after another."""
        for name in played.standing:
            self.lab.open(f"gate of {name}")
        played.standing.clear()
        left = set(cast)
        while left:
            self._collect(played, cast)
            free = left - played.waiting
            assert free, f"all wait for each other\n{self.lab.dump()}"
            for name in free:
                self.lab.rollback(name)
            left -= free
        self.lab.reset()

    def _strike(self, stage: Stage) -> None:
        self.undo(stage)
        stage.strike()

    def _stage(self) -> Stage:
        stage = self.house.stage()
        self.set_stage(stage)
        return stage


def orders_of(cast: Cast) -> Iterator[Sequence[tuple[str, str]]]:
    return interleavings(**{name: cut.steps for name, (_, cut) in cast.items()})


def begin(heart: Any, cut: Transaction) -> None:
    heart.rows(f"begin isolation level {cut.isolation}")
    heart.rows("select count(*) from job_key")


def said(heart: Any, stage: Stage, word: Word, cut: Cut) -> Any:
    try:
        if isinstance(cut, Transaction) and not cut.early:
            heart.rows(f"begin isolation level {cut.isolation}")
        return word.say(heart, stage)
    except psycopg.Error as error:
        return Failed(error.sqlstate)
