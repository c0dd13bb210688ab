"""Gates in a test database, and the session that holds them shut.

The points are `clock` and `<table>.<insert|update|delete>.<before|after>` for job, live, later, waiting, job_key,
handover and attempt; `at` is a LIKE pattern over them.
"""

from pathlib import Path

import psycopg

GATES_SQL = Path(__file__).with_name("gates.sql")
ANYWHERE = "%"


def install_gates(conn: psycopg.Connection) -> None:
    """Once per database; a second time changes nothing."""
    if conn.execute("select to_regprocedure('laneway_test.stand(text)') is null").fetchone() == (True,):
        conn.execute(GATES_SQL.read_text(encoding="utf-8"))


def shut(holder: psycopg.Connection, gate: str) -> None:
    """Nobody passes until the holder opens it."""
    holder.execute("select pg_advisory_lock(hashtext('laneway_test.gate'), hashtext(%s))", [gate])


def open_gate(holder: psycopg.Connection, gate: str) -> None:
    row = holder.execute("select pg_advisory_unlock(hashtext('laneway_test.gate'), hashtext(%s))", [gate]).fetchone()
    if row != (True,):
        raise ValueError(f'gate: "{gate}" is not shut')


def send_through(session: psycopg.Connection, gate: str, *, at: str, skip: int) -> None:
    """From now on this session stands at these points while the gate is shut; `skip` of them it passes first."""
    session.execute(
        "select set_config('laneway_test.gate', %s, false), set_config('laneway_test.gate_at', %s, false),"
        " set_config('laneway_test.gate_skip', %s, false)",
        [gate, at, str(skip)],
    )
