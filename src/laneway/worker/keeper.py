"""Keeps the leases of everything this worker holds: an OS thread with a connection of its own, so that a handler which
blocks the event loop cannot starve it.

Every third of a lease one statement extends them all. Where no extension was acknowledged for a lease less two seconds
or a tenth, whichever is more, the attempt is fenced: the handler is told to stop and nothing is reported, since the
sweeper may have given the job to somebody else. A `stale` answer does the same.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, LiteralString, TypeVar, cast
from uuid import UUID

import psycopg

from laneway.database.call import Call, Style, statement
from laneway.database.calls.extend import extend
from laneway.database.calls.workers import beat
from laneway.model.claim import ExtendAnswer
from laneway.worker.attempt import Why
from laneway.worker.holding import Held, Holding
from laneway.worker.options import Place

__all__ = ["Keeper", "fence", "silence_allowed"]

T = TypeVar("T")

log = logging.getLogger("laneway.worker")

OnStop = Callable[[Held, Why], None]

_LEAST_MARGIN = 2.0
_BUSY_SECONDS = 0.1


def silence_allowed(lease_seconds: float) -> float:
    """For how long an attempt may go on without an acknowledged extension."""
    return lease_seconds - max(_LEAST_MARGIN, lease_seconds / 10)


def fence(holding: Holding, now: float, lease_seconds: float) -> list[Held]:
    """What may not go on: nothing of it is reported any more, and its handlers are to be stopped."""
    limit = now - silence_allowed(lease_seconds)
    silent = [held for held in holding.all() if held.acknowledged_at < limit and not held.is_lost]
    for held in silent:
        _lose(held, "its lease was not extended in time")
    return silent


class Keeper:
    """Extends, fences, and tells of cancels. The callback is called in the keeper's thread."""

    def __init__(
        self,
        place: Place,
        worker: UUID,
        holding: Holding,
        *,
        lease_seconds: int,
        now: Callable[[], float],
        on_stop: OnStop,
    ) -> None:
        self._place = place
        self._worker = worker
        self._holding = holding
        self._lease = lease_seconds
        self._now = now
        self._on_stop = on_stop
        self._conn: psycopg.Connection[Any] | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="laneway-keeper", daemon=True)
        self.extended_at = now()
        """When a round of extensions last went well: shown in health."""
        self.is_draining = False
        """An operator asked for it."""

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Returns when the thread has ended."""
        self._stop.set()
        self._thread.join()
        if self._conn is not None:
            with suppress(psycopg.Error):
                self._conn.close()

    def _keep(self) -> None:
        pause = self._lease / 3
        while not self._stop.wait(pause):
            pause = self._round()

    def _round(self) -> float:
        """Answers after how many seconds the next one is due."""
        busy: list[Held] = []
        try:
            busy = self._extend(self._due())
        except psycopg.Error as error:
            log.warning("keeper: leases were not extended: %s", str(error).strip())
            self._forget_connection()
        self._fence()
        if busy:
            return _BUSY_SECONDS
        return self._lease / 3 if self._conn is not None else min(1.0, self._lease / 10)

    def _due(self) -> list[Held]:
        """What was not acknowledged within the last quarter of a lease: fresh claims can wait for the next round."""
        fresh = self._now() - self._lease / 4
        return [held for held in self._holding.all() if not held.is_lost and held.acknowledged_at < fresh]

    def _extend(self, due: Sequence[Held]) -> list[Held]:
        busy: list[Held] = []
        sent_at = self._now()
        if not due:
            self.is_draining = self._run(beat(self._worker))
        else:
            call = extend(self._worker, [held.ref for held in due], lease_seconds=self._lease)
            for held, answer in zip(due, self._run(call), strict=True):
                self._heard(held, answer, sent_at)
                if answer is ExtendAnswer.BUSY:
                    busy.append(held)
        self.extended_at = sent_at
        return busy

    def _heard(self, held: Held, answer: ExtendAnswer, sent_at: float) -> None:
        if answer in {ExtendAnswer.OK, ExtendAnswer.CANCEL}:
            held.acknowledged_at = sent_at
        if answer is ExtendAnswer.CANCEL and not held.is_cancel_requested:
            held.is_cancel_requested = True
            self._on_stop(held, Why.CANCELED)
        if answer is ExtendAnswer.STALE and self._holding.is_known(held.ref):
            _lose(held, "somebody else has it")
            self._on_stop(held, Why.LOST)

    def _fence(self) -> None:
        for held in fence(self._holding, self._now(), self._lease):
            self._on_stop(held, Why.LOST)

    def _run(self, call: Call[T]) -> T:
        if self._conn is None:
            self._conn = psycopg.connect(
                self._place.dsn,
                autocommit=True,
                application_name="laneway keeper",
                connect_timeout=max(2, self._lease // 6),
                # an answer that does not come within a sixth of a lease will not come in time
                tcp_user_timeout=int(self._lease / 6 * 1000),
                keepalives_idle=max(1, self._lease // 12),
                keepalives_interval=max(1, self._lease // 12),
                keepalives_count=2,
                options=f"-c statement_timeout={int(self._lease / 6 * 1000)}",
            )
            self._conn.prepare_threshold = None
        sent = statement(call, schema=self._place.schema, style=Style.FORMAT)
        return call.read(self._conn.execute(cast("LiteralString", sent.text), sent.parameters).fetchall())

    def _forget_connection(self) -> None:
        conn, self._conn = self._conn, None
        if conn is not None:
            with suppress(psycopg.Error):
                conn.close()


def _lose(held: Held, why: str) -> None:
    held.is_lost = True
    log.warning("attempt %s of job %s is stopped: %s", held.ref.attempt, held.ref.job, why)
