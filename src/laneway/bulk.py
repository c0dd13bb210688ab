"""Many jobs in bounded memory: how they are cut into calls, and what is known when the connection goes in between."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

from laneway.errors import ConnectionLost
from laneway.model.enqueued import Enqueued
from laneway.model.item import Item

__all__ = ["Bulk", "OnProgress", "chunks_of"]

OnProgress = Callable[[int], None]

CHUNK_JOBS = 1_000
# A call takes 16 MiB in their stored form; text is at most a little shorter than that.
CHUNK_BYTES = 8 * 1024 * 1024


def chunks_of(items: Iterable[Item]) -> Iterator[list[Item]]:
    """A thousand at a time, fewer where they are large."""
    waiting = iter(items)
    rest: list[Item] = []
    while taken := rest + list(islice(waiting, CHUNK_JOBS - len(rest))):
        fitting = _fitting(taken)
        yield taken[:fitting]
        rest = taken[fitting:]


def _fitting(items: Sequence[Item]) -> int:
    size = 0
    for count, item in enumerate(items):
        size += len(item.payload)
        if size > CHUNK_BYTES and count > 0:
            return count
    return len(items)


class Bulk:
    """Counts what has been acknowledged."""

    def __init__(self, on_progress: OnProgress | None) -> None:
        self._on_progress = on_progress
        self.acknowledged = 0

    @contextmanager
    def sending(self, chunk: Sequence[Item]) -> Generator[None]:
        try:
            yield
        except ConnectionLost as error:
            first, last = self.acknowledged + 1, self.acknowledged + len(chunk)
            raise ConnectionLost(
                str(error),
                known=f"The first {self.acknowledged} items are in. Of items {first} to {last} either all are or none: "
                "give them an idempotency key each and send them again. Those behind them were not sent.",
            ) from error

    def took(self, answers: Sequence[Enqueued]) -> Sequence[Enqueued]:
        self.acknowledged += len(answers)
        if self._on_progress is not None:
            self._on_progress(self.acknowledged)
        return answers
