"""Mutants made from the text of the functions, by its tokens: what nobody thought of breaking.

Dropped: a conjunct, `order by`, `limit`, the lock of a pick, its `skip locked`, a statement. Turned: a comparison,
`and` and `or`, the condition of an `if`. What PostgreSQL refuses is unsound and counts for nothing.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from mutations import Change, Mutant
from pglast.parser import scan
from templates import SOURCE

__all__ = ["accepted", "make_all"]

_FUNCTION = re.compile(r"^create or replace function (\w+)\(.*?\$\$\n(.*?)^\$\$;", re.MULTILINE | re.DOTALL)
_TURNED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "=": "<>", "<>": "="}
# Where an expression or clause ends, when it is met on the level on which that began.
_ENDS = frozenset(
    [
        "AND",
        "OR",
        ";",
        "THEN",
        "LOOP",
        "GROUP_P",
        "ORDER",
        "LIMIT",
        "FOR",
        "OFFSET",
        "RETURNING",
        "UNION",
        "INTO",
        "FROM",
        "WHERE",
        "ON",
        "WINDOW",
        "HAVING",
        ",",
        "WHEN",
        "ELSE",
        "END_P",
        "AS",
        "LEFT",
        "CROSS",
        "JOIN",
        "FULL",
        "ASC",
        "DESC",
        "DO",
    ]
)
_CLAUSE_ENDS = frozenset([";", "LIMIT", "FOR", "OFFSET", "RETURNING", "UNION", "INTO", "THEN", "LOOP"])
_CLAUSES = frozenset(["SET", "WHERE", "ON", "WHEN", "IF_P", "HAVING", "SELECT", "VALUES", "FROM", "DO"])
_ONLY_END = frozenset(";")
_STATEMENTS = frozenset(("perform", "update", "insert", "delete"))
_BEFORE_A_STATEMENT = frozenset(("", ";", "BEGIN_P", "THEN", "LOOP", "ELSE"))
# The order in which an array gives its items is the order it has anyway, today; the order of locks matters to those who
# wait, and these never do. Both are kept for the day when that is no longer so, and no test can see them.
_CAUTIOUS = re.compile(r"order by (?:\w\.place$|u\.place\b|u\.tenant_id, u\.job_id|u\.job_id\b)")
# The tests that are nearest to a file, by the words in their names.
_NEAR = {
    "backoff": ("tests/sql/test_backoff.py", "tests/sql/test_finish.py"),
    "claim": (
        "tests/sql/test_claim.py",
        "tests/sql/test_finish_and_claim.py",
        "tests/sql/test_held_rows.py",
        "tests/sql/test_strict_queues.py",
    ),
    "context": ("tests/access/test_context.py", "tests/access/test_context_keys.py", "tests/access/test_functions.py"),
    "dedupe": ("tests/sql/test_dedupe.py", "tests/sql/test_held_rows.py", "tests/sql/test_promote.py"),
    "enqueue": ("tests/sql/test_enqueue.py", "tests/sql/test_dedupe.py"),
    "enqueue_special": ("tests/sql/test_enqueue.py", "tests/sql/test_dedupe.py"),
    "finish": ("tests/sql/test_finish.py", "tests/sql/test_held_rows.py", "tests/sql/test_operate.py"),
    "foundation": ("tests/sql/test_enqueue.py", "tests/sql/test_finish.py", "tests/sql/test_read.py"),
    "lanes": ("tests/sql/test_fair_turns.py", "tests/sql/test_claim.py", "tests/sql/test_finish_and_claim.py"),
    "lookups": ("tests/sql/test_claim.py", "tests/sql/test_read.py"),
    "promote": ("tests/sql/test_promote.py", "tests/sql/test_held_rows.py"),
    "sweep": ("tests/sql/test_sweep.py", "tests/sql/test_held_rows.py"),
    "doorbell": ("tests/sql/test_doorbell_rings.py",),
    "operate": ("tests/sql/test_operate.py", "tests/sql/test_held_rows.py", "tests/access/test_functions.py"),
    "read": ("tests/sql/test_read.py", "tests/sql/test_workers.py", "tests/access/test_functions.py"),
    "retention": ("tests/sql/test_retention.py",),
    "tenants": ("tests/sql/test_pause.py", "tests/access/test_context_keys.py"),
}


@dataclass(frozen=True, slots=True)
class Token:
    word: str
    """The keyword's name in the grammar, or the text itself."""
    text: str
    start: int
    end: int
    level: int


@dataclass(frozen=True)
class Body:
    """One function and the tokens of its body."""

    file: str
    name: str
    whole: str
    start: int
    text: str

    @cached_property
    def tokens(self) -> list[Token]:
        """Parentheses and `case .. end` are a level each."""
        found: list[Token] = []
        opened: list[str] = []
        for raw in scan(self.text):
            text = self.text[raw.start : raw.end + 1]
            word = raw.name if raw.kind != "NO_KEYWORD" else text.lower()
            if text in (")", "]") or (word == "END_P" and opened and opened[-1] == "CASE"):
                opened.pop()
            found.append(Token(word, text, raw.start, raw.end + 1, len(opened)))
            is_case = word == "CASE" and not (len(found) > 1 and found[-2].word == "END_P")
            if text in ("(", "[") or (is_case and self._is_expression(found)):
                opened.append(word)
        return [token for token in found if token.word not in ("SQL_COMMENT", "C_COMMENT")]

    def _is_expression(self, found: Sequence[Token]) -> bool:
        """A `case` of PL/pgSQL stands where a statement begins, and ends with `end case`."""
        return len(found) > 1 and found[-2].word not in _BEFORE_A_STATEMENT

    def until(self, place: int, ends: frozenset[str]) -> int:
        """The place of the token before which what stands behind `place` ends."""
        level = self.tokens[place].level
        for at in range(place + 1, len(self.tokens)):
            token = self.tokens[at]
            if token.level < level or (token.level == level and token.word in ends):
                return at
        return len(self.tokens)

    def cut(self, begin: int, end: int, put: str = "") -> str:
        """The whole function with this part of the body taken out, or another put there."""
        body = self.text[:begin] + put + self.text[end:]
        return self.whole[: self.start] + body + self.whole[self.start + len(self.text) :]


def make_all(files: Sequence[str] = ()) -> list[Mutant]:
    """Of all function files, or of some."""
    made: list[Mutant] = []
    for path in sorted((SOURCE / "sql" / "functions").glob("*.sql")):
        if not files or path.stem in files:
            for body in _bodies(path):
                made += _mutants(body)
    return made


def accepted(path: Path) -> dict[str, str]:
    """What each survivor that is known of is, and why nothing can see it."""
    return {entry["says"]: entry["because"] for entry in tomllib.loads(path.read_text("utf-8")).get("survivor", [])}


def _bodies(path: Path) -> Iterator[Body]:
    for found in _FUNCTION.finditer(path.read_text("utf-8")):
        whole = found[0]
        if whole.count("$$") == 2 and whole.isascii():
            yield Body(path.name, found[1], whole, found.start(2) - found.start(), found[2])


def _mutants(body: Body) -> Iterator[Mutant]:
    seen: dict[str, int] = {}
    for kind, begin, mutated in _ways(body):
        line = " ".join(body.text[begin:].split("\n")[0].split())[:70]
        says = f"{body.name}(): {kind}: {line}"
        seen[says] = seen.get(says, 0) + 1
        stem = body.file.removesuffix(".sql")
        near = _NEAR.get(stem, (f"tests/sql/test_{stem}.py",))
        yield Mutant(
            id=f"{body.name}_{begin}_{len(seen)}_{seen[says]}",
            group=stem,
            says=says if seen[says] == 1 else f"{says} ({seen[says]})",
            changes=(Change(f"functions/{body.file}", body.whole, mutated),),
            killers=tuple(test for test in near if (SOURCE.parents[1] / test).exists()),
        )


def _ways(body: Body) -> Iterator[tuple[str, int, str]]:
    clause: dict[int, str] = {}
    for at, token in enumerate(body.tokens):
        if token.word in _CLAUSES:
            clause[token.level] = token.word
        before = body.tokens[at - 1].word if at else ""
        after = body.tokens[at + 1].word if at + 1 < len(body.tokens) else ""
        yield from _in_a_condition(body, at, is_list=clause.get(token.level) in ("SET", "DO"))
        yield from _in_a_query(body, at, after)
        if before in _BEFORE_A_STATEMENT:
            yield from _a_statement(body, at)


def _in_a_condition(body: Body, at: int, *, is_list: bool) -> Iterator[tuple[str, int, str]]:
    token = body.tokens[at]
    if token.word in ("AND", "OR") and not _is_between(body.tokens, at):
        yield "turned", token.start, body.cut(token.start, token.end, "or" if token.word == "AND" else "and")
        yield "dropped", token.start, body.cut(token.start, body.tokens[body.until(at, _ENDS) - 1].end)
    elif token.word == "WHERE":
        yield "dropped first", token.start, _without_first(body, at, body.until(at, _ENDS))
    elif token.text in _TURNED and not (token.text == "=" and is_list):
        yield "turned", token.start, body.cut(token.start, token.end, _TURNED[token.text])


def _in_a_query(body: Body, at: int, after: str) -> Iterator[tuple[str, int, str]]:
    token = body.tokens[at]
    if (token.word, after) == ("ORDER", "BY") or token.word == "LIMIT":
        end = body.tokens[body.until(at, _CLAUSE_ENDS) - 1].end
        if not _CAUTIOUS.match(body.text[token.start : end]):
            yield "dropped", token.start, body.cut(token.start, end)
    elif token.word == "FOR" and after in ("UPDATE", "SHARE"):
        yield "dropped", token.start, body.cut(token.start, body.tokens[body.until(at, _ONLY_END) - 1].end)
    elif token.word == "SKIP" and after == "LOCKED":
        yield "dropped", token.start, body.cut(token.start, body.tokens[at + 1].end)


def _a_statement(body: Body, at: int) -> Iterator[tuple[str, int, str]]:
    tokens, token = body.tokens, body.tokens[at]
    if token.word == "IF_P":
        begin, end = tokens[at + 1].start, tokens[body.until(at, frozenset(("THEN",))) - 1].end
        yield "turned", token.start, body.cut(begin, end, f"not ({body.text[begin:end]})")
    elif token.text in _STATEMENTS:
        end = tokens[min(body.until(at, _ONLY_END), len(tokens) - 1)].start
        yield "dropped statement", token.start, body.cut(token.start, end, "null")


def _without_first(body: Body, at: int, last: int) -> str:
    """`where a and b` without a; a condition that stands alone becomes true."""
    tokens = body.tokens
    begin = tokens[at].end
    if last < len(tokens) and tokens[last].word == "AND" and tokens[last].level == tokens[at].level:
        return body.cut(begin, tokens[last].end)
    return body.cut(begin, tokens[last - 1].end, " true")


def _is_between(tokens: Sequence[Token], at: int) -> bool:
    """The `and` of a `between`."""
    level = tokens[at].level
    for token in reversed(tokens[:at]):
        if token.level < level:
            return False
        if token.level == level:
            if token.word == "BETWEEN":
                return True
            if token.word in _ENDS or token.word in _CLAUSES:
                return False
    return False
