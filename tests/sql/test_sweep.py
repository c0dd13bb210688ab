"""sweep.sql: leases that are over end here and nowhere else, each by itself; what did not start in time fails."""

import pytest

from language import LEASE, Answer, Swept


def test_a_lease_ends_when_it_is_swept_and_not_before(lane, clock):
    claim = lane.take()
    clock.move(LEASE - 0.000001)
    assert lane.heart.sweep() == Swept(0, 0, 0, 0)
    assert lane.state(claim) == "running"
    clock.move(0.000001)
    assert lane.heart.sweep() == Swept(1, 1, 0, 0)
    assert lane.outcomes(claim) == ["lost"]


def test_a_lost_job_goes_on_within_a_second(lane, clock):
    claim = lane.take()
    clock.move(LEASE)
    lane.heart.sweep()
    clock.move(1)
    lane.heart.promote()
    assert lane.claimed(1) == [claim.job_id]
    assert lane.row("live", claim)["attempt"] == 2


def test_a_job_that_kills_its_worker_ends(lane, clock):
    """A lost attempt counts."""
    claim = lane.take(max_attempts=2)
    for _ in range(2):
        clock.move(LEASE)
        assert lane.heart.sweep().lost == 1
        clock.move(2)
        lane.heart.promote()
        lane.worker.claim(1)
    assert lane.state(claim) == "dead_letter"
    assert lane.outcomes(claim) == ["lost", "lost"]


def test_past_its_deadline_it_is_a_timeout_and_waits_as_any_failure(lane, clock):
    claim = lane.take(timeout_seconds=10)
    clock.move(15)
    assert lane.heart.sweep() == Swept(1, 0, 1, 0)
    assert lane.outcomes(claim) == ["timeout"]
    due = lane.heart.promote().next_due_at
    assert due is not None
    assert (due - clock.now()).total_seconds() == 5


def test_a_requested_cancel_wins_over_the_sweep(lane, clock):
    claim = lane.take()
    lane.heart.cancel_one(lane.tenant, claim.job_id)
    clock.move(LEASE)
    assert lane.heart.sweep().lost == 1
    assert lane.state(claim) == "canceled"
    assert lane.worker.claim(1) == []


def test_a_requested_cancel_wins_on_the_last_attempt_too(lane, clock):
    claim = lane.take(max_attempts=1)
    lane.heart.cancel_one(lane.tenant, claim.job_id)
    clock.move(LEASE)
    lane.heart.sweep()
    assert lane.state(claim) == "canceled"


def test_queued_and_ended_jobs_are_not_swept(lane, clock):
    done = lane.take()
    lane.heart.complete_one(done)
    released = lane.take()
    lane.heart.release_one(released)
    lane.job(delay_seconds=5)
    clock.move(LEASE * 100)
    assert lane.heart.sweep() == Swept(0, 0, 0, 0)


def test_a_pass_ends_no_more_than_it_was_asked_for(lane, clock):
    for _ in range(5):
        lane.job()
    lane.worker.claim(5)
    clock.move(LEASE)
    assert [lane.heart.sweep(2).swept for _ in range(4)] == [2, 2, 1, 0]


@pytest.mark.parametrize("verb", ["sweep", "promote", "expire"])
@pytest.mark.parametrize("size", [0, -1, 10001])
def test_a_pass_of_a_size_that_would_not_be_short_is_refused(lane, refuses, verb, size):
    with refuses("out_of_range", "p_jobs"):
        getattr(lane.heart, verb)(size)


PLANT = """
create function laneway_test.refuse_to_end() returns trigger language plpgsql as $$
begin
    if old.job_id = any (current_setting('laneway_test.poisoned')::uuid[]) then
        raise exception 'poisoned';
    end if;
    return old;
end
$$;
create trigger poison before delete on live for each row execute function laneway_test.refuse_to_end();
"""


class TestARowThatCannotBeSwept:
    """Whatever is wrong with one row is no matter of the others."""

    @pytest.fixture
    def poisoned(self, lane, clock):
        jobs = [lane.job() for _ in range(6)]
        lane.worker.claim(6)
        clock.move(LEASE)
        lane.heart.rows(PLANT)
        self.poison(lane, jobs[:3])
        return jobs

    def poison(self, lane, jobs):
        lane.heart.rows("select set_config('laneway_test.poisoned', %s::uuid[]::text, true)", [jobs])

    def test_it_stops_no_other(self, lane, poisoned):
        assert lane.heart.sweep() == Swept(3, 3, 0, 3)
        assert [lane.state(job) for job in poisoned] == ["running"] * 3 + ["queued"] * 3

    def test_a_full_batch_of_them_at_the_front_hides_nobody(self, lane, poisoned):
        for _ in range(3):
            lane.heart.sweep(2)
        assert [lane.state(job) for job in poisoned] == ["running"] * 3 + ["queued"] * 3

    def test_it_is_written_down_and_left_alone_for_a_growing_time(self, lane, clock, poisoned):
        lane.heart.sweep()
        (failures, error) = lane.heart.one("select failures, error from stuck where job_id = %s", [poisoned[0]])
        assert failures == 1
        assert "poisoned" in error
        waits = []
        for _ in range(12):
            (not_before,) = lane.heart.one("select not_before from stuck where job_id = %s", [poisoned[0]])
            waits.append((not_before - clock.now()).total_seconds())
            assert lane.heart.sweep().failed == 0, "not yet"
            clock.set(not_before)
            assert lane.heart.sweep().failed == 3
        assert waits[:4] == [10, 20, 40, 80]
        assert max(waits) == 3600

    def test_it_ends_as_soon_as_it_can(self, lane, clock, poisoned):
        lane.heart.sweep()
        self.poison(lane, [])
        clock.move(10)
        assert lane.heart.sweep() == Swept(3, 3, 0, 0)
        assert lane.heart.count("stuck") == 0
        assert {lane.state(job) for job in poisoned} == {"queued"}


class TestExpiry:
    def test_a_job_that_did_not_start_in_time_fails(self, lane, clock):
        job = lane.job(expires_seconds=10)
        clock.move(9.999)
        assert lane.heart.expire() == 0
        clock.move(0.001)
        assert lane.heart.expire() == 1
        assert lane.state(job) == "failed"
        (attempt,) = lane.heart.attempts(job)
        assert (attempt.attempt, attempt.outcome, attempt.final_state) == (0, "failed", "failed")
        assert attempt.started_at is None
        assert "expired" in (attempt.reason or "")

    def test_wherever_it_stands(self, lane, clock):
        scheduled = lane.job(delay_seconds=100, expires_seconds=10)
        lane.take(dedupe_key="k")
        successor = lane.job(dedupe_key="k", dedupe="requeue", expires_seconds=10)
        clock.move(10)
        assert lane.heart.expire() == 2
        assert [lane.state(job) for job in (scheduled, successor)] == ["failed", "failed"]

    def test_what_has_started_does_not_expire(self, lane, clock):
        """Not while it runs, not when it waits for its next attempt, not when that one is due."""
        running = lane.take(expires_seconds=10)
        retrying = lane.take(expires_seconds=10)
        lane.heart.fail_one(retrying, retry_in_seconds=5)
        released = lane.take(expires_seconds=10)
        lane.heart.release_one(released)
        clock.move(11)
        assert lane.heart.expire() == 0
        lane.heart.promote()
        assert lane.heart.expire() == 0
        assert set(lane.claimed(5)) == {retrying.job_id, released.job_id}
        assert lane.heart.complete_one(running) == Answer.ACCEPTED

    def test_an_expired_job_frees_its_key(self, lane, clock):
        first = lane.job(dedupe_key="k", expires_seconds=10)
        clock.move(10)
        lane.heart.expire()
        assert lane.job(dedupe_key="k") != first

    def test_a_pass_ends_no_more_than_it_was_asked_for(self, lane, clock):
        for _ in range(5):
            lane.job(expires_seconds=1)
        clock.move(1)
        assert [lane.heart.expire(2) for _ in range(4)] == [2, 2, 1, 0]
