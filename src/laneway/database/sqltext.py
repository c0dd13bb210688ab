"""Reading and writing SQL as text: quoting, cutting a file into statements, what a statement makes.

The files are our own, so this knows the lexical rules (quotes, dollar quotes, nested comments, `begin atomic` bodies)
and no grammar.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import LiteralString, cast

from psycopg import sql

__all__ = ["Made", "Statement", "identifier", "literal", "statements", "trusted"]

_TOKEN = re.compile(
    r"""
      (?P<comment>--[^\n]*|/\*)
    | (?P<dollar>\$(?:[A-Za-z_]\w*)?\$)
    | (?P<quoted>[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*')
    | (?P<name>"(?:[^"]|"")*")
    | (?P<word>[A-Za-z_\x80-\uffff][\w$\x80-\uffff]*)
    | (?P<sign>\S)
    """,
    re.VERBOSE | re.DOTALL,
)
_MAKING = ("create", "or", "replace")
_KINDS = {"function": "function", "procedure": "function", "view": "view"}


@dataclass(frozen=True, slots=True)
class Made:
    """A function or view that a statement makes."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a file, from its first word to before its semicolon."""

    text: str
    line: int
    words: tuple[str, ...]
    makes: tuple[Made, ...]


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


def identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A string constant; the installer works with standard_conforming_strings on."""
    return "'" + text.replace("'", "''") + "'"


def trusted(text: str) -> sql.SQL:
    """Text of our own files, or made of them and of quoted names, as something psycopg sends as it is."""
    return sql.SQL(cast("LiteralString", text))


def statements(text: str) -> tuple[Statement, ...]:
    """The statements of a file, in order."""
    return tuple(_statement(text, tokens) for tokens in _groups(text))


def _groups(text: str) -> Iterator[list[_Token]]:
    group: list[_Token] = []
    depth = 0
    for token in _tokens(text):
        if token.text == ";" and depth == 0:
            if group:
                yield group
            group = []
            continue
        depth = _atomic_depth(depth, token, group)
        group.append(token)
    if group:
        yield group


def _atomic_depth(depth: int, token: _Token, before: Sequence[_Token]) -> int:
    """How deep inside `begin atomic ... end` the next token is: the semicolons there do not end the statement."""
    word = token.text.lower() if token.kind == "word" else ""
    if word == "atomic" and before and before[-1].text.lower() == "begin":
        return depth + 1
    if depth and word == "case":
        return depth + 1
    if depth and word == "end":
        return depth - 1
    return depth


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while match := _TOKEN.search(text, at):
        kind = match.lastgroup or "sign"
        at = _end_of(text, match)
        if kind != "comment":
            yield _Token(kind, text[match.start() : at], match.start(), at)


def _end_of(text: str, match: re.Match[str]) -> int:
    if match.group() == "/*":
        return _end_of_comment(text, match.end())
    if match.lastgroup == "dollar":
        end = text.find(match.group(), match.end())
        return len(text) if end < 0 else end + len(match.group())
    return match.end()


def _end_of_comment(text: str, at: int) -> int:
    depth = 1
    for mark in re.compile(r"/\*|\*/").finditer(text, at):
        depth += 1 if mark.group() == "/*" else -1
        if depth == 0:
            return mark.end()
    return len(text)


def _statement(text: str, tokens: list[_Token]) -> Statement:
    first, last = tokens[0], tokens[-1]
    return Statement(
        text=text[first.start : last.end],
        line=text.count("\n", 0, first.start) + 1,
        words=tuple(token.text.lower() for token in tokens[:8]),
        makes=_made(tokens),
    )


def _made(tokens: list[_Token]) -> tuple[Made, ...]:
    """What `create or replace` names; a `do` block is looked into, it may choose between two bodies."""
    if tokens[0].text.lower() == "do":
        bodies = (token.text for token in tokens if token.kind == "dollar")
        inner = [
            list(_tokens(body.partition("$")[2].partition("$")[2].rpartition("$")[0].rpartition("$")[0]))
            for body in bodies
        ]
        return tuple(dict.fromkeys(made for body in inner for made in _named(body)))
    return tuple(_named(tokens[:5]))


def _named(tokens: list[_Token]) -> Iterator[Made]:
    words = [token.text.lower() for token in tokens]
    for at in range(len(tokens) - 4):
        if tuple(words[at : at + 3]) == _MAKING and words[at + 3] in _KINDS:
            yield Made(_KINDS[words[at + 3]], _folded(tokens[at + 4]))


def _folded(token: _Token) -> str:
    if token.kind == "name":
        return token.text[1:-1].replace('""', '"')
    return token.text.lower()
