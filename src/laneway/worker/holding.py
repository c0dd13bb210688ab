"""What this instance holds: every attempt from the answer of its claim to the answer to its report.

The event loop adds and removes, the keeper's thread reads copies and writes `acknowledged_at` and `is_lost`: single
assignments, which need no lock.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from laneway.model.claim import AttemptRef, Claim

__all__ = ["Held", "Holding"]


@dataclass(slots=True, eq=False)
class Held:
    """One attempt of ours, as far as we know."""

    claim: Claim
    acknowledged_at: float
    """When the last word that the database acknowledged was sent, on the monotonic clock: its lease is no older."""
    is_lost: bool = False
    """Fenced or stale: nothing of it is reported any more."""
    is_cancel_requested: bool = False
    ref: AttemptRef = field(init=False)

    def __post_init__(self) -> None:
        self.ref = self.claim.ref


class Holding:
    """The attempts of one worker instance."""

    def __init__(self) -> None:
        self._held: dict[AttemptRef, Held] = {}

    def __len__(self) -> int:
        return len(self._held)

    def hold(self, claims: Iterable[Claim], *, sent_at: float) -> list[Held]:
        new = [Held(claim, sent_at) for claim in claims]
        self._held.update((held.ref, held) for held in new)
        return new

    def let_go(self, held: Held) -> None:
        self._held.pop(held.ref, None)

    def is_known(self, ref: AttemptRef) -> bool:
        return ref in self._held

    def all(self) -> Sequence[Held]:
        """A copy; may be asked for from any thread."""
        return tuple(self._held.copy().values())
