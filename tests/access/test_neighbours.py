"""What one tenant's session can do to the work of the others by holding things: locks, rows, the queue of NOTIFY."""

from collections.abc import Iterator
from uuid import UUID, uuid4

import psycopg
import pytest
from seeded_world import World

from kit.database import Clones
from kit.signing import sign
from kit.template import NAMED
from laneway.devserver import DevServer, ServerOptions

PATIENCE = "set statement_timeout = '10s'"


def enqueue(world: World, *, role: str = "app") -> UUID:
    answer = world.ask(
        role,
        "select job_id from laneway.enqueue(%(tenant)s, 'echo')",
        {"tenant": world.mine.tenant_id},
        token=sign(world.mine.tenant_id),
        keep=True,
    )
    assert not answer.error
    (row,) = answer.rows
    assert isinstance(row[0], UUID)
    return row[0]


@pytest.fixture
def channel(own_world: World) -> str:
    armed = own_world.ask("worker", "select channel from laneway.arm('default')", {}, keep=True)
    (row,) = armed.rows
    return str(row[0])


def test_advisory_lock_held(own_world: World):
    """A stranger that holds every key of the doorbell costs a hint, never a job."""
    stranger = own_world.database.connect(role="tenant")
    install = own_world.owner.execute("select 'live'::regclass::oid::bigint::bit(32)::integer").fetchone()
    assert install is not None
    for queue in range(1, 20):
        stranger.execute("select pg_advisory_lock(%s, %s)", [install[0], queue])
    before = own_world.owner.execute("select count(*) from live where state = 0").fetchone()
    own_world.logins["app"].execute(PATIENCE)
    own_world.logins["app"].commit()
    enqueue(own_world)
    after = own_world.owner.execute("select count(*) from live where state = 0").fetchone()
    assert before is not None
    assert after == (before[0] + 1,)
    armed = own_world.ask("worker", "select armed from laneway.arm('default')", {})
    assert armed.rows == ((False,),), "who is not armed polls: it does not wait"
    for statement in ("select from laneway.sweep()", "select from laneway.promote()", "select laneway.expire()"):
        assert not own_world.ask("worker", statement, {}).error


def test_notify_spoof(own_world: World, channel: str):
    """Any login may send on any channel: whoever listens polls once more, and nothing else happens."""
    listener = own_world.database.connect(role="worker")
    listener.execute(psycopg.sql.SQL("listen {}").format(psycopg.sql.Identifier(channel)))
    before = own_world.checksum()
    spoofer = own_world.database.connect(role="tenant")
    for payload in ("1", "", "999999", "'; drop table laneway.job; --", "x" * 7000):
        spoofer.execute("select pg_notify(%s, %s)", [channel, payload])
    heard = list(listener.notifies(timeout=10, stop_after=5))
    assert len(heard) == 5
    assert own_world.checksum() == before


def test_a_hint_says_no_more_than_a_number(own_world: World, channel: str):
    """No tenant, no job, no definition: every login can listen."""
    listener = own_world.database.connect(role="tenant")
    listener.execute(psycopg.sql.SQL("listen {}").format(psycopg.sql.Identifier(channel)))
    enqueue(own_world)
    (hint,) = listener.notifies(timeout=10, stop_after=1)
    assert hint.payload.removeprefix("-").isdecimal()
    own_world.ask("worker", "select laneway.disarm('default')", {}, keep=True)


def test_row_held_by_tenant(own_world: World):
    """`row_held_by_tenant`: a tenant's open transaction on its own job delays no report and no lease of another."""
    world = own_world
    holder = world.database.connect(role="app", autocommit=False)
    holder.execute("select laneway.enter(%s)", [sign(world.mine.tenant_id)])
    answer = holder.execute(
        "select answer from laneway.cancel(%s, array[%s]::uuid[])", [world.mine.tenant_id, world.mine.jobs["running"]]
    ).fetchall()
    assert answer == [("requested",)]
    both = {
        "worker": world.worker,
        "tenants": [world.mine.tenant_id, world.theirs.tenant_id],
        "jobs": [world.mine.jobs["running"], world.theirs.jobs["running"]],
    }
    world.logins["worker"].execute(PATIENCE)
    world.logins["worker"].commit()
    call = "select laneway.{}(%(worker)s, %(tenants)s::uuid[], %(jobs)s::uuid[], array[1, 1])"
    assert world.ask("worker", call.format("extend"), both, keep=True).rows == (([3, 1],),)
    assert world.ask("worker", call.format("complete"), both, keep=True).rows == (([3, 1],),)
    for statement in ("select from laneway.sweep()", "select from laneway.promote()", "select laneway.expire()"):
        assert not world.ask("worker", statement, {}, keep=True).error
    holder.rollback()
    assert world.ask("worker", call.format("complete"), both, keep=True).rows == (([1, 2],),)


@pytest.fixture
def narrow_world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """On a server whose queue of NOTIFY is small enough to be filled; it has no template of other servers."""
    monkeypatch.delenv(NAMED, raising=False)
    options = ServerOptions(
        durable=False, ephemeral=True, settings={"max_notify_queue_pages": "64", "max_connections": "50"}
    )
    with DevServer(options) as server, psycopg.connect(server.dsn(), autocommit=True) as conn:
        clones = Clones(conn, server.dsn())
        database = clones.make()
        yield World(database)
        clones.drop(database)
        clones.close()


def fill_notify_queue(world: World) -> psycopg.Connection:
    """A listener that stays in its transaction keeps all that is sent after it; others then send until no more fits."""
    listener = world.database.connect(autocommit=False)
    listener.execute("listen somewhere")
    listener.commit()
    listener.execute("select 1")
    sender = world.database.connect(role="tenant")
    try:
        for _ in range(1000):
            sender.execute("select pg_notify('somewhere', repeat('x', 7900) || n::text) from generate_series(1, 20) n")
    except psycopg.errors.ProgramLimitExceeded:
        return listener
    raise AssertionError("the queue of NOTIFY took everything: nothing would be proved")


def test_notify_queue_full(narrow_world: World):
    """An enqueue commits all the same: the hint is left out, the sleeping worker polls."""
    armed = narrow_world.ask("worker", "select armed from laneway.arm('default')", {}, keep=True)
    assert armed.rows == ((True,),)
    listener = fill_notify_queue(narrow_world)
    with pytest.raises(psycopg.errors.ProgramLimitExceeded):
        narrow_world.database.connect().execute("notify somewhere, 'a plain one fails at its commit'")
    job = enqueue(narrow_world)
    found = narrow_world.owner.execute("select count(*) from live where job_id = %s", [job]).fetchone()
    assert found == (1,)
    listener.rollback()


def test_a_worker_that_knows_an_id_owns_nothing_by_it(world: World):
    """The pair (attempt, instance) is the fence: another instance's words are stale, whatever tenant it names."""
    before = world.checksum()
    for verb, options in (
        ("complete", ""),
        ("fail", ""),
        ("release", ""),
        ("cancel_attempt", ""),
        ("extend", ""),
        ("snooze", ", array[1]::float8[]"),
    ):
        answer = world.ask(
            "worker",
            f"select laneway.{verb}(%(other)s, array[%(tenant)s]::uuid[], array[%(running)s]::uuid[],"
            f" array[1]{options})",
            {**world.names(world.mine.tenant_id, world.mine), "other": uuid4()},
            keep=True,
        )
        assert answer.rows == (([0],),), verb
    assert world.checksum() == before
