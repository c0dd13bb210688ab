"""For how long an attempt may go on without a word from the database, and when a queue is asked again."""

from random import Random

import pytest

from laneway.worker.fetcher import QueueClock
from laneway.worker.keeper import silence_allowed
from laneway.worker.options import WorkerOptions


@pytest.mark.parametrize(("lease", "silence"), [(5, 3), (20, 18), (60, 54), (3600, 3240)])
def test_it_fences_itself_two_seconds_or_a_tenth_before_the_lease_is_over(lease, silence):
    assert silence_allowed(lease) == silence


class TestQueueClock:
    def clock(self):
        return QueueClock(WorkerOptions(poll_seconds=1, longest_poll_seconds=5), Random(7))  # noqa: S311 (jitter)

    def pauses(self, clock, count, *, has_bell):
        found = []
        for _ in range(count):
            clock.gave(is_dry=True, has_bell=has_bell, now=0.0)
            found.append(clock.due_at)
        return found

    def test_an_answer_that_was_full_is_followed_by_the_next_question_at_once(self):
        clock = self.clock()
        clock.gave(is_dry=False, has_bell=False, now=7.0)
        assert clock.due_at == 7.0

    @pytest.mark.parametrize(("has_bell", "longest"), [(False, 1.0), (True, 5.0)])
    def test_pauses_grow_to_the_floor_with_jitter(self, has_bell, longest):
        pauses = self.pauses(self.clock(), 40, has_bell=has_bell)
        assert pauses[0] == pytest.approx(0.01, rel=0.2)
        assert all(0.8 * longest <= pause <= 1.2 * longest for pause in pauses[6:])
        assert len(set(pauses[6:])) > 1

    def test_a_ring_begins_anew(self):
        clock = self.clock()
        self.pauses(clock, 10, has_bell=True)
        clock.wake()
        assert clock.due_at == 0.0
        assert self.pauses(clock, 1, has_bell=True)[0] == pytest.approx(0.01, rel=0.2)
