"""doorbell.sql: whoever sleeps is rung for, and nobody else: a busy system sends no NOTIFY."""

import psycopg
import pytest
from psycopg import sql as build


@pytest.fixture
def bell(database, heart):
    """A tenant, a worker, and a sleeping connection that hears."""
    heart.define("echo", backoff_base_seconds=1)
    heart.tenant("acme")
    return Bell(database, heart)


class Bell:
    def __init__(self, database, heart):
        self.heart = heart
        self.worker = heart.worker()
        (self.tenant,) = heart.one("select tenant_id from tenant where slug = 'acme'")
        self.sleeper = database.connect(role="worker")
        _, channel, self.message = self.sleeper.execute("select armed, channel, message from arm('default')").fetchone()
        self.sleeper.execute("select disarm('default')")
        self.sleeper.execute(build.SQL("listen {}").format(build.Identifier(channel)))

    def arm(self):
        return self.sleeper.execute("select armed from arm('default')").fetchone()[0]

    def rings(self):
        """What the sleeper hears of all that is committed by now."""
        self.sleeper.execute("select 1")
        return [hint.payload for hint in self.sleeper.notifies(timeout=0)]


def test_a_sleeper_hears_of_a_new_job(bell):
    assert bell.arm() is True
    bell.heart.job(bell.tenant)
    assert bell.rings() == [bell.message]


def test_nobody_asleep_is_rung_for(bell):
    bell.heart.job(bell.tenant)
    bell.arm()
    bell.sleeper.execute("select disarm('default')")
    bell.heart.job(bell.tenant)
    assert bell.rings() == []


def test_a_sleeper_of_another_queue_is_not_woken(bell):
    bell.heart.define("side", queue="side")
    bell.arm()
    bell.heart.job(bell.tenant, "side")
    assert bell.rings() == []


def test_a_rolled_back_enqueue_rings_nobody(bell, database):
    bell.arm()
    conn = database.connect()
    with conn.transaction(force_rollback=True):
        bell.heart.on(conn).enqueue(bell.tenant)
    assert bell.rings() == []


def test_an_option_switches_it_off(bell):
    bell.heart.set_setting(doorbell=False)
    assert bell.arm() is False
    bell.heart.job(bell.tenant)
    assert bell.rings() == []


def test_ringing_leaves_no_lock_behind(bell, database):
    conn = database.connect()
    bell.heart.on(conn).enqueue(bell.tenant)
    bell.heart.on(conn).enqueue_many(bell.tenant, [{}] * 3)
    assert conn.execute("select from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()").fetchall() == []


def test_nobody_but_a_worker_arms_it(database):
    stranger = database.connect(role="tenant")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        stranger.execute("select from arm('default')")


class TestEveryVerbThatMakesAJobClaimable:
    @pytest.fixture
    def running(self, bell):
        bell.heart.job(bell.tenant)
        return bell.worker.claim_one()

    def heard(self, bell, act):
        bell.arm()
        act()
        return bool(bell.rings())

    def test_enqueue_many(self, bell):
        assert self.heard(bell, lambda: bell.heart.enqueue_many(bell.tenant, [{}] * 5))

    def test_enqueue_with_options(self, bell):
        assert self.heard(bell, lambda: bell.heart.enqueue(bell.tenant, dedupe_key="k"))

    def test_release(self, bell, running):
        assert self.heard(bell, lambda: bell.heart.release_one(running))

    def test_a_failure_that_goes_on_at_once(self, bell, running):
        assert self.heard(bell, lambda: bell.heart.fail_one(running, retry_in_seconds=0))

    def test_retry(self, bell, running):
        bell.heart.fail_one(running, permanent=True)
        assert self.heard(bell, lambda: bell.heart.retry_one(bell.tenant, running.job_id))

    def test_run_again(self, bell, running):
        assert self.heard(bell, lambda: bell.heart.run_again(bell.tenant, running.job_id))

    def test_run_now(self, bell):
        job = bell.heart.job(bell.tenant, delay_seconds=60)
        assert self.heard(bell, lambda: bell.heart.run_now_one(bell.tenant, job))

    def test_reschedule_to_now(self, bell):
        job = bell.heart.job(bell.tenant, delay_seconds=60)
        assert self.heard(bell, lambda: bell.heart.reschedule_one(bell.tenant, job, delay_seconds=0))

    def test_promote(self, bell, clock):
        bell.heart.job(bell.tenant, delay_seconds=60)
        clock.move(60)
        assert self.heard(bell, bell.heart.promote)

    @pytest.mark.parametrize("kind", ["queue", "definition", "tenant", "lane", "all_lanes", "suspended", "disabled"])
    def test_the_end_of_a_pause(self, bell, kind):
        heart, tenant = bell.heart, bell.tenant
        hold, let_go = {
            "queue": (heart.pause_queue, heart.resume_queue),
            "definition": (heart.pause_definition, heart.resume_definition),
            "tenant": (lambda: heart.pause_tenant(tenant), lambda: heart.resume_tenant(tenant)),
            "lane": (lambda: heart.pause_lane(tenant), lambda: heart.resume_lane(tenant)),
            "all_lanes": (lambda: heart.pause_lane(tenant, None), lambda: heart.resume_lane(tenant, None)),
            "suspended": (lambda: heart.suspend_tenant(tenant), lambda: heart.unsuspend_tenant(tenant)),
            "disabled": (lambda: heart.override(is_enabled=False), lambda: heart.override(is_enabled=None)),
        }[kind]
        heart.job(tenant)
        hold()
        assert self.heard(bell, let_go)
