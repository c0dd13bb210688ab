"""dedupe.sql: at most one active job per key, decided by a primary key; one job per idempotency key."""

import threading

import pytest


def put(lane, dedupe=None, **options):
    return lane.heart.enqueue(lane.tenant, dedupe_key="k", **({"dedupe": dedupe} if dedupe else {}), **options)


class TestSkip:
    """The default: the active twin is the answer."""

    @pytest.mark.parametrize("where", ["ready", "scheduled", "running", "retrying"])
    def test_a_twin_is_answered_wherever_it_stands(self, lane, where):
        first = put(lane, **({"delay_seconds": 60} if where == "scheduled" else {}))
        if where in ("running", "retrying"):
            claim = lane.claim_one()
            if where == "retrying":
                lane.heart.fail_one(claim)
        assert lane.phase(first.job_id) == where
        again = put(lane, "skip")
        assert (again.job_id, again.created, again.refusal) == (first.job_id, False, None)
        assert lane.heart.count("job") == 1

    @pytest.mark.parametrize("end", ["complete", "cancel", "cancel_queued", "dead_letter", "force_cancel", "sweep"])
    def test_the_key_is_free_when_its_job_has_ended(self, lane, clock, end):
        job = put(lane, max_attempts=1).job_id
        if end == "cancel_queued":
            lane.heart.cancel_one(lane.tenant, job)
        else:
            claim = lane.claim_one()
            match end:
                case "complete":
                    lane.heart.complete_one(claim)
                case "cancel":
                    lane.heart.cancel_attempt_one(claim)
                case "dead_letter":
                    lane.heart.fail_one(claim)
                case "force_cancel":
                    lane.heart.force_cancel_one(lane.tenant, job)
                case _:
                    clock.move(3600)
                    lane.heart.sweep()
        assert lane.heart.count("job_key") == 0
        assert put(lane).created

    def test_keys_of_other_definitions_and_tenants_are_other_keys(self, lane):
        lane.heart.define("other")
        zeta = lane.other("zeta")
        first = put(lane).job_id
        assert lane.heart.enqueue(lane.tenant, "other", dedupe_key="k").created
        theirs = lane.heart.enqueue(zeta, dedupe_key="k")
        assert theirs.created
        assert theirs.job_id != first
        assert put(lane).job_id == first

    def test_two_items_of_one_call_with_one_key_are_one_job(self, lane):
        answers = lane.heart.enqueue_many(lane.tenant, [{"dedupe_key": key} for key in "abab"])
        assert [answer.created for answer in answers] == [True, True, False, False]
        assert answers[0].job_id == answers[2].job_id
        assert answers[1].job_id == answers[3].job_id

    def test_a_bad_item_takes_no_key(self, lane):
        answers = lane.heart.enqueue_many(lane.tenant, [{"dedupe_key": "k", "priority": -1}, {"dedupe_key": "k"}])
        assert [answer.created for answer in answers] == [False, True]


class TestError:
    def test_a_twin_is_a_refusal_that_names_it(self, lane):
        first = put(lane)
        again = put(lane, "error")
        assert (again.created, again.refusal, again.field, again.value) == (False, "duplicate", "dedupe_key", "k")
        assert again.job_id == first.job_id

    def test_it_fails_nothing_else(self, lane):
        put(lane)
        answers = lane.heart.enqueue_many(
            lane.tenant, [{"dedupe_key": "a"}, {"dedupe_key": "k", "dedupe": "error"}, {"dedupe_key": "b"}]
        )
        assert [answer.refusal for answer in answers] == [None, "duplicate", None]


class TestReplace:
    @pytest.mark.parametrize("delay", [None, 60])
    def test_the_last_one_takes_the_place_of_a_queued_twin(self, lane, delay):
        first = put(lane, delay_seconds=delay) if delay else put(lane)
        last = put(lane, "replace", payload={"n": 2})
        assert last.created
        assert lane.state(first.job_id) == "canceled"
        assert str(last.job_id) in (lane.heart.attempts(first.job_id)[0].reason or "")
        assert lane.claimed(5) == [last.job_id]

    def test_the_last_one_waits_behind_a_running_twin(self, lane):
        twin = lane.take(dedupe_key="k")
        first, last = put(lane, "replace"), put(lane, "replace")
        assert (first.created, last.created) == (True, True)
        assert (lane.state(first.job_id), lane.phase(last.job_id)) == ("canceled", "waiting")
        lane.heart.complete_one(twin)
        lane.heart.promote()
        lane.heart.promote()
        assert lane.claimed(5) == [last.job_id]


class TestRequeue:
    def test_a_queued_twin_is_enough(self, lane):
        first = put(lane)
        again = put(lane, "requeue")
        assert (again.job_id, again.created) == (first.job_id, False)

    def test_behind_a_running_twin_waits_one_and_no_more(self, lane):
        """Whoever changed something after the twin began is seen by the one that runs after it."""
        twin = lane.take(dedupe_key="k")
        first, second = put(lane, "requeue"), put(lane, "requeue")
        assert (first.created, second.created) == (True, False)
        assert second.job_id == first.job_id
        assert lane.phase(first.job_id) == "waiting"
        assert lane.claimed(5) == []
        lane.heart.complete_one(twin)
        lane.heart.promote()
        lane.heart.promote()
        assert lane.claimed(5) == [first.job_id]

    def test_a_twin_that_is_tried_again_goes_first(self, lane, clock):
        twin = lane.take(dedupe_key="k")
        successor = put(lane, "requeue").job_id
        lane.heart.fail_one(twin)
        clock.move(60)
        lane.heart.promote()
        lane.heart.promote()
        assert lane.claimed(5) == [twin.job_id]
        assert lane.phase(successor) == "waiting"


class TestWindow:
    def test_a_key_is_kept_over_the_end_of_its_job_until_its_window_is_over(self, lane, clock):
        first = lane.take(dedupe_key="k", dedupe_window_seconds=60)
        lane.heart.complete_one(first)
        again = put(lane)
        assert (again.job_id, again.created) == (first.job_id, False)
        clock.move(59.999)
        assert not put(lane).created
        clock.move(0.001)
        assert put(lane).created

    def test_a_window_shorter_than_the_job_changes_nothing(self, lane, clock):
        first = lane.take(dedupe_key="k", dedupe_window_seconds=1)
        clock.move(2)
        assert put(lane).job_id == first.job_id
        lane.heart.complete_one(first)
        assert put(lane).created

    def test_a_bad_item_does_not_take_over_a_key_whose_window_is_over(self, lane, clock):
        lane.heart.complete_one(lane.take(dedupe_key="k", dedupe_window_seconds=60))
        clock.move(60)
        assert put(lane, priority=-1).refusal == "out_of_range"
        assert put(lane).created

    def test_windows_that_are_over_are_forgotten_in_time(self, lane, clock):
        first = lane.take(dedupe_key="k", dedupe_window_seconds=60)
        lane.heart.complete_one(first)
        lane.heart.expire()
        assert lane.heart.count("job_key") == 1
        clock.move(60)
        lane.heart.expire()
        assert lane.heart.count("job_key") == 0

    def test_a_retry_within_the_window_takes_its_key_back(self, lane, clock):
        first = lane.take(dedupe_key="k", dedupe_window_seconds=60)
        lane.heart.fail_one(first, permanent=True)
        assert lane.heart.retry_one(lane.tenant, first.job_id).answer == "queued"
        clock.move(61)
        lane.heart.expire()
        again = put(lane)
        assert (again.job_id, again.created) == (first.job_id, False)


class TestIdempotency:
    def once(self, lane, **options):
        return lane.heart.enqueue(lane.tenant, idempotency_key="once", **options)

    def test_one_key_is_one_job_for_ever(self, lane):
        first = self.once(lane)
        assert first.created
        assert (self.once(lane).job_id, self.once(lane).created) == (first.job_id, False)
        lane.heart.complete_one(lane.claim_one())
        assert (self.once(lane).job_id, self.once(lane).created) == (first.job_id, False)
        assert lane.heart.count("job") == 1

    def test_the_first_call_s_word_counts(self, lane):
        first = self.once(lane, payload={"n": 1})
        again = self.once(lane, payload={"n": 2})
        assert again.job_id == first.job_id
        assert lane.row("job", first.job_id)["payload"] == {"n": 1}

    def test_it_counts_within_its_definition_and_tenant(self, lane):
        lane.heart.define("other")
        self.once(lane)
        assert lane.heart.enqueue(lane.tenant, "other", idempotency_key="once").created
        assert lane.heart.enqueue(lane.other("zeta"), idempotency_key="once").created

    def test_a_refused_item_keeps_no_key(self, lane):
        assert self.once(lane, priority=-1).refusal == "out_of_range"
        assert self.once(lane).created

    def test_an_item_refused_for_its_twin_keeps_no_key(self, lane):
        put(lane)
        refused = self.once(lane, dedupe_key="k", dedupe="error")
        assert refused.refusal == "duplicate"
        assert self.once(lane).created

    def test_a_refusal_takes_away_no_key_but_its_own(self, lane):
        lane.heart.define("other")
        zeta = lane.other("zeta")
        kept = [
            lane.heart.enqueue(lane.tenant, idempotency_key="another"),
            lane.heart.enqueue(lane.tenant, "other", idempotency_key="once"),
            lane.heart.enqueue(zeta, idempotency_key="once"),
            put(lane),
        ]
        assert self.once(lane, dedupe_key="k", dedupe="error").refusal == "duplicate"
        assert lane.heart.rows("select job_id from job_key order by job_id") == sorted((a.job_id,) for a in kept)

    def test_one_that_met_a_twin_goes_on_meaning_that_twin(self, lane):
        twin = put(lane)
        met = self.once(lane, dedupe_key="k")
        assert (met.job_id, met.created) == (twin.job_id, False)
        lane.heart.complete_one(lane.claim_one())
        again = self.once(lane, dedupe_key="k")
        assert (again.job_id, again.created) == (twin.job_id, False)

    def test_two_items_of_one_call_with_one_key_are_one_job(self, lane):
        answers = lane.heart.enqueue_many(lane.tenant, [{"idempotency_key": key} for key in "aab"])
        assert [answer.created for answer in answers] == [True, False, True]
        assert answers[0].job_id == answers[1].job_id

    def test_a_repeat_of_a_bulk_answers_the_same_ids(self, lane):
        items = [{"idempotency_key": f"i{n}", "payload": {"n": n}} for n in range(20)]
        first = lane.heart.enqueue_many(lane.tenant, items)
        again = lane.heart.enqueue_many(lane.tenant, list(reversed(items)))
        assert [answer.job_id for answer in again] == [answer.job_id for answer in reversed(first)]
        assert not any(answer.created for answer in again)

    def test_dedupe_and_idempotency_are_kept_apart(self, lane):
        one = lane.heart.enqueue(lane.tenant, dedupe_key="x")
        two = lane.heart.enqueue(lane.tenant, idempotency_key="x")
        assert one.created
        assert two.created


@pytest.mark.parametrize("option", ["dedupe_key", "idempotency_key"])
def test_two_bulk_calls_with_crossed_keys_do_not_wait_in_a_circle(database, heart, option):
    """Keys are taken in one order, whatever the order of the items."""
    heart.define()
    tenant = heart.tenant()
    keys = [f"k{n:03}" for n in range(200)]
    errors: list[BaseException] = []

    def put_all(order):
        try:
            speaker = heart.on(database)
            speaker.rows("set deadlock_timeout = '10ms'")
            for round_ in range(5):
                speaker.enqueue_many(tenant, [{option: f"{round_}-{key}"} for key in order])
        except BaseException as error:  # noqa: BLE001 -- told by the test
            errors.append(error)

    threads = [threading.Thread(target=put_all, args=[order]) for order in (keys, keys[::-1]) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert heart.count("job") == 1000


@pytest.mark.parametrize("policy", ["replace", "requeue"])
def test_bulk_calls_with_crossed_keys_of_running_twins_do_not_wait_in_a_circle(database, heart, policy):
    """A place behind a twin is a key as well."""
    heart.define()
    tenant = heart.tenant()
    keys = [f"k{n:03}" for n in range(100)]
    heart.enqueue_many(tenant, [{"dedupe_key": key} for key in keys])
    assert len(heart.worker(slots=200).claim(200)) == 100
    errors: list[BaseException] = []

    def put_all(order):
        try:
            speaker = heart.on(database)
            speaker.rows("set deadlock_timeout = '10ms'")
            for _ in range(4):
                speaker.enqueue_many(tenant, [{"dedupe_key": key, "dedupe": policy} for key in order])
        except BaseException as error:  # noqa: BLE001 -- told by the test
            errors.append(error)

    threads = [threading.Thread(target=put_all, args=[order]) for order in (keys, keys[::-1]) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    heart.verify()


class TestItemsOfOneCall:
    """Of one key: judged as if they came one after the other."""

    @staticmethod
    def put_both(lane, *policies):
        items = [{"dedupe_key": "k", "dedupe": policy, "payload": {"n": n}} for n, policy in enumerate(policies, 1)]
        return lane.heart.enqueue_many(lane.tenant, items)

    def test_a_refused_one_refuses_no_other(self, lane):
        twin = put(lane).job_id
        refused, skipped = self.put_both(lane, "error", "skip")
        assert (refused.refusal, refused.job_id) == ("duplicate", twin)
        assert (skipped.refusal, skipped.job_id, skipped.created) == (None, twin, False)
        refused, replaced = self.put_both(lane, "error", "replace")
        assert (refused.refusal, replaced.created) == ("duplicate", True)
        assert lane.state(twin) == "canceled"

    def test_one_that_skips_takes_no_change_away(self, lane):
        twin = put(lane).job_id
        skipped, replaced = self.put_both(lane, "skip", "replace")
        assert (skipped.job_id, skipped.created, replaced.created) == (twin, False, True)
        assert [claim.payload for claim in lane.worker.claim(5)] == [{"n": 2}]

    @pytest.mark.parametrize("is_held", [True, False])
    @pytest.mark.parametrize("first", ["replace", "requeue"])
    def test_the_last_replace_is_what_is_done(self, lane, is_held, first):
        if is_held:
            put(lane)
        earlier, last = self.put_both(lane, first, "replace")
        assert (earlier.job_id, earlier.created, last.created) == (last.job_id, False, True)
        assert [claim.payload for claim in lane.worker.claim(5)] == [{"n": 2}]

    def test_who_comes_after_the_last_replace_is_answered_with_it(self, lane):
        put(lane)
        last, skipped, requeued, refused = self.put_both(lane, "replace", "skip", "requeue", "error")
        assert {skipped.job_id, requeued.job_id, refused.job_id} == {last.job_id}
        assert [a.refusal for a in (last, skipped, requeued, refused)] == [None, None, None, "duplicate"]

    def test_a_change_behind_a_running_twin_is_kept_whoever_skips_beside_it(self, lane):
        put(lane)
        twin = lane.claim_one()
        skipped, requeued = self.put_both(lane, "skip", "requeue")
        assert (skipped.job_id, requeued.created) == (twin.job_id, True)
        assert lane.phase(requeued.job_id) == "waiting"


class TestNoWindowIsShortened:
    def test_by_the_retry_of_an_earlier_job(self, lane):
        put(lane)
        first = lane.claim_one()
        lane.heart.fail([first], permanent=[True])
        put(lane, dedupe_window_seconds=3600)
        lane.heart.complete_one(lane.claim_one())
        assert lane.heart.retry_one(lane.tenant, first.job_id).answer == "queued"
        lane.heart.complete_one(lane.claim_one())
        assert put(lane).created is False

    def test_by_who_takes_its_place(self, lane):
        put(lane, dedupe_window_seconds=3600)
        assert put(lane, "replace").created
        lane.heart.complete_one(lane.claim_one())
        assert put(lane).created is False


@pytest.mark.parametrize("switch", ["override", "suspend"])
def test_a_repeat_is_answered_with_its_job_although_nothing_new_would_be_taken(lane, switch):
    job = lane.heart.enqueue(lane.tenant, idempotency_key="i").job_id
    if switch == "suspend":
        lane.heart.suspend_tenant(lane.tenant, reason="unpaid")
    else:
        lane.heart.rows("""select override_definition('echo', '{"is_enabled": false}', 'off')""")
    again = lane.heart.enqueue(lane.tenant, idempotency_key="i")
    assert (again.job_id, again.created, again.refusal) == (job, False, None)
    assert lane.heart.enqueue(lane.tenant, idempotency_key="j").refusal in ("suspended", "disabled")
