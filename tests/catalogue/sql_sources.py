"""What the function files may not say: searches over text and syntax tree, each answering the places it found."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import Any

from pglast import ast, parse_plpgsql, parse_sql
from pglast.parser import split
from pglast.visitors import Visitor

OTHER_CLOCKS = re.compile(
    r"\b(now|clock_timestamp|statement_timestamp|transaction_timestamp|timeofday)\s*\(\s*\)"
    r"|\b(current_timestamp|current_time|current_date|localtime|localtimestamp)\b",
    re.IGNORECASE,
)
SESSION_LOCK = re.compile(r"\bpg_(try_)?advisory_(lock|unlock)(_shared|_all)?\s*\(", re.IGNORECASE)
DYNAMIC = re.compile(r"\bexecute\b", re.IGNORECASE)
SEES_CALLS = frozenset({"clock", "clock_timestamp", "gen_random_uuid", "new_id", "nextval", "random", "uuidv7"})
# How pglast says that an expression is a whole statement, and none of an assignment or condition.
STATEMENT = 0


@dataclass(frozen=True, slots=True)
class Source:
    """A file of sql/functions."""

    name: str
    text: str

    @property
    def code(self) -> str:
        """Without comments and what it says about its objects; lines keep their numbers."""
        without = re.sub(r"--[^\n]*", "", self.text)
        return re.sub(r"(?ms)^comment on .*?';$", lambda found: "\n" * found[0].count("\n"), without)

    @property
    def bare(self) -> str:
        """The code without literals."""
        return re.sub(r"'(?:[^']|'')*'", "''", self.code)


def function_files() -> list[Source]:
    folder = files("laneway.sql").joinpath("functions")
    return sorted(
        (Source(entry.name, entry.read_text("utf-8")) for entry in folder.iterdir() if entry.name.endswith(".sql")),
        key=lambda source: source.name,
    )


def places(pattern: re.Pattern[str], text: str) -> list[str]:
    lines = enumerate(text.splitlines(), 1)
    return [f"line {number}: {found[0]}" for number, line in lines for found in pattern.finditer(line)]


def other_clocks(source: Source) -> list[str]:
    """Reads of a clock that tests cannot move."""
    return places(OTHER_CLOCKS, source.code)


def session_locks(source: Source) -> list[str]:
    """Advisory locks that outlive the transaction."""
    return places(SESSION_LOCK, source.bare)


def dynamic_statements(source: Source) -> list[str]:
    return places(DYNAMIC, source.bare)


def volatile_clauses(source: Source) -> list[str]:
    """Calls of volatile functions where each row calls anew: in a condition, or in what an update sets."""
    return [f"{function}: {call}" for function, tree in statements_of(source) for call in calls_per_row(tree)]


def statements_of(source: Source) -> Iterator[tuple[str, tuple[ast.RawStmt, ...]]]:
    """(function, tree) of each statement in the bodies of a file."""
    for made in split(source.text):
        tree = parse_sql(made)[0].stmt
        if not isinstance(tree, ast.CreateFunctionStmt):
            continue
        name = tree.funcname[-1].sval
        options = {option.defname: option.arg for option in tree.options}
        if options["language"].sval == "sql":
            yield name, parse_sql(options["as"][0].sval)
        else:
            yield from ((name, parse_sql(query)) for query in queries(parse_plpgsql(made)))


def queries(tree: Any) -> Iterator[str]:
    """The texts of the statements in a PL/pgSQL tree."""
    if isinstance(tree, list):
        for part in tree:
            yield from queries(part)
    elif isinstance(tree, dict):
        expression = tree.get("PLpgSQL_expr")
        if expression is not None and expression.get("parseMode", STATEMENT) == STATEMENT:
            yield expression["query"]
        for part in tree.values():
            yield from queries(part)


def calls_per_row(tree: tuple[ast.RawStmt, ...]) -> list[str]:
    found: list[str] = []
    look = partial(volatile_calls, found)
    for statement in tree:
        Clauses(look)(statement)
    return found


def volatile_calls(found: list[str], clause: str, node: Any) -> None:
    calls = Calls()
    for part in node if isinstance(node, tuple) else (node,):
        calls(part)
    found.extend(f"{name}() in {clause}" for name in calls.names if name in SEES_CALLS)


class Calls(Visitor):
    """Names of the functions called below a node."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def visit_FuncCall(self, _ancestors: Any, node: ast.FuncCall) -> None:  # noqa: N802 -- pglast's name
        self.names.append(node.funcname[-1].sval)


class Clauses(Visitor):
    """Hands over each clause that is evaluated for each row."""

    def __init__(self, look: Any) -> None:
        self.look = look

    def visit(self, _ancestors: Any, node: Any) -> None:
        for clause in ("whereClause", "havingClause", "quals"):
            if getattr(node, clause, None) is not None:
                self.look("where", getattr(node, clause))
        if isinstance(node, ast.UpdateStmt | ast.OnConflictClause) and node.targetList:
            self.look("set", node.targetList)
