"""Plans of the statements inside functions, as auto_explain tells them to the session that runs them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

# "." would be part of a node's key in no version; a partition is named after its parent.
HOT = ("live", "later", "attempt", "job", "job_key", "waiting")
PARTED = ("job", "attempt")

SETTINGS = {
    "log_min_duration": "0",
    "log_nested_statements": "on",
    "log_analyze": "on",
    "log_timing": "off",
    "log_format": "json",
}


@dataclass(frozen=True, slots=True)
class Node:
    """One node of a plan."""

    raw: dict[str, Any]

    @property
    def kind(self) -> str:
        return self.raw["Node Type"]

    @property
    def table(self) -> str | None:
        """The hot table that is read here; a partition counts as its parent."""
        name = self.raw.get("Relation Name", "")
        parent = name.partition("_")[0]
        table = parent if parent in PARTED and name != "job_key" else name
        return table if table in HOT else None

    @property
    def index(self) -> str | None:
        return self.raw.get("Index Name")

    @property
    def condition(self) -> str | None:
        return self.raw.get("Index Cond")

    @property
    def rows(self) -> float:
        """All rows that came out, over all loops."""
        return self.raw.get("Actual Rows", 0) * self.raw.get("Actual Loops", 0)

    @property
    def children(self) -> list["Node"]:
        return [Node(raw) for raw in self.raw.get("Plans", [])]

    def walk(self) -> Iterator["Node"]:
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True, slots=True)
class Plan:
    """One executed statement."""

    statement: str
    top: Node

    @property
    def nodes(self) -> list[Node]:
        return list(self.top.walk())

    @property
    def tables(self) -> set[str]:
        return {node.table for node in self.nodes if node.table}

    def __str__(self) -> str:
        return f"{self.statement.strip()}\n{json.dumps(self.top.raw, indent=1)}"


@contextmanager
def explained(conn: psycopg.Connection) -> Iterator[list[Plan]]:
    """Gathers the plan of every statement of this session while it lasts."""
    plans: list[Plan] = []

    def gather(told: psycopg.errors.Diagnostic) -> None:
        _, found, text = (told.message_primary or "").partition("plan:\n")
        if found:
            raw = json.loads(text)
            plans.append(Plan(raw["Query Text"], Node(raw["Plan"])))

    conn.execute("load 'auto_explain'")
    for name, value in SETTINGS.items():
        conn.execute(f"set auto_explain.{name} = '{value}'")
    conn.execute("set client_min_messages = log")
    conn.add_notice_handler(gather)
    try:
        yield plans
    finally:
        conn.remove_notice_handler(gather)
        conn.execute("set client_min_messages = notice")
        conn.execute("set auto_explain.log_min_duration = -1")
