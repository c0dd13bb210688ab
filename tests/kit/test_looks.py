"""What tests see: every row of every table, and every difference."""

import pytest

from kit.database import Database
from language import Heart, difference


@pytest.fixture
def heart(sql) -> Heart:
    heart = Heart(sql)
    heart.define()
    return heart


def test_nothing_done_is_no_difference(heart: Heart):
    before = heart.surface()
    assert difference(before, heart.surface()) == {}
    assert {"live", "later", "waiting", "job", "attempt", "audit", "worker", "setting", "tenant"} <= before.keys()
    assert not any(name.startswith("job_2") for name in before)


def test_a_new_row_a_changed_row_and_a_gone_row_are_differences(heart: Heart):
    tenant = heart.tenant()
    job = heart.job(tenant)
    before = heart.surface()
    heart.rows("update live set priority = 7")
    heart.rows("delete from job")
    heart.rows("insert into pass_lock (pass) values ('planted')")
    changed = difference(before, heart.surface())
    assert changed.keys() == {"live", "job", "pass_lock"}
    (gone,), (new,) = changed["live"]
    assert (gone["job_id"], gone["priority"], new["priority"]) == (str(job), 100, 7)
    assert [len(rows) for rows in changed["job"]] == [1, 0]
    assert changed["pass_lock"] == ([], [{"pass": "planted", "reached": None}])


def test_equal_rows_are_counted():
    one = {"queue": [{"name": "a"}]}
    two = {"queue": [{"name": "a"}, {"name": "a"}]}
    assert difference(one, two) == {"queue": ([], [{"name": "a"}])}


def test_phases_tell_queued_jobs_apart(heart: Heart):
    tenant = heart.tenant()
    worker = heart.worker()
    retrying = heart.job(tenant, dedupe_key="k")
    worker.fail_one(worker.claim_one(), retry_in_seconds=60)
    running = heart.job(tenant, dedupe_key="r")
    worker.claim_one()
    waiting = heart.job(tenant, dedupe_key="r", dedupe="requeue")
    scheduled = heart.job(tenant, delay_seconds=60)
    ready = heart.job(tenant)
    jobs = (retrying, running, waiting, scheduled, ready)
    assert [heart.phase(job) for job in jobs] == ["retrying", "running", "waiting", "scheduled", "ready"]
    assert [heart.state(job) for job in jobs] == ["queued", "running", "queued", "queued", "queued"]
    assert heart.phase(tenant) is None
    assert heart.state(tenant) is None


def test_verify_fails_on_a_violation_that_was_planted(database: Database):
    heart = Heart(database)
    heart.define()
    heart.job(heart.tenant())
    heart.worker().claim_one()
    heart.verify()
    heart.rows("insert into later select now(), tenant_id, job_id, queue_id, def_id, 0, 3, 1, 0, false from live")
    with pytest.raises(AssertionError, match="I7"):
        heart.verify()
