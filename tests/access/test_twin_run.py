"""I19, the twin run: one script of a tenant beside nobody and beside a busy neighbour. Its answers are the same."""

from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import count
from uuid import UUID

import psycopg
import pytest

from kit.clock import Clock
from kit.database import Clones, Database
from kit.signing import sign
from language import Heart, Worker

READS = (
    "select * from list_jobs(%(t)s)",
    "select * from list_jobs(%(t)s, 'dead_letter')",
    "select * from list_jobs(%(t)s, p_limit => 2)",
    "select * from count_jobs(%(t)s)",
    "select * from list_audit(%(t)s)",
    "select * from list_queues()",
    "select * from list_definitions()",
    "select * from get_job(%(t)s, %(job)s)",
    "select * from list_attempts(%(t)s, %(job)s)",
    "select * from get_job(%(t)s, gen_random_uuid())",
    *(
        f"select * from {table} order by 1, 2, 3"
        for table in ("job", "live", "later", "waiting", "attempt", "audit", "tenant")
    ),
)

Noise = Callable[[int], None]


def nobody(_: int) -> None:
    pass


def busy(heart: Heart, worker: Worker) -> Noise:
    """Another tenant does something of every kind between any two steps."""
    other = heart.tenant("other", weight=7)
    definition = heart.def_id()

    def noise(step: int) -> None:
        jobs = heart.enqueue_many(other, [{"dedupe_key": f"k{n}", "dedupe": "replace"} for n in range(5)])
        heart.job(other, delay_seconds=60)
        claims = heart.claim_tenant(worker, other, [definition], 4)
        if claims:
            heart.complete(claims[:1])
            heart.fail(claims[1:2], permanent=[True] * len(claims[1:2]))
        heart.cancel_one(other, jobs[step % 5].job_id)
        heart.promote()

    return noise


def own_rows(database: Database, tenant: UUID, job: UUID) -> Iterator[object]:
    """All that the tenant can ask for, through its own application's login."""
    for read in READS:
        with database.connect(role="app", autocommit=False) as conn:
            conn.execute("set local search_path = laneway, pg_temp")
            conn.execute("select enter(%s)", [sign(tenant)])
            try:
                yield read, conn.execute(read, {"t": tenant, "job": job}).fetchall()
            except psycopg.Error as error:
                yield read, error.sqlstate, error.diag.message_primary, error.diag.message_hint


def run(database: Database, *, is_beside_somebody: bool) -> list[object]:
    """The script, with what it is answered at every step."""
    heart = Heart(database)
    clock = Clock(heart.conn)
    heart.define()
    tenant, worker = heart.tenant("acme", id=UUID(int=5)), heart.worker(slots=100)
    noise = busy(heart, worker) if is_beside_somebody else nobody
    said: list[object] = []

    def say(answer: object) -> None:
        said.append(answer)
        noise(len(said))

    noise(0)
    first = heart.enqueue(tenant, dedupe_key="k1", idempotency_key="i")
    say(first)
    say(
        heart.enqueue_many(
            tenant, [{"dedupe_key": "k1"}, {"dedupe_key": "k2"}, {"priority": 5000}, {"delay_seconds": 5}]
        )
    )
    say(heart.claim_tenant(worker, tenant, [heart.def_id()], 2))
    say(heart.enqueue(tenant, dedupe_key="k1", dedupe="requeue"))
    say(heart.cancel_one(tenant, first.job_id))
    say(heart.pause_lane(tenant))
    say(heart.claim_tenant(worker, tenant, [heart.def_id()], 2))
    say(heart.resume_lane(tenant))
    held = [claim for claim in worker.held() if claim[0] == tenant]
    say(sorted(number for _, _, number in held))
    clock.move(7200)
    say(heart.sweep(10_000).failed)
    heart.promote()
    clock.move(5)
    heart.promote()
    say(heart.retry_one(tenant, first.job_id))
    said += own_rows(database, tenant, first.job_id)
    return said


def canonical(said: list[object]) -> str:
    """Ids and instants by the order in which they first appear."""
    names: dict[str, str] = {}
    numbers = count()

    def name(value: object) -> object:
        match value:
            case UUID() | datetime():
                return names.setdefault(str(value), f"<{next(numbers)}>")
            case str():
                return " ".join(names.get(word, word) for word in value.split())
            case dict():
                return {key: name(item) for key, item in value.items()}
            case list() | tuple():
                return [name(item) for item in value]
            case _ if hasattr(value, "__slots__"):
                return [name(getattr(value, slot)) for slot in value.__slots__]
            case _:
                return value

    return "\n".join(repr(name(answer)) for answer in said)


@pytest.mark.covers("I19")
def test_what_a_tenant_is_answered_does_not_depend_on_its_neighbour(clones: Clones):
    with clones.lent() as alone, clones.lent() as beside:
        assert canonical(run(beside, is_beside_somebody=True)) == canonical(run(alone, is_beside_somebody=False))


def test_a_hole_in_the_wall_is_seen(clones: Clones):
    with clones.lent() as alone, clones.lent() as beside:
        with beside.connect() as conn:
            conn.execute("create policy hole on laneway.attempt for select to laneway_app using (true)")
        assert canonical(run(beside, is_beside_somebody=True)) != canonical(run(alone, is_beside_somebody=False))
