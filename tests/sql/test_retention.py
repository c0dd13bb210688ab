"""retention.sql: partitions are made ahead; one that is missing costs a row in the default and never an enqueue."""

from datetime import timedelta

import pytest

DEFAULTS = ("job_default", "attempt_default", "audit_default")


def make(heart):
    """(how many were made, how many are missing)."""
    return heart.one("select made, missing from make_partitions()")


@pytest.fixture
def days(lane):
    """Partitions of a table by the day on which they begin."""

    def made(table):
        return sorted(
            name.removeprefix(f"{table}_")
            for (name,) in lane.heart.rows(
                "select c.relname::text from pg_inherits i join pg_class c on c.oid = i.inhrelid"
                " where i.inhparent = %s::regclass and pg_get_expr(c.relpartbound, c.oid) <> 'DEFAULT'",
                [table],
            )
        )

    return made


def test_they_are_made_as_many_days_ahead_as_the_settings_say(lane, days):
    lane.heart.set_setting(partitions_ahead=4)
    assert make(lane.heart) == (4, 0)
    assert days("job") == days("attempt") == ["20260101", "20260102", "20260103", "20260104"]
    assert days("audit") == ["20260101", "20260201"]
    assert make(lane.heart) == (0, 0)


def test_they_may_be_longer_than_a_day(lane, days, clock):
    clock.move(timedelta(days=40))
    lane.heart.set_setting(partitions_ahead=3, partition_days=10)
    make(lane.heart)
    new = [day for day in days("job") if day >= "20260110"]
    assert len(new) == 3
    lane.job()
    assert lane.heart.count("job_default") == 0


def test_time_goes_on_and_the_default_stays_empty(lane, clock):
    for _ in range(30):
        clock.move(timedelta(days=1))
        make(lane.heart)
        lane.heart.complete_one(lane.take())
        lane.heart.cancel_one(lane.tenant, lane.job())
    assert [lane.heart.count(table) for table in DEFAULTS] == [0, 0, 0]
    assert lane.heart.count("job") == 60


def test_a_job_goes_in_although_its_partition_is_missing(lane, clock):
    clock.move(timedelta(days=400))
    claim = lane.take()
    lane.heart.complete_one(claim)
    assert lane.heart.count("job_default") == 1
    assert lane.state(claim) == "succeeded"
    assert all(answer.created for answer in lane.heart.enqueue_many(lane.tenant, [{}] * 5))


def test_a_day_whose_rows_lie_in_the_default_is_left_there(lane, clock, days):
    clock.move(timedelta(days=400))
    lane.job()
    make(lane.heart)
    first = clock.now().strftime("%Y%m%d")
    assert first not in days("job")
    assert (clock.now() + timedelta(days=1)).strftime("%Y%m%d") in days("job")
    lane.job()
    assert lane.heart.count("job_default") == 2


def test_a_new_partition_has_the_walls_and_comments_of_its_parent(lane, clock):
    clock.move(timedelta(days=3))
    make(lane.heart)
    rows = lane.heart.rows(
        "select c.relname::text, c.relrowsecurity, c.relacl is null, pg_get_userbyid(c.relowner)::text"
        " from pg_class c where c.relnamespace = 'laneway'::regnamespace and c.relispartition and c.relkind = 'r'"
    )
    assert len(rows) > 6
    owners = {owner for name, is_walled, is_private, owner in rows if is_walled and is_private}
    assert [name for name, is_walled, is_private, _ in rows if not (is_walled and is_private)] == []
    assert owners == {"laneway_owner"}


def test_a_day_s_jobs_lie_in_the_day_s_partition(lane, clock):
    for day in ("20260101", "20260102"):
        job = lane.job()
        assert lane.heart.rows(f"select id from job_{day} where id = %s", [job]) == [(job,)]
        clock.move(timedelta(days=1))


def test_one_session_makes_them_at_a_time(database, heart):
    """The second finds the pass taken and has nothing to do."""
    heart.set_setting(partitions_ahead=4)
    with database.connect(autocommit=False) as holder:
        holder.execute("select from pass_lock where pass = 'partitions' for update")
        heart.rows("set statement_timeout = '10s'")
        assert make(heart) == (0, 0)
    assert make(heart)[0] > 0


def test_a_reader_that_stays_open_stops_neither_the_pass_nor_a_claim(database, heart, clock):
    """An exclusive lock that waits would stand in the way of everybody behind it."""
    heart.define()
    tenant = heart.tenant()
    job = heart.job(tenant)
    worker = heart.worker()
    clock.move(timedelta(days=1))
    with database.connect(autocommit=False) as reader:
        reader.execute("select count(*) from job")
        heart.rows("set statement_timeout = '10s'")
        assert make(heart)[1] > 0, "said, and made by a later pass"
        assert [claim.job_id for claim in worker.claim(1)] == [job]
    make(heart)
    assert heart.count("job_default") == 0
