"""Sixteen connections at once do whatever they like: no deadlock, no error, and everything drains."""

import os
import threading
from time import monotonic

from crowd import Client, Crowd, resume

from kit.database import Database
from language import Heart

CLIENTS = 16
TENANTS = 4
SECONDS = float(os.environ.get("LANEWAY_CLIENT_SECONDS", "60"))
# per second, of all clients together; less is no crowd
LEAST_VERBS, LEAST_ACCEPTED = 40, 2
DRAINED_IN = 60


def test_sixteen_clients_do_random_verbs_without_a_deadlock_and_everything_drains(database: Database) -> None:
    crowd = gather(database)
    clients = [Client(Heart(database), crowd, place) for place in range(CLIENTS)]
    threads = [threading.Thread(target=client.live) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS + DRAINED_IN)
    assert not crowd.errors, crowd.errors
    assert not any(thread.is_alive() for thread in threads), "a client is stuck"
    drain(clients[0])
    clients[0].heart.verify()
    said = {verb.__name__: crowd.tally[verb.__name__] for verb in clients[0].verbs}
    assert sum(said.values()) > LEAST_VERBS * SECONDS, crowd.tally
    assert crowd.tally["accepted"] > LEAST_ACCEPTED * SECONDS, crowd.tally
    assert all(said.values()), said


def gather(database: Database) -> Crowd:
    heart = Heart(database)
    defs = [
        heart.define("echo", backoff_base_seconds=1, backoff_cap_seconds=5),
        heart.define("mail", timeout_seconds=20),
    ]
    tenants = [heart.tenant(f"tenant-{place}", weight=place + 1) for place in range(TENANTS)]
    return Crowd(
        tenants=tenants,
        workers=[heart.worker().id for _ in range(CLIENTS)],
        lanes=[(tenant, definition) for tenant in sorted(tenants) for definition in defs],
        ends_at=monotonic() + SECONDS,
    )


def drain(client: Client) -> None:
    """Time goes on and one worker does what there is, until no job is queued or running."""
    heart, ends_at = client.heart, monotonic() + DRAINED_IN
    resume(heart, client.crowd.tenants)
    while heart.count("live") + heart.count("later") + heart.count("waiting"):
        assert monotonic() < ends_at, [heart.rows(f"select * from {table}") for table in ("live", "later", "waiting")]
        client.clock.move(61)
        heart.sweep()
        heart.promote()
        heart.expire()
        while claims := heart.claim(client.worker, 1000):
            assert {answer.name for answer in heart.complete(claims)} == {"ACCEPTED"}
    heart.promote()
    assert heart.count("handover") == 0
