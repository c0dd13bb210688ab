"""The worker as its operator meets it: a process that is started, stopped, killed and paused."""

import signal

import pytest
from processes import until

LEASE = 5


def begun(pipe, attempt=1):
    return f"{pipe}.{attempt}.begun"


def test_jobs_are_run_and_their_results_kept(shop):
    jobs = [shop.enqueue("echo", text=str(n)) for n in range(50)]
    shop.start()
    for n, job in enumerate(jobs):
        shop.until_ended(job)
        assert (shop.state(job), shop.result(job), shop.outcomes(job)) == ("succeeded", str(n), ["succeeded"])


def test_what_is_enqueued_while_it_sleeps_is_run(shop):
    shop.start()
    for text in ("one", "two", "three"):
        job = shop.enqueue("echo", text=text)
        shop.until_ended(job)
        assert shop.result(job) == text


def test_a_worker_killed_in_a_handler_costs_an_attempt_and_the_job_runs_elsewhere(shop, clock, pipe):
    job = shop.enqueue("wait-for", pipe=str(pipe("gate")))
    first = shop.start()
    shop.until_there(begun(shop.folder / "gate"))
    first.kill()
    clock.move(LEASE + 1)
    shop.heart.sweep()
    clock.move(5)
    shop.start()
    shop.until_there(begun(shop.folder / "gate", 2))
    (shop.folder / "gate").write_text("done")
    shop.until_ended(job)
    assert (shop.state(job), shop.outcomes(job), shop.result(job)) == ("succeeded", ["lost", "succeeded"], "done")


def test_a_handler_that_kills_its_worker_ends_in_dead_letter(shop, clock):
    job = shop.enqueue("die")
    for _ in range(3):
        assert shop.start().wait() == -signal.SIGKILL
        clock.move(LEASE + 1)
        shop.heart.sweep()
        clock.move(5)
    assert (shop.state(job), shop.outcomes(job)) == ("dead_letter", ["lost", "lost", "lost"])


def test_the_late_word_of_a_worker_that_was_paused_longer_than_its_lease_changes_nothing(shop, clock, pipe):
    job = shop.enqueue("wait-for", pipe=str(pipe("gate")))
    paused = shop.start()
    shop.until_there(begun(shop.folder / "gate"))
    paused.send(signal.SIGSTOP)
    clock.move(LEASE + 1)
    shop.heart.sweep()
    clock.move(5)
    shop.start()
    shop.until_there(begun(shop.folder / "gate", 2))
    # both handlers read the same pipe: what the paused one would report is what the other one says
    paused.send(signal.SIGCONT)
    until(lambda: "is stopped" in paused.said(), "the paused worker learns that the job is not its own")
    (shop.folder / "gate").write_text("done")
    shop.until_ended(job)
    assert (shop.state(job), shop.outcomes(job)) == ("succeeded", ["lost", "succeeded"])


def test_told_to_stop_it_lets_its_handlers_end_and_loses_nothing(shop, pipe):
    running = shop.enqueue("wait-for", pipe=str(pipe("gate")))
    worker = shop.start("-c", "1")
    shop.until_there(begun(shop.folder / "gate"))
    waiting = shop.enqueue("echo", text="later")
    worker.send(signal.SIGTERM)
    (shop.folder / "gate").write_text("done")
    assert worker.wait() == 0, worker.said()
    assert (shop.state(running), shop.result(running)) == ("succeeded", "done")
    assert (shop.state(waiting), shop.outcomes(waiting)) in [("queued", []), ("queued", ["released"])]
    assert all(ended_at is not None for _, ended_at in shop.registered())


def test_told_twice_it_stops_its_handlers_and_hands_their_jobs_back(shop):
    job = shop.enqueue("wait-for-a-cancel", begun=str(shop.folder / "begun"))
    worker = shop.start()
    shop.until_there(shop.folder / "begun")
    worker.send(signal.SIGTERM)
    until(lambda: "stopping" in worker.said(), "the first signal is heard: two that wait are one")
    worker.send(signal.SIGTERM)
    assert worker.wait() == 0, worker.said()
    assert (shop.state(job), shop.outcomes(job)) == ("queued", ["released"])
    assert shop.heart.one("select max_attempts from live where job_id = %s", [job]) == (3,), "the attempt is refunded"


def test_a_cancel_reaches_the_handler(shop):
    job = shop.enqueue("wait-for-a-cancel", begun=str(shop.folder / "begun"))
    shop.start()
    shop.until_there(shop.folder / "begun")
    shop.heart.cancel_one(shop.tenant, job)
    shop.until_ended(job)
    assert (shop.state(job), shop.outcomes(job)) == ("canceled", ["canceled"])


def test_a_cancel_reaches_a_handler_in_a_thread_that_asks_for_it(shop):
    job = shop.enqueue("look-for-a-cancel", begun=str(shop.folder / "begun"))
    shop.start()
    shop.until_there(shop.folder / "begun")
    shop.heart.cancel_one(shop.tenant, job)
    shop.until_ended(job)
    assert (shop.state(job), shop.outcomes(job)) == ("canceled", ["canceled"])


def test_a_handler_whose_time_is_over_is_stopped(shop):
    job = shop.enqueue("wait-for-ever", begun=str(shop.folder / "begun"))
    shop.start()
    shop.until_ended(job)
    assert (shop.state(job), shop.outcomes(job)) == ("dead_letter", ["timeout"])


@pytest.mark.parametrize("count", [1, 5])
def test_connections_that_are_cut_are_opened_again_and_nothing_is_lost(shop, count):
    shop.start("-c", "10")
    jobs = []
    for n in range(count):
        jobs += [shop.enqueue("echo", text=str(n)) for _ in range(20)]
        shop.heart.rows(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and application_name like 'laneway %%' and pid <> pg_backend_pid()"
        )
    for job in jobs:
        shop.until_ended(job)
    assert {shop.state(job) for job in jobs} == {"succeeded"}
    # a claim whose answer was cut off is handed back at once: no attempt waits out its lease
    assert {outcome for job in jobs for outcome in shop.outcomes(job)} <= {"succeeded", "released"}


def test_a_worker_without_its_definitions_says_what_to_do(shop):
    shop.heart.rows("delete from definition where key = 'echo'")
    worker = shop.start()
    assert worker.wait() == 3
    assert 'laneway: definition: "echo" is not known' in worker.said()
