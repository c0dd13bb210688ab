"""workers.sql: workers say what they can run, that they live, and what they hold."""

from uuid import uuid4

import psycopg
import pytest

from language import LEASE


def worker_row(lane, *columns):
    return lane.heart.one(f"select {', '.join(columns)} from worker where worker_id = %s", [lane.worker.id])


REGISTER = (
    "select def_id, definition, queue from register_worker(%(worker)s, %(hostname)s, %(pid)s, %(version)s, %(slots)s,"
    " %(queues)s::text[], %(definitions)s::text[], %(labels)s::jsonb)"
)
GOOD = {
    "hostname": "here",
    "pid": 7,
    "version": "1.2",
    "slots": 4,
    "queues": ["default"],
    "definitions": ["echo"],
    "labels": '{"zone": "a"}',
}


class TestRegistering:
    def test_answers_the_short_ids_that_claims_carry(self, lane):
        lane.heart.define("mail", queue="mails")
        found = lane.heart.register(uuid4(), definitions=["mail", "echo"])
        assert sorted(found) == sorted(
            [(lane.heart.def_id("mail"), "mail", "mails"), (lane.heart.def_id("echo"), "echo", "default")]
        )

    def test_keeps_what_was_said(self, lane, clock):
        worker = uuid4()
        lane.heart.rows(REGISTER, {"worker": worker, **GOOD})
        found = lane.heart.one(
            "select hostname, pid, version, slots, queue_ids, def_ids, labels, registered_at, seen_at, draining_at,"
            " ended_at from worker where worker_id = %s",
            [worker],
        )
        ids = [lane.heart.queue_id()], [lane.heart.def_id()]
        assert found == ("here", 7, "1.2", 4, *ids, {"zone": "a"}, clock.now(), clock.now(), None, None)

    def test_said_again_replaces_what_was_said(self, lane, clock):
        before = worker_row(lane, "registered_at")
        clock.move(5)
        lane.heart.register(lane.worker.id, definitions=["echo"], slots=99)
        assert worker_row(lane, "slots", "seen_at") == (99, clock.now())
        assert worker_row(lane, "registered_at") == before

    @pytest.mark.parametrize(
        ("wrong", "code", "field"),
        [
            ({"worker": None}, "required", "p_worker"),
            ({"hostname": ""}, "malformed", "p_hostname"),
            ({"hostname": None}, "malformed", "p_hostname"),
            ({"hostname": "x" * 256}, "malformed", "p_hostname"),
            ({"version": ""}, "malformed", "p_version"),
            ({"version": "x" * 101}, "malformed", "p_version"),
            ({"pid": None}, "required", "p_pid"),
            ({"slots": 0}, "out_of_range", "p_slots"),
            ({"slots": 100001}, "out_of_range", "p_slots"),
            ({"slots": None}, "out_of_range", "p_slots"),
            ({"queues": ["nowhere"]}, "unknown", "p_queue"),
            ({"definitions": []}, "required", "p_definitions"),
            ({"definitions": ["nothing"]}, "unknown", "p_definition"),
            ({"labels": "[]"}, "malformed", "p_labels"),
            ({"labels": '{"a": 1}'}, "malformed", "p_labels"),
        ],
        ids=str,
    )
    def test_what_is_none_is_refused(self, lane, refuses, wrong, code, field):
        with refuses(code, field):
            lane.heart.rows(REGISTER, {"worker": uuid4(), **GOOD, **wrong})

    def test_one_that_names_no_queue_serves_those_of_its_definitions(self, lane):
        lane.heart.define("mail", queue="mails")
        lane.heart.rows(REGISTER, {"worker": uuid4(), **GOOD, "queues": [], "definitions": ["echo", "mail"]})
        (served,) = lane.heart.one("select queues from list_workers() where definitions = '{echo,mail}'")
        assert served == ["default", "mails"]

    def test_nobody_s_end_is_refused(self, lane, refuses):
        with refuses("required", "p_worker"):
            lane.heart.rows("select end_worker(null)")

    def test_an_instance_that_has_ended_does_not_come_back(self, lane, refuses):
        lane.worker.end()
        with refuses("conflict", "p_worker"):
            lane.heart.register(lane.worker.id)


class TestLiving:
    def test_a_beat_is_a_sign_of_life_and_answers_whether_to_drain(self, lane, clock):
        clock.move(30)
        assert lane.worker.beat() is False
        assert worker_row(lane, "seen_at") == (clock.now(),)
        lane.heart.drain_worker(lane.worker)
        assert lane.worker.beat() is True

    def test_a_beat_of_an_unknown_or_ended_worker_is_refused(self, lane, refuses):
        with refuses("unknown", "p_worker"):
            lane.heart.beat(uuid4())
        lane.worker.end()
        with refuses("unknown", "p_worker"):
            lane.worker.beat()

    def test_goodbye_said_again_changes_nothing(self, lane, clock):
        lane.worker.end()
        at = clock.now()
        clock.move(5)
        lane.worker.end()
        assert worker_row(lane, "ended_at") == (at,)

    def test_draining_is_asked_once_with_a_reason_and_written_down(self, lane, clock, refuses):
        with refuses("required", "p_reason"):
            lane.heart.rows("select drain_worker(%s, null)", [lane.worker.id])
        with refuses("unknown", "p_worker"):
            lane.heart.drain_worker(uuid4())
        lane.heart.drain_worker(lane.worker, reason="new release")
        at = clock.now()
        clock.move(5)
        lane.heart.drain_worker(lane.worker, reason="again")
        assert worker_row(lane, "draining_at") == (at,)
        found = lane.heart.rows("select target, reason from audit where verb = 'drain' order by id")
        assert found[0] == (str(lane.worker.id), "new release")

    def test_a_draining_worker_keeps_and_ends_what_it_has(self, lane):
        claim = lane.take()
        lane.heart.drain_worker(lane.worker)
        assert lane.heart.extend_one(claim) == 1
        assert lane.heart.complete_one(claim) == 1


class TestHolding:
    def test_a_worker_that_lost_an_answer_asks_what_it_holds(self, lane, clock):
        lane.job()
        lane.job()
        one, two = lane.worker.claim(2)
        assert sorted(lane.worker.held()) == sorted((c.tenant_id, c.job_id, c.attempt) for c in (one, two))
        lane.heart.complete_one(one)
        assert lane.worker.held() == [(two.tenant_id, two.job_id, 1)]
        assert lane.heart.worker().held() == []
        clock.move(LEASE)
        lane.heart.sweep()
        assert lane.worker.held() == []

    def test_it_can_release_what_it_does_not_know(self, lane):
        lane.job()
        lane.worker.claim(1)
        for tenant, job, attempt in lane.worker.held():
            lane.heart.rows(
                "select release(%s, array[%s]::uuid[], array[%s]::uuid[], array[%s])",
                [lane.worker.id, tenant, job, attempt],
            )
        assert len(lane.claimed()) == 1


class TestLists:
    def test_list_workers_says_who_lives_and_how_much_each_holds(self, lane, clock):
        lane.job()
        lane.worker.claim(1)
        lane.job()
        lane.heart.define("mail", queue="mails")
        quiet = lane.heart.worker(["echo"], ["default"])
        clock.move(61)
        lane.worker.beat()
        found = {
            row[0]: row[1:]
            for row in lane.heart.call("list_workers", "worker_id", "is_stale", "leases", "queues", "definitions")
        }
        assert found[lane.worker.id] == (False, 1, ["default"], ["echo"])
        assert found[quiet.id] == (True, 0, ["default"], ["echo"])

    def test_list_definitions_says_how_many_live_workers_can_run_each(self, lane, clock):
        lane.heart.define("nobody")
        lane.heart.worker(["echo"])

        def live():
            return dict(lane.heart.call("list_definitions", "definition", "live_workers"))

        assert live() == {"echo": 2, "nobody": 0}
        lane.worker.end()
        assert live()["echo"] == 1
        clock.move(61)
        assert live()["echo"] == 0


def test_an_operator_s_open_transaction_on_its_row_keeps_no_worker_waiting(database, heart):
    heart.define()
    worker = heart.worker()
    heart.rows("set statement_timeout = '10s'")
    with database.connect(role="admin", autocommit=False) as admin:
        admin.execute("select laneway.drain_worker(%s, 'deploy')", [worker.id])
        assert heart.one("select end_worker(%s)", [worker.id]) == (False,)
        with pytest.raises(psycopg.errors.LockNotAvailable, match="p_worker"):
            heart.register(worker.id)
    assert heart.one("select end_worker(%s)", [worker.id]) == (True,)
    assert heart.one("select end_worker(%s)", [worker.id]) == (True,)
