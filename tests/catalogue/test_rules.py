"""The rules of the catalogue on a fresh install."""

import psycopg
import pytest
from catalogue_rules import GLOBAL, RULES, Rule

EVERY = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)


def violators(conn: psycopg.Connection, rule: Rule) -> list[str]:
    return sorted(name for (name,) in conn.execute(rule.violations).fetchall())


@EVERY
def test_a_fresh_install_keeps_the_rule(sql: psycopg.Connection, rule: Rule):
    assert violators(sql, rule) == []


@EVERY
def test_a_planted_violation_is_reported(sql: psycopg.Connection, rule: Rule):
    before = violators(sql, rule)
    sql.execute(rule.planted)
    # each statement that was planted breaks the rule by itself
    assert len(violators(sql, rule)) >= len(before) + len(rule.planted.split(";"))


def test_a_global_table_has_its_reason():
    assert all(GLOBAL.values())
