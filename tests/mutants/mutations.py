"""Mutants: the SQL with one rule broken on purpose. What they break, and by which text."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Change", "Mutant", "MutantError", "load", "mutate"]


class MutantError(Exception):
    """A mutant that cannot be made as it is written: the list is behind the SQL."""


@dataclass(frozen=True, slots=True)
class Change:
    """One text of one file put in place of another; it must stand there exactly once."""

    file: str
    find: str
    replace: str
    within: str | None = None
    """The function in which the text is looked for; None: the whole file."""


@dataclass(frozen=True, slots=True)
class Mutant:
    id: str
    group: str
    says: str
    changes: tuple[Change, ...] = ()
    statements: tuple[str, ...] = ()
    """SQL that breaks what no text of the functions says: a policy, a grant."""
    killers: tuple[str, ...] = ()
    """Where pytest finds the tests that fail with it, the quickest first."""
    needs_all: bool = False
    """Marked + in the plan of the proof: each of the killers must find it alone."""


def load(path: Path) -> list[Mutant]:
    """The mutants of a file, in its order."""
    return [_mutant(entry, path) for entry in tomllib.loads(path.read_text("utf-8"))["mutant"]]


def _mutant(entry: dict[str, object], path: Path) -> Mutant:
    given = dict(entry)
    changes = tuple(_change(given | also) for also in ({}, *given.pop("also", [])) if "find" in given | also)
    for name in ("file", "find", "replace", "within"):
        given.pop(name, None)
    try:
        return Mutant(
            **{
                name: tuple(value) if isinstance(value, list) else value  # type: ignore[arg-type]
                for name, value in given.items()
            },
            changes=changes,
        )
    except TypeError as error:
        raise MutantError(f"{path.name}: mutant {given.get('id')}: {error}") from error


def _change(given: dict[str, object]) -> Change:
    texts = {name: given.get(name) for name in ("file", "find", "replace", "within")}
    return Change(**texts)  # type: ignore[arg-type]


def mutate(mutant: Mutant, folder: Path) -> None:
    """Edits a copy of the SQL."""
    for change in mutant.changes:
        file = folder / change.file
        text = file.read_text("utf-8")
        start, end = (0, len(text)) if change.within is None else _span(text, change, mutant)
        part = text[start:end]
        if part.count(change.find) != 1:
            place = f"{change.file}{f', {change.within}()' if change.within else ''}"
            raise MutantError(
                f"{mutant.id}: the text to find stands {part.count(change.find)} times in {place}: {change.find!r}"
            )
        file.write_text(text[:start] + part.replace(change.find, change.replace) + text[end:], "utf-8")


def _span(text: str, change: Change, mutant: Mutant) -> tuple[int, int]:
    """Where a function begins and ends: up to its own comment."""
    start = text.find(f"create or replace function {change.within}(")
    end = text.find(f"\ncomment on function {change.within}(", start)
    if start < 0 or end < 0:
        raise MutantError(f"{mutant.id}: {change.file} makes no function {change.within}()")
    return start, end


def all_of(folder: Path) -> Iterator[Mutant]:
    """Those with a name, and those that put back a defect of the first designs."""
    for name in ("named.toml", "defects.toml"):
        if (folder / name).exists():
            yield from load(folder / name)
