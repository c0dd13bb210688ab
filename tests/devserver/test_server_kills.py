"""Kill -9 of the parent, of the server, of both, of initdb; stale files. Each time the next start is clean."""

import os
import signal
import subprocess
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from server_holders import ask, eventually, is_alive, processes_under

BUSY = "select count(*) from generate_series(1, 100000000000) a where a % 3 = 5"


def kill_server(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: not is_alive(pid))


@pytest.mark.usefixtures("identity")
def test_kill_9_of_the_parent_is_a_clean_fast_shutdown_of_the_server(hold, data_dir):
    holder = hold(data_dir=data_dir, durable=True)
    server = holder.started()
    with psycopg.connect(server["dsn"], autocommit=True) as connection:
        connection.execute("create table kept as select 7 as n")
        holder.kill()
        eventually(lambda: not is_alive(server["pid"]))
    eventually(lambda: not processes_under(data_dir))
    log = (data_dir / "server.log").read_text()
    assert "received fast shutdown request" in log
    assert "database system is shut down" in log
    assert not (data_dir / "postmaster.pid").exists()
    assert ask(hold(data_dir=data_dir).started()["dsn"], "select n from kept") == 7
    assert "not properly shut down" not in (data_dir / "server.log").read_text()


def test_a_start_at_the_very_moment_of_the_parents_death_waits_for_the_old_server(hold, data_dir):
    holder = hold(data_dir=data_dir)
    first = holder.started()
    holder.process.send_signal(signal.SIGKILL)
    second = hold(data_dir=data_dir).started()
    assert (second["joined"], second["pid"] != first["pid"]) == (False, True)


def test_a_server_that_outlived_its_owner_is_stopped_by_the_next_start(hold, data_dir):
    holder = hold(data_dir=data_dir)
    first = holder.started()
    # Stopped, it keeps the parent-death signal for later: as where there is no such signal.
    os.kill(first["pid"], signal.SIGSTOP)
    holder.kill()
    next_holder = hold(data_dir=data_dir)
    os.kill(first["pid"], signal.SIGCONT)
    second = next_holder.started()
    assert not is_alive(first["pid"])
    assert second["joined"] is False


@pytest.mark.usefixtures("identity")
def test_kill_9_of_the_server_leaves_its_owner_able_to_stop_and_the_data_whole(hold, data_dir):
    holder = hold(data_dir=data_dir, durable=True)
    server = holder.started()
    ask(server["dsn"], "create table kept as select 7 as n")
    kill_server(server["pid"])
    assert (data_dir / "postmaster.pid").exists()
    holder.stop()
    assert processes_under(data_dir) == []
    again = hold(data_dir=data_dir).started()
    assert ask(again["dsn"], "select n from kept") == 7
    assert "not properly shut down" in (data_dir / "server.log").read_text()


@pytest.mark.usefixtures("identity")
def test_kill_9_of_both_with_a_query_still_computing_is_cleared_by_the_next_start(hold, data_dir):
    holder = hold(data_dir=data_dir)
    server = holder.started()
    with closing(psycopg.connect(server["dsn"], autocommit=True)) as connection:
        backend = connection.info.backend_pid
        connection.pgconn.send_query(BUSY.encode())
        eventually(lambda: ask(server["dsn"], f"select state = 'active' from pg_stat_activity where pid = {backend}"))
        os.kill(server["pid"], signal.SIGKILL)
        holder.kill()
        assert is_alive(backend)
        assert ask(hold(data_dir=data_dir).started()["dsn"], "select 1") == 1
        assert not is_alive(backend)


def of_owner(data_dir: Path) -> dict:
    """A process of the server's user: of other users' processes PostgreSQL knows that they are no server of its."""
    return {"user": data_dir.stat().st_uid} if os.geteuid() == 0 else {}


@pytest.mark.usefixtures("identity")
def test_a_stale_pid_file_whose_number_another_program_has_now_is_no_hindrance(hold, data_dir):
    holder = hold(data_dir=data_dir)
    server = holder.started()
    os.kill(server["pid"], signal.SIGKILL)
    holder.kill()
    eventually(lambda: not processes_under(data_dir))
    assert [*data_dir.glob(".s.PGSQL.*")]
    with subprocess.Popen(["/bin/sleep", "60"], **of_owner(data_dir)) as other:
        for stale in (data_dir / "postmaster.pid", data_dir / ".s.PGSQL.5432.lock"):
            stale.write_text(stale.read_text().replace(str(server["pid"]), str(other.pid), 1))
        again = hold(data_dir=data_dir).started()
        assert other.poll() is None
        other.kill()
    assert ask(again["dsn"], "select 1") == 1


@pytest.mark.usefixtures("identity")
def test_kill_9_amid_initdb_leaves_nothing_that_the_next_start_takes_for_data(hold, new_dir):
    holder = hold(data_dir=new_dir)
    eventually(Path(f"{new_dir}.new").exists)
    holder.kill()
    assert not new_dir.exists()
    assert ask(hold(data_dir=new_dir).started()["dsn"], "select 1") == 1
    assert not Path(f"{new_dir}.new").exists()


@pytest.mark.usefixtures("identity")
def test_two_on_one_folder_at_once_are_one_owner_and_one_guest(hold, new_dir):
    holders = [hold(data_dir=new_dir), hold(data_dir=new_dir)]
    servers = [holder.started() for holder in holders]
    assert sorted(server["joined"] for server in servers) == [False, True]
    assert servers[0]["dsn"] == servers[1]["dsn"]
    assert servers[0]["pid"] == servers[1]["pid"]


def test_a_guest_that_stops_leaves_the_server_and_the_owner_ends_it(hold, data_dir):
    owner = hold(data_dir=data_dir)
    server = owner.started()
    guest = hold(data_dir=data_dir)
    assert guest.started()["joined"] is True
    guest.stop()
    assert ask(server["dsn"], "select 1") == 1
    owner.stop()
    assert not is_alive(server["pid"])


def test_after_the_owner_was_killed_the_next_start_owns_though_a_guest_lives(hold, data_dir):
    owner, guest = hold(data_dir=data_dir), None
    first = owner.started()
    guest = hold(data_dir=data_dir)
    assert guest.started()["pid"] == first["pid"]
    owner.kill()
    second = hold(data_dir=data_dir).started()
    assert second["joined"] is False
    assert ask(second["dsn"], "select 1") == 1
    guest.stop()
    assert is_alive(second["pid"])
