"""Decides when to claim and how many: one fetcher feeds all slots of a process.

One call is under way at a time. While it is, handlers run and outcomes gather, so that batches form by themselves under
load; where lanes are known, the successes of one batch and the claim of the next are one call (`finish_and_claim`).
Where there is nothing, pauses grow with jitter; a rung bell cuts them short, and is only a hint.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from random import Random
from uuid import UUID

from laneway.database.calls import claim as claims
from laneway.database.calls.claim import Cursor
from laneway.database.calls.finish import release
from laneway.database.calls.workers import held as held_call
from laneway.errors import ConnectionLost, LanewayError, NotFound, Refused
from laneway.model.claim import Claim, ReportAnswer
from laneway.turns import Taken, Turns, quantum_of
from laneway.worker.bell import Doorbell
from laneway.worker.holding import Holding
from laneway.worker.line import Line
from laneway.worker.options import WorkerOptions
from laneway.worker.reporter import Reporter, batch_of
from laneway.worker.slots import Slots

__all__ = ["Fetcher", "QueueClock"]

log = logging.getLogger("laneway.worker")

MOST_JOBS = 500
_FIRST_POLL = 0.01
_SLOWER = 5
_AFTER_ERROR = 1.0
# So many turns of lanes are looked for: more than there are slots, so that the fused calls know the next ones.
_LOOK = 100_000


class QueueClock:
    """When a queue is asked next: at once while it gives all that was asked for, ever later while it gives nothing."""

    def __init__(self, options: WorkerOptions, random: Random) -> None:
        self._options = options
        self._random = random
        self._pause = _FIRST_POLL
        self.due_at = 0.0

    def gave(self, *, is_dry: bool, has_bell: bool, now: float) -> None:
        """What the last answer means for the next question."""
        if not is_dry:
            self._pause = _FIRST_POLL
            self.due_at = now
            return
        self.due_at = now + self._pause * self._random.uniform(0.8, 1.2)
        # an enqueue that was not committed yet when the bell was armed does not ring: 10 ms, 100 ms, then the floor
        longest = self._options.longest_poll_seconds if has_bell else self._options.poll_seconds
        self._pause = min(self._pause * _SLOWER, longest)

    def wake(self) -> None:
        self._pause = _FIRST_POLL
        self.due_at = 0.0


class _Queue:
    def __init__(self, name: str, clock: QueueClock) -> None:
        self.name = name
        self.clock = clock
        self.turns = Turns()


class Fetcher:
    """Claims and reports on one line."""

    def __init__(
        self,
        worker: UUID,
        line: Line,
        *,
        queues: Sequence[str],
        slots: Slots,
        holding: Holding,
        reporter: Reporter,
        options: WorkerOptions,
        bell: Doorbell,
        now: Callable[[], float],
        random: Random,
    ) -> None:
        self._worker = worker
        self._line = line
        self._bell = bell
        bell.when_rung(self.rung)
        self._slots = slots
        self._holding = holding
        self._reporter = reporter
        self._options = options
        self._now = now
        self._queues = [_Queue(name, QueueClock(options, random)) for name in queues]
        self._work = asyncio.Event()
        self._is_cut = False
        self._is_rung = False
        self.is_claiming = True
        self.claimed_at = now()
        """When a claim was last answered: shown in health."""

    def wake(self) -> None:
        """There is an outcome, or a slot is free."""
        self._work.set()

    def rung(self) -> None:
        """There may be jobs."""
        self._is_rung = True
        for queue in self._queues:
            queue.clock.wake()
        self._work.set()

    async def run(self) -> None:
        """Until it is told to stop claiming and has said all that there was to say."""
        while self.is_claiming or len(self._holding) > 0:
            try:
                await self._pass()
            except ConnectionLost as error:
                log.warning("fetcher: %s", error)
                self._is_cut = True
                await self._line.open()
            except LanewayError as error:
                if isinstance(error, NotFound) and error.field == "worker":
                    # another process start, with an id of its own, is what helps
                    raise
                # the schema is being upgraded, a right was taken away: not ours to mend, and no reason to die
                log.error("fetcher: %s", error)  # noqa: TRY400 (one line for one fact)
                await asyncio.sleep(_AFTER_ERROR)
            await self._rest()

    async def _pass(self) -> None:
        if self._is_cut:
            await self._hand_back_unknown()
        if self._is_rung and self._bell.is_armed:
            self._is_rung = False
            await self._bell.disarm()
        for queue in self._in_turn():
            await self._ask(queue)
        if self._is_any_due():
            # successes go with the next claim, in one call
            await self._reporter.flush_others(self._line)
        else:
            await self._reporter.flush(self._line)

    def _in_turn(self) -> list[_Queue]:
        """Queues that are due, each once, another first each time."""
        if not self._is_any_due():
            return []
        self._queues.append(self._queues.pop(0))
        now = self._now()
        return [queue for queue in self._queues if queue.clock.due_at <= now]

    def _is_any_due(self) -> bool:
        now = self._now()
        return self._wants_jobs and any(queue.clock.due_at <= now for queue in self._queues)

    async def _ask(self, queue: _Queue) -> None:
        wanted = min(self._slots.room(), MOST_JOBS)
        if wanted == 0:
            return
        now = self._now()
        if queue.turns.is_full_claim_due(wanted, now=now):
            await self._claim(queue, wanted)
        else:
            await self._finish_and_claim(queue, wanted)
        self.claimed_at = self._now()

    async def _claim(self, queue: _Queue, wanted: int) -> None:
        await self._reporter.flush(self._line)
        cursor = Cursor(after=queue.turns.after, left=queue.turns.left, after_definition=queue.turns.after_definition)
        sent_at = self._now()
        answer = await self._line.run(
            claims.claim(
                self._worker,
                queue.name,
                wanted,
                cursor,
                quantum=quantum_of(wanted),
                look=_LOOK,
                lease_seconds=self._options.lease_seconds,
            )
        )
        now = self._now()
        queue.turns.found(answer.found, _taken(answer.claims), wanted=wanted, now=now, seconds=now - sent_at)
        self._heard(queue, answer.claims, is_dry=not answer.has_more, sent_at=sent_at)

    async def _finish_and_claim(self, queue: _Queue, wanted: int) -> None:
        share = queue.turns.share(wanted)
        reports = self._reporter.take_successes()
        sent_at = self._now()
        try:
            answer = await self._line.run(
                claims.finish_and_claim(
                    self._worker,
                    queue.name,
                    batch_of(reports),
                    share,
                    lease_seconds=self._options.lease_seconds,
                )
            )
        except BaseException as error:
            self._reporter.unanswered(reports)
            if isinstance(error, Refused):
                # one of the reports may have spoiled the call: by themselves they are told apart
                await self._reporter.flush(self._line)
            raise
        self._reporter.answered(reports, answer.answers)
        queue.turns.took(share, _taken(answer.claims))
        # what came home short is for the next full claim to look into, at once
        self._heard(queue, answer.claims, is_dry=False, sent_at=sent_at)

    def _heard(self, queue: _Queue, claimed: Sequence[Claim], *, is_dry: bool, sent_at: float) -> None:
        queue.clock.gave(is_dry=is_dry, has_bell=self._bell.is_armed, now=self._now())
        if claimed:
            self._slots.put(self._holding.hold(claimed, sent_at=sent_at))

    async def _hand_back_unknown(self) -> None:
        """A claim whose answer was cut off has given us jobs that we do not know: they would wait out a lease."""
        unknown = [ref for ref in await self._line.run(held_call(self._worker)) if not self._holding.is_known(ref)]
        if unknown:
            log.warning("fetcher: %s jobs of a claim that was cut off are handed back", len(unknown))
            reasons = ["the answer to its claim was cut off"] * len(unknown)
            answers = await self._line.run(release(self._worker, unknown, reasons=reasons))
            if ReportAnswer.BUSY in answers:
                # somebody holds one of them at this moment: the next pass asks again
                return
        self._is_cut = False

    async def _rest(self) -> None:
        """Until there is something to do."""
        # let the handlers have their turn
        await asyncio.sleep(0)
        if self._idle_seconds() > 0 and self._wants_jobs and not self._bell.is_armed and await self._bell.arm():
            # what came in before the bell was armed did not ring: once more
            for queue in self._queues:
                queue.clock.wake()
        seconds = self._idle_seconds()
        if seconds <= 0:
            return
        try:
            async with asyncio.timeout(seconds):
                await self._work.wait()
        except TimeoutError:
            pass
        self._work.clear()

    @property
    def _wants_jobs(self) -> bool:
        return self.is_claiming and self._slots.room() > 0

    def _idle_seconds(self) -> float:
        if self._reporter.is_due:
            return 0.0
        waits = [self._options.longest_poll_seconds]
        if (busy := self._reporter.busy_for) is not None:
            waits.append(busy)
        if self._wants_jobs:
            waits.append(min(queue.clock.due_at for queue in self._queues) - self._now())
        return min(waits)


def _taken(claimed: Sequence[Claim]) -> list[Taken]:
    return [Taken(claim.tenant, claim.definition, claim.rank) for claim in claimed]
