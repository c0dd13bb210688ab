"""How a word is cut into steps, and what is known of an order while it is played."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from words import Word


@dataclass(frozen=True, slots=True)
class Transaction:
    """Said in a transaction that ends in a step of its own; `early`: its snapshot is taken in one before."""

    end: str = "commit"
    isolation: str = "read committed"
    early: bool = False

    @property
    def steps(self) -> tuple[str, ...]:
        return ("begin", "say", "end") if self.early else ("say", "end")


@dataclass(frozen=True, slots=True)
class Gate:
    """Said at once, standing at a point inside the verb until a step of its own opens the gate."""

    at: str
    skip: int = 0

    @property
    def steps(self) -> tuple[str, ...]:
        return ("say", "end")


@dataclass(frozen=True, slots=True)
class Once:
    """Said in one step."""

    @property
    def steps(self) -> tuple[str, ...]:
        return ("say",)


# answers, what is left, and both of all serial orders
Allows = Callable[[Mapping[str, Any], Any, Sequence[tuple[Mapping[str, Any], Any]]], bool]
Cut = Transaction | Gate | Once
Cast = Mapping[str, tuple[Word, Cut]]


@dataclass(slots=True)
class Played:
    """Answers by session; when each word began and was over, as numbers of steps."""

    answers: dict[str, Any] = field(default_factory=dict[str, Any])
    began: dict[str, int] = field(default_factory=dict[str, int])
    over: dict[str, int] = field(default_factory=dict[str, int])
    waiting: set[str] = field(default_factory=set[str])
    standing: set[str] = field(default_factory=set[str])
    undone: set[str] = field(default_factory=set[str])
    now: int = 0

    def take(self, name: str, answer: Any, cut: Cut) -> None:
        self.answers[name] = answer
        self.waiting.discard(name)
        if not isinstance(cut, Transaction):
            self.over[name] = self.now

    def overlaps(self, name: str) -> bool:
        return any(
            self.began[other] <= self.over[name] and self.began[name] <= self.over[other]
            for other in self.answers
            if other != name
        )

    def allows(self, order: Sequence[str], cast: Cast) -> bool:
        """Whether no word in this serial order comes before one that was over before it began."""
        return all(
            self._when(earlier, cast, to=later) <= self.over[later]
            for place, earlier in enumerate(order)
            for later in order[place + 1 :]
        )

    def _when(self, name: str, cast: Cast, *, to: str) -> int:
        is_late = cast[to][0].name in cast[name][0].committed_before
        return self.over[name] if is_late else self.began[name]


def item_by_item(names: Sequence[str]) -> Allows:
    """For batches, whose items are answered each on its own: each may follow another serial order."""

    def one(answers: Mapping[str, Any], left: Any, place: int) -> Any:
        words = {who: answer[place] if isinstance(answer, list) else answer for who, answer in answers.items()}
        return words, [row for row in left if row[0] == names[place]]

    def allows(answers: Mapping[str, Any], left: Any, tried: Sequence[tuple[Mapping[str, Any], Any]]) -> bool:
        return all(one(answers, left, place) in [one(*each, place) for each in tried] for place in range(len(names)))

    return allows
