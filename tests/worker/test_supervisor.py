"""`laneway worker --processes`: the dead are started again, and all end together."""

import os
import signal

from processes import until


def pids(shop) -> list[int]:
    """Of the workers that have registered and not said goodbye."""
    return [pid for (pid,) in shop.heart.rows("select pid from worker where ended_at is null order by registered_at")]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_so_many_processes_work_and_end_together(shop):
    supervisor = shop.start("--processes", "2")
    until(lambda: len(pids(shop)) == 2, "both register")
    jobs = [shop.enqueue("echo", text=str(n)) for n in range(20)]
    for job in jobs:
        shop.until_ended(job)
    children = pids(shop)
    supervisor.send(signal.SIGTERM)
    assert supervisor.wait() == 0, supervisor.said()
    assert pids(shop) == []
    assert not any(is_alive(pid) for pid in children)


def test_a_process_that_died_is_replaced(shop):
    supervisor = shop.start("--processes", "2")
    until(lambda: len(pids(shop)) == 2, "both register")
    first, second = pids(shop)
    os.kill(first, signal.SIGKILL)
    until(lambda: len(pids(shop)) == 3, "another registers")
    assert "killed by SIGKILL" in supervisor.said()
    assert is_alive(second)
    supervisor.send(signal.SIGTERM)
    assert supervisor.wait() == 0, supervisor.said()


def test_the_children_of_a_supervisor_that_was_killed_stop_in_order(shop):
    supervisor = shop.start("--processes", "2")
    until(lambda: len(pids(shop)) == 2, "both register")
    supervisor.send(signal.SIGKILL)
    until(lambda: pids(shop) == [], "both say goodbye")


def test_what_cannot_work_is_not_tried_for_ever(shop):
    shop.heart.rows("delete from definition where key = 'echo'")
    supervisor = shop.start("--processes", "2")
    assert supervisor.wait() == 3, supervisor.said()
    assert 'laneway: definition: "echo" is not known' in supervisor.said()
