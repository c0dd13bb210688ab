"""What a caller in one process can count on: threads, forks, drivers, second calls, bad options."""

import asyncio
import os
import re
import threading
from pathlib import Path

import asyncpg
import psycopg
import pytest
from server_holders import ask, is_alive

from laneway.devserver import DevServer, DevServerError, OtherSettingsError, ServerOptions


def options(**given: object) -> ServerOptions:
    return ServerOptions(durable=False, **given)


def test_a_server_started_by_a_thread_outlives_the_thread(data_dir):
    with_thread = DevServer(options(data_dir=data_dir))
    starter = threading.Thread(target=with_thread.start)
    starter.start()
    starter.join()
    try:
        assert ask(with_thread.dsn(), "select 1") == 1
    finally:
        with_thread.stop()


def test_two_objects_in_one_process_share_the_server_of_the_first(data_dir):
    with DevServer(options(data_dir=data_dir)) as first:
        with DevServer(options(data_dir=data_dir)) as second:
            assert (first.joined, second.joined, second.pid) == (False, True, first.pid)
        assert ask(first.dsn(), "select 1") == 1


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_does_not_stop_the_server_of_its_parent(data_dir):
    with DevServer(options(data_dir=data_dir)) as server:
        child = os.fork()
        if child == 0:
            server.stop()
            os._exit(0)
        os.waitpid(child, 0)
        assert ask(server.dsn(), "select 1") == 1


def test_stop_may_be_called_twice_and_start_once(data_dir):
    server = DevServer(options(data_dir=data_dir))
    server.stop()
    server.start()
    with pytest.raises(DevServerError, match="a DevServer starts once"):
        server.start()
    pid = server.pid
    assert is_alive(pid)
    server.stop()
    server.stop()
    assert not is_alive(pid)


def test_a_server_that_was_not_started_has_no_dsn():
    with pytest.raises(DevServerError, match="was not started"):
        DevServer(options()).dsn()


def test_the_dsn_serves_both_drivers_and_takes_odd_names(new_dir):
    name, password = "odd/da ta?base", "p@ss:w/ö rd%"
    with DevServer(options(data_dir=new_dir.with_name('a folder, "quoted" & odd'), port=0)) as server:
        with psycopg.connect(server.dsn(), autocommit=True) as connection:
            connection.execute(f'create database "{name}"')
            connection.execute(f"create role \"r o@le\" login password '{password}'")
        dsn = server.dsn(name, user="r o@le", password=password)
        assert ask(dsn, "select current_user || ' in ' || current_database()") == f"r o@le in {name}"
        assert asyncio.run(one_by_asyncpg(dsn)) == name


async def one_by_asyncpg(dsn: str) -> str:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval("select current_database()")
    finally:
        await connection.close()


def test_a_start_that_fails_frees_the_folder(data_dir):
    broken = DevServer(options(data_dir=data_dir, settings={"max_connections": "none"}))
    with pytest.raises(DevServerError, match="max_connections"):
        broken.start()
    with DevServer(options(data_dir=data_dir)) as server:
        assert server.joined is False


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"port": 70000}, "port: 70000 is no TCP port"),
        ({"settings": {"port": "1"}}, "settings: port is set by the embedded server itself"),
        ({"settings": {"work mem": "1"}}, "is no PostgreSQL setting"),
        ({"settings": {"work_mem": "1\0"}}, "is no PostgreSQL setting"),
    ],
)
def test_options_are_checked_where_they_are_given(given, sentence):
    with pytest.raises(DevServerError, match=sentence):
        options(data_dir=Path("/nowhere"), **given)


@pytest.mark.parametrize(
    ("given", "difference"),
    [
        ({"durable": True}, "durable: it runs with fsync off"),
        ({"port": 0}, "port: it listens on the Unix socket alone"),
        ({"port": 5999}, "port: 5999 is asked for, it listens on no port"),
        ({"settings": {"work_mem": "9MB"}}, "settings.work_mem: it was not started with '9MB'"),
    ],
)
def test_a_guest_gets_what_it_asks_for_or_a_sentence(data_dir, given, difference):
    guest = DevServer(ServerOptions(data_dir=data_dir, **{"durable": False, **given}))
    with DevServer(options(data_dir=data_dir)), pytest.raises(OtherSettingsError, match=re.escape(difference)):
        guest.start()
