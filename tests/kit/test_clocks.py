"""The clock of tests: seen at once by everybody, and by the ids as well."""

from datetime import UTC, datetime, timedelta

import psycopg

from kit.clock import EPOCH, Clock
from kit.database import Database
from kit.template import put_test_clock
from language import Heart


def clock_of(conn: psycopg.Connection) -> datetime:
    row = conn.execute("select clock()").fetchone()
    assert row is not None
    return row[0]


def test_it_stands_still_until_it_is_moved(sql: psycopg.Connection, clock: Clock):
    assert clock_of(sql) == clock_of(sql) == clock.now() == EPOCH
    assert clock.move(1.5) == EPOCH + timedelta(seconds=1.5)
    assert clock.move(timedelta(microseconds=-1)) == clock_of(sql) == EPOCH + timedelta(seconds=1.499999)
    clock.set(datetime(2025, 1, 1, tzinfo=UTC))
    assert clock_of(sql) == datetime(2025, 1, 1, tzinfo=UTC)


def test_a_move_is_seen_by_a_transaction_that_has_its_snapshot(database: Database, clock: Clock):
    conn = database.connect(autocommit=False)
    conn.execute("set transaction isolation level repeatable read")
    assert clock_of(conn) == EPOCH
    clock.move(60)
    assert clock_of(conn) == EPOCH + timedelta(seconds=60)


def test_no_rollback_takes_a_move_back(database: Database, clock: Clock):
    conn = database.connect(autocommit=False)
    Clock(conn).move(60)
    conn.rollback()
    assert clock.now() == EPOCH + timedelta(seconds=60)


def test_ids_carry_its_time_and_keep_their_order_while_it_stands(sql: psycopg.Connection, clock: Clock):
    clock.move(86_400)
    rows = sql.execute("select new_id(), id_time(new_id()) from generate_series(1, 5)").fetchall()
    ids = [id_ for id_, _ in rows]
    assert ids == sorted(set(ids))
    assert {id_.version for id_ in ids} == {7}
    assert {at for _, at in rows} == {EPOCH + timedelta(days=1)}


def test_its_days_have_partitions(heart: Heart, clock: Clock):
    heart.define()
    clock.move(86_400)
    heart.job(heart.tenant())
    assert heart.count("job") == 1
    assert heart.count("job_default") == 0


def test_it_can_be_put_again_over_the_products(heart: Heart):
    heart.rows("create or replace function clock() returns timestamptz language sql as 'select clock_timestamp()'")
    assert clock_of(heart.conn) != EPOCH
    put_test_clock(heart.conn)
    assert clock_of(heart.conn) == EPOCH
