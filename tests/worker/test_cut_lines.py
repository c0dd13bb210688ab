"""The line between worker and database is cut, stalled, or loses answers: nothing is lost, nobody is run twice."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import until

from kit.proxy import Proxy, proxied

LEASE = 5


@pytest.fixture
def proxy(shop) -> Iterator[Proxy]:
    """Workers of the shop go through it."""
    # a socket's path has room for a hundred characters
    with (
        tempfile.TemporaryDirectory(prefix="lw") as folder,
        proxied(shop.database.dsn("worker"), Path(folder)) as (proxy, dsn),
    ):
        shop.worker_dsn = dsn
        yield proxy
        for worker in shop.workers:
            worker.kill()


def test_jobs_of_a_claim_whose_answer_was_lost_are_handed_back_and_run(shop, proxy):
    shop.start()
    proxy.lose_from = b"a text like no other"
    jobs = [shop.enqueue("echo", text=f"a text like no other {n}") for n in range(3)]
    until(lambda: proxy.lost, "a claim is made whose answer nobody hears")
    proxy.cut()
    for n, job in enumerate(jobs):
        shop.until_ended(job)
        assert (shop.state(job), shop.result(job)) == ("succeeded", f"a text like no other {n}")
    assert ["released", "succeeded"] in [shop.outcomes(job) for job in jobs]
    assert not any("lost" in shop.outcomes(job) for job in jobs)


def test_an_outcome_whose_answer_was_lost_is_said_again_and_counted_once(shop, proxy, pipe):
    job = shop.enqueue("wait-for", pipe=str(pipe("gate")))
    worker = shop.start()
    shop.until_there(f"{shop.folder / 'gate'}.1.begun")
    proxy.lose_from = b"a text like no other"
    (shop.folder / "gate").write_text("a text like no other")
    shop.until_ended(job)
    proxy.cut()
    after = shop.enqueue("echo", text="after")
    shop.until_ended(after)
    assert (shop.state(job), shop.outcomes(job), shop.result(job)) == (
        "succeeded",
        ["succeeded"],
        "a text like no other",
    )
    assert "not ours any more" not in worker.said(), "its repeated word is a duplicate, not stale"


def test_on_a_line_that_stalls_for_longer_than_a_lease_the_worker_fences_itself(shop, proxy, clock, pipe):
    job = shop.enqueue("wait-for", pipe=str(pipe("gate")))
    worker = shop.start()
    shop.until_there(f"{shop.folder / 'gate'}.1.begun")
    proxy.stall()
    until(lambda: "was not extended in time" in worker.said(), "the worker fences itself, told by nobody")
    clock.move(LEASE + 1)
    shop.heart.sweep()
    (shop.folder / "gate").write_text("too late")
    proxy.cut()
    clock.move(5)
    shop.until_there(f"{shop.folder / 'gate'}.2.begun")
    (shop.folder / "gate").write_text("done")
    shop.until_ended(job)
    assert (shop.outcomes(job), shop.result(job)) == (["lost", "succeeded"], "done")


def test_a_line_that_stalls_for_a_moment_costs_nothing(shop, proxy):
    shop.start()
    proxy.stall()
    job = shop.enqueue("echo", text="a")
    proxy.reopen()
    shop.until_ended(job)
    assert shop.outcomes(job) == ["succeeded"]
