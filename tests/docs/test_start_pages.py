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


def run_as_printed(conn: psycopg.Connection, statements: str) -> list[list[tuple]]:
    """As psql would: each statement by itself, transactions where the page opens them."""
    answers = []
    for statement in statements.split(";"):
        if statement.strip():
            cursor = conn.execute(statement.encode())
            answers.append(cursor.fetchall() if cursor.description else [])
    return answers


def test_the_story_in_sql_ends_with_an_accepted_job(database: Database) -> None:
    answers: list[list[tuple]] = []
    for role, statements in parts_of("docs/start/sql.md"):
        with database.connect(role=role) as conn:
            conn.execute("set search_path = laneway, pg_temp")
            answers += run_as_printed(conn, statements)
    assert answers[-1] == [([1],)]


def test_the_example_of_the_readme_enqueues_a_job(database: Database) -> None:
    (_, before), (_, example) = parts_of("README.md")
    with database.connect() as conn:
        run_as_printed(conn, before)
    with database.connect(role="backend") as conn:
        *_, ((_, created),), _ = run_as_printed(conn, example)
    assert created is True
    assert count_jobs(database) == 1


def count_jobs(database: Database) -> int:
    with database.connect() as conn, psycopg.Cursor[tuple[int]](conn) as cursor:
        return cursor.execute("select count(*) from laneway.live").fetchall()[0][0]
