"""The pages that a newcomer follows to the letter are followed here."""

import re
from pathlib import Path

import psycopg

from kit.database import Database

ROOT = Path(__file__).resolve().parents[2]


def parts_of(page: str) -> list[tuple[str, str]]:
    """Role and statements of each block; one without a role goes on with the last."""
    role, parts = "", []
    for text in re.split(r"^```", (ROOT / page).read_text("utf-8"), flags=re.MULTILINE):
        if text.startswith("sql\n"):
            parts.append((role, text.removeprefix("sql\n")))
        elif named := re.findall(r"`laneway_(\w+)`", text):
            role = named[0]
    return parts


def test_the_story_in_sql_ends_with_an_accepted_job(database: Database) -> None:
    last: list[object] = []
    for role, statements in parts_of("docs/start/sql.md"):
        with database.connect(role=role, autocommit=False) as conn:
            conn.execute("set local search_path = laneway, pg_temp")
            for statement in statements.split(";"):
                if statement.strip():
                    last = conn.execute(statement.encode()).fetchall()
            conn.commit()
    assert last == [([1],)]


def test_the_example_of_the_readme_enqueues_a_job(database: Database) -> None:
    ((_, statements),) = parts_of("README.md")
    with database.connect() as conn:
        conn.execute("set search_path = laneway, pg_temp")
        conn.execute("select create_tenant('acme', 'Acme', '0192f0c1-0000-7000-8000-000000000001')")
        conn.execute("select sync_definitions('shop', '{\"send-receipt\": {}}')")
    with database.connect(role="backend") as conn:
        for statement in statements.split(";"):
            cursor = conn.execute(statement.encode()) if statement.strip() else None
            if cursor and cursor.description and cursor.description[0].name == "job_id":
                assert cursor.fetchall()[0][1] is True
    assert count_jobs(database) == 1


def count_jobs(database: Database) -> int:
    with database.connect() as conn, psycopg.Cursor[tuple[int]](conn) as cursor:
        return cursor.execute("select count(*) from laneway.live").fetchall()[0][0]
