"""Outcomes wait here until the database has answered them.

While one call is under way the next outcomes gather: batches form by themselves under load, and a lone outcome goes at
once. A report is said again, with the same attempt and outcome, over as many connections as it takes; what is `busy` is
said again a little later, alone; `stale` means that the attempt was not ours any more, and nothing is left to say.
"""

import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeVar
from uuid import UUID

from laneway.database.call import Call, Runs
from laneway.database.calls import finish
from laneway.database.calls.finish import ReportBatch
from laneway.errors import ConnectionLost, LanewayError
from laneway.model.claim import AttemptRef, ReportAnswer
from laneway.worker.holding import Held, Holding
from laneway.worker.outcome import Canceled, Failed, Outcome, Released, Snoozed, Succeeded

__all__ = ["Reporter"]

O = TypeVar("O", bound=Outcome)  # noqa: E741 (an outcome)

log = logging.getLogger("laneway.worker")

BATCH = 500
# Somebody holds the row: most often another claim in passing, gone by then.
BUSY_SECONDS = 0.02


UNSTORABLE = Failed(
    error='{"kind": "ResultRefused", "message": "what it gave back cannot be stored"}',
    reason="What it gave back cannot be stored: at most 64 KiB and 32 levels. Store it elsewhere, return a reference.",
    is_permanent=True,
)


class Report:
    """One outcome of one attempt."""

    __slots__ = ("held", "not_before", "outcome")

    def __init__(self, held: Held, outcome: Outcome) -> None:
        self.held = held
        self.outcome = outcome
        self.not_before = 0.0


class Reporter:
    """The outcomes of one worker."""

    def __init__(self, worker: UUID, holding: Holding, *, now: Callable[[], float]) -> None:
        self._worker = worker
        self._holding = holding
        self._now = now
        self._successes: deque[Report] = deque()
        self._others: deque[Report] = deque()
        self._busy: list[Report] = []
        self.stale = 0
        """Words that came too late."""

    def __len__(self) -> int:
        return len(self._successes) + len(self._others) + len(self._busy)

    @property
    def is_due(self) -> bool:
        self._take_busy()
        return bool(self._successes or self._others)

    @property
    def busy_for(self) -> float | None:
        """Seconds until what was busy is said again; None: nothing is."""
        return max(0.0, min(one.not_before for one in self._busy) - self._now()) if self._busy else None

    def add(self, held: Held, outcome: Outcome) -> None:
        report = Report(held, outcome)
        (self._successes if isinstance(outcome, Succeeded) else self._others).append(report)

    def take_successes(self) -> list[Report]:
        """The next batch, to be sent with a claim; it comes back by `answered` or `unanswered`."""
        self._take_busy()
        taken: list[Report] = []
        while self._successes and len(taken) < BATCH:
            report = self._successes.popleft()
            if report.held.is_lost:
                self._drop(report)
            else:
                taken.append(report)
        return taken

    def answered(self, reports: Sequence[Report], answers: Sequence[ReportAnswer]) -> None:
        for report, answer in zip(reports, answers, strict=True):
            if answer is ReportAnswer.ACCEPTED:
                self._holding.let_go(report.held)
            elif answer is ReportAnswer.BUSY:
                report.not_before = self._now() + BUSY_SECONDS
                self._busy.append(report)
            elif answer is ReportAnswer.REFUSED:
                self._refused(report)
            else:
                self._over(report, answer)

    def unanswered(self, reports: Sequence[Report]) -> None:
        """The connection went: they are said again, first."""
        for report in reversed(reports):
            (self._successes if isinstance(report.outcome, Succeeded) else self._others).appendleft(report)

    async def flush(self, line: Runs) -> None:
        """Says all that waits, successes included."""
        while successes := self.take_successes():
            await self._send(successes, finish.complete(self._worker, batch_of(successes)), line)
        await self.flush_others(line)

    async def flush_others(self, line: Runs) -> None:
        """Says what ended otherwise than by success."""
        self._take_busy()
        while self._others:
            reports = self._take_alike()
            if reports:
                await self._send(reports, self._call_for(reports), line)

    async def _send(self, reports: list[Report], call: Call[list[ReportAnswer]], line: Runs) -> None:
        try:
            answers = await line.run(call)
        except LanewayError as error:
            if isinstance(error, ConnectionLost):
                self.unanswered(reports)
                raise
            await self._send_each(reports, error, line)
        except BaseException:
            self.unanswered(reports)
            raise
        else:
            self.answered(reports, answers)

    async def _send_each(self, reports: list[Report], error: LanewayError, line: Runs) -> None:
        """One of them spoils the call: each alone, so that it spoils no other."""
        if len(reports) == 1:
            log.error("the outcome of job %s was refused: %s", reports[0].held.ref.job, error)
            self._refused(reports[0])
            return
        for report in reports:
            await self._send([report], self._call_for([report]), line)

    def _take_alike(self) -> list[Report]:
        """As many of one kind as stand in front, in one call."""
        kind = type(self._others[0].outcome)
        taken: list[Report] = []
        while self._others and len(taken) < BATCH and type(self._others[0].outcome) is kind:
            report = self._others.popleft()
            if report.held.is_lost:
                self._drop(report)
            else:
                taken.append(report)
        return taken

    def _call_for(self, reports: Sequence[Report]) -> Call[list[ReportAnswer]]:
        refs = [report.held.ref for report in reports]
        match reports[0].outcome:
            case Failed():
                return _fail(self._worker, refs, _outcomes(reports, Failed))
            case Snoozed():
                snoozed = _outcomes(reports, Snoozed)
                delays, reasons = [one.delay_seconds for one in snoozed], [one.reason for one in snoozed]
                return finish.snooze(self._worker, refs, delays_seconds=delays, reasons=reasons)
            case Released():
                return finish.release(self._worker, refs, reasons=[one.reason for one in _outcomes(reports, Released)])
            case Canceled():
                return finish.cancel_attempt(
                    self._worker, refs, reasons=[one.reason for one in _outcomes(reports, Canceled)]
                )
            case Succeeded():
                return finish.complete(self._worker, batch_of(reports))

    def _take_busy(self) -> None:
        if not self._busy:
            return
        now = self._now()
        due = [report for report in self._busy if report.not_before <= now]
        self._busy = [report for report in self._busy if report.not_before > now]
        self.unanswered(due)

    def _refused(self, report: Report) -> None:
        """What the handler gave back cannot be stored: that is how the attempt ends, for good."""
        if report.outcome is UNSTORABLE:
            # nothing shorter can be said: the lease runs out, and the sweep ends the attempt
            log.error("no outcome of job %s can be stored; its lease runs out", report.held.ref.job)
            self._holding.let_go(report.held)
            return
        self._others.append(Report(report.held, UNSTORABLE))

    def _over(self, report: Report, answer: ReportAnswer) -> None:
        self._holding.let_go(report.held)
        if answer is ReportAnswer.STALE:
            self.stale += 1
            log.warning(
                "stale: attempt %s of job %s was not ours any more", report.held.ref.attempt, report.held.ref.job
            )

    def _drop(self, report: Report) -> None:
        self.stale += 1
        self._holding.let_go(report.held)


def batch_of(reports: Sequence[Report]) -> ReportBatch:
    results = [report.outcome.result if isinstance(report.outcome, Succeeded) else None for report in reports]
    return ReportBatch.of([report.held.ref for report in reports], results)


def _fail(worker: UUID, refs: Sequence[AttemptRef], failed: Sequence[Failed]) -> Call[list[ReportAnswer]]:
    return finish.fail(
        worker,
        refs,
        errors=[one.error for one in failed],
        permanent=[one.is_permanent for one in failed],
        retry_in_seconds=[one.retry_in_seconds for one in failed],
        timed_out=[one.is_timeout for one in failed],
        reasons=[one.reason for one in failed],
    )


def _outcomes(reports: Sequence[Report], kind: type[O]) -> list[O]:
    return [report.outcome for report in reports if isinstance(report.outcome, kind)]
