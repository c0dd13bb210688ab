"""Each rule finds a plan that breaks it."""

from collections.abc import Callable, Iterator

import psycopg
import pytest
from capture import Node, Plan, explained
from hot_statements import fill
from plan_rules import (
    finds_by_lease,
    reads_end_to_end,
    sorts_more_than,
    walks_an_index_without_a_condition,
)

from kit.database import Clones
from language import Heart

ROWS = 2_000
NOBODY = "00000000-0000-0000-0000-000000000000"


@pytest.fixture(scope="module")
def full(clones: Clones) -> Iterator[psycopg.Connection]:
    with clones.lent() as database:
        heart = Heart(database)
        heart.define()
        fill(heart.conn, heart.tenant(), ROWS)
        heart.rows("analyze")
        yield heart.conn


def plans_of(conn: psycopg.Connection, statement: str, settings: str = "") -> list[Plan]:
    with conn.transaction(force_rollback=True):
        conn.execute(settings or "select 1")
        with explained(conn) as plans:
            conn.execute(statement)
    return plans


BY_INDEX = "set local enable_seqscan = off"
PLANTED = [
    (reads_end_to_end, "select count(*) from live where attempt = 1", ""),
    (reads_end_to_end, "select count(*) from job where max_attempts = 1", ""),
    (reads_end_to_end, "do 'begin perform from attempt a where a.outcome = 2; end'", ""),
    (walks_an_index_without_a_condition, "select * from live order by tenant_id, job_id", BY_INDEX),
    (walks_an_index_without_a_condition, "select job_id from live where state = 0 and is_strict", BY_INDEX),
    (finds_by_lease, f"select * from live where state = 1 and tenant_id = '{NOBODY}' and def_id = 1", BY_INDEX),
    (sorts_more_than(1_000), "select * from live order by started_at limit 1", ""),
    (sorts_more_than(1_000), "select * from later order by queue_id, due_at limit 1", ""),
]


@pytest.mark.parametrize(("rule", "statement", "settings"), PLANTED)
def test_a_plan_that_breaks_the_rule_is_found(
    full: psycopg.Connection, rule: Callable[[Plan], list[Node]], statement: str, settings: str
):
    assert any(rule(plan) for plan in plans_of(full, statement, settings))


@pytest.mark.parametrize(
    "rule", [reads_end_to_end, walks_an_index_without_a_condition, finds_by_lease, sorts_more_than(1_000)]
)
def test_a_look_by_key_breaks_none(full: psycopg.Connection, rule: Callable[[Plan], list[Node]]):
    (plan,) = plans_of(full, f"select * from live where tenant_id = '{NOBODY}' and job_id = '{NOBODY}'")
    assert plan.tables == {"live"}
    assert rule(plan) == []
