"""The life of one server: made, started, used, stopped, with nothing left over. As root and as an ordinary user."""

import os
import socket
import stat
from pathlib import Path

import psycopg
import pytest
from server_holders import ask, eventually, is_alive, processes_under


def shared_memory_of(pid: int) -> list[Path]:
    maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return [Path(line.split()[5]) for line in maps if "/PostgreSQL." in line]


def segments() -> set[str]:
    return {line.split()[1] for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]}


def segment_of(data_dir: Path) -> str:
    return (data_dir / "postmaster.pid").read_text().splitlines()[6].split()[1]


@pytest.mark.covers("R5")
def test_a_server_runs_on_new_data_and_only_its_password_opens_it(hold, new_dir, identity):
    server = hold(data_dir=new_dir).started()
    assert ask(server["dsn"], "select current_user") == "postgres"
    assert ask(server["dsn"], "show server_version_num").startswith(str(server["major_version"]))
    password_file = Path(f"{new_dir}.password")
    found = password_file.stat()
    assert (stat.S_IMODE(found.st_mode), found.st_uid) == (0o600, identity.uid)
    for secret in ("", "wrong"):
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(server["dsn"], password=secret)


@pytest.mark.usefixtures("identity")
def test_it_is_durable_with_checksums_and_on_its_socket_alone_by_default(hold, data_dir):
    server = hold(data_dir=data_dir, durable=True).started()
    shown = {
        name: ask(server["dsn"], f"show {name}")
        for name in ("fsync", "synchronous_commit", "full_page_writes", "autovacuum", "data_checksums")
    }
    assert set(shown.values()) == {"on"}
    assert (server["port"], ask(server["dsn"], "show listen_addresses")) == (None, "")
    assert stat.S_IMODE(Path(server["socket_dir"]).stat().st_mode) == 0o700
    assert ask(server["dsn"], "show server_encoding") == "UTF8"
    assert ask(server["dsn"], "select 'B' < 'a' and upper('é') = 'É'") is True


def test_a_server_for_logic_alone_is_not_durable_and_takes_further_settings(hold, data_dir):
    server = hold(data_dir=data_dir, durable=False, settings={"work_mem": "7MB", "laneway.word": "a b"}).started()
    assert ask(server["dsn"], "show fsync") == "off"
    assert ask(server["dsn"], "show work_mem") == "7MB"
    assert ask(server["dsn"], "show laneway.word") == "a b"


@pytest.mark.usefixtures("identity")
def test_a_clean_stop_leaves_no_process_no_socket_and_no_shared_memory(hold, data_dir):
    holder = hold(data_dir=data_dir)
    server = holder.started()
    memory, segment = shared_memory_of(server["pid"]), segment_of(data_dir)
    assert memory
    assert segment in segments()
    holder.stop()
    assert not is_alive(server["pid"])
    assert processes_under(data_dir) == []
    assert not [path for path in memory if path.exists()]
    assert segment not in segments()
    assert not [*data_dir.glob(".s.PGSQL*"), *data_dir.glob("postmaster.pid")]


def test_the_data_is_there_at_the_next_start(hold, data_dir):
    first = hold(data_dir=data_dir)
    server = first.started()
    ask(server["dsn"], "create table kept as select 7 as n")
    first.stop()
    again = hold(data_dir=data_dir).started()
    assert ask(again["dsn"], "select n from kept") == 7
    assert again["dsn"] == server["dsn"]


def test_control_c_at_the_terminal_does_not_reach_the_server(hold, data_dir):
    holder = hold(data_dir=data_dir)
    assert os.getpgid(holder.started()["pid"]) != os.getpgid(holder.process.pid)


@pytest.mark.usefixtures("identity")
def test_a_path_too_long_for_a_socket_gets_a_short_closed_folder_that_goes_with_the_server(hold, new_dir):
    deep = new_dir.parent / ("d" * 60) / ("e" * 60) / "data"
    holder = hold(data_dir=deep)
    server = holder.started()
    sockets = Path(server["socket_dir"])
    found = sockets.stat()
    assert len(str(sockets / ".s.PGSQL.65535")) <= 103
    assert stat.S_IMODE(found.st_mode) == 0o700
    assert ask(server["dsn"], "select 1") == 1
    holder.kill()
    eventually(lambda: not is_alive(server["pid"]))
    again = hold(data_dir=deep)
    assert again.started()["socket_dir"] == str(sockets)
    again.stop()
    assert not sockets.exists()


def test_what_postgresql_finds_in_the_environment_leads_it_nowhere_else(hold, data_dir):
    strange = {"PGDATA": "/nowhere", "PGPORT": "1", "PGHOSTADDR": "127.0.0.9", "LC_ALL": "xx_XX"}
    server = hold(data_dir=data_dir, environment=strange).started()
    assert ask(server["dsn"], "show data_directory") == str(data_dir)


def test_port_zero_takes_a_free_port_on_localhost(hold, data_dir):
    server = hold(data_dir=data_dir, port=0).started()
    assert ask(server["dsn"], "show listen_addresses") == "127.0.0.1"
    by_tcp = psycopg.conninfo.make_conninfo(server["dsn"], host="127.0.0.1", port=server["port"])
    assert ask(by_tcp, "select 1") == 1
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(by_tcp, password="wrong")


def test_a_port_that_somebody_has_is_refused_with_the_ways_out(hold, data_dir):
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        said = hold(data_dir=data_dir, port=taken).refused()
    assert f"PortTakenError: port: 127.0.0.1:{taken} cannot be listened on (Address already in use)" in said
    assert "0 for any free one" in said
    server = hold(data_dir=data_dir, port=taken).started()
    assert server["port"] == taken


def test_what_keeps_it_from_starting_is_shown_from_the_end_of_its_log(hold, data_dir):
    said = hold(data_dir=data_dir, settings={"shared_buffers": "plenty"}).refused()
    assert "ServerDidNotStartError" in said
    assert "ended with exit code 1 instead of taking connections" in said
    assert 'invalid value for parameter "shared_buffers": "plenty"' in said
    assert f"The whole log: {data_dir}/server.log" in said
    assert hold(data_dir=data_dir).started()["joined"] is False
