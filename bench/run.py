"""`make bench`: the bare loop and the heart side by side in one run, every question in turn, one report."""

import argparse
import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psycopg

import behind
import bulk_enqueue
import claimers
import drain
import parked
import pinned
import single_enqueue
import tenants
import wal
import weights
from figures import read_figures
from ground import serve
from report import Answer, Report, conditions
from rounds import FULL, QUICK, Bench, Line

FOLDER = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Question:
    title: str
    ask: Callable[[Bench], Awaitable[list[Line]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    only: Sequence[str]
    rounds: int
    is_quick: bool
    results: Path


def questions() -> dict[str, Question]:
    """By name, in their order: what counts bytes comes first, before anything has grown."""
    return {
        "wal": Question(wal.TITLE, wal.ask),
        "weights": Question(weights.TITLE, weights.ask),
        "bulk-enqueue": Question(bulk_enqueue.TITLE, bulk_enqueue.ask),
        "single-enqueue": Question(single_enqueue.TITLE, single_enqueue.ask),
        "drain": Question(drain.TITLE, drain.ask),
        "claimers": Question(claimers.TITLE, claimers.ask),
        "tenants": Question(tenants.TITLE, tenants.ask),
        "parked": Question(parked.TITLE, parked.ask),
        "behind": Question(behind.TITLE, behind.ask),
        "pinned": Question(pinned.TITLE, pinned.ask),
    }


def read_options(words: Sequence[str]) -> Options:
    parser = argparse.ArgumentParser(prog="bench/run.py", description=__doc__)
    parser.add_argument("--only", help=f"some of: {', '.join(questions())}; with commas between")
    parser.add_argument("--rounds", type=int, help="how often each contender goes (5, quick: 2)")
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that the bench works, measures little")
    parser.add_argument("--results", type=Path, default=FOLDER / "results", help="the folder for the report")
    said = parser.parse_args(words)
    only = said.only.split(",") if said.only else list(questions())
    for name in only:
        if name not in questions():
            parser.error(f"--only: {name!r} is no question; use some of {', '.join(questions())}")
    rounds = (2 if said.quick else 5) if said.rounds is None else said.rounds
    if not 1 <= rounds <= 100:
        parser.error(f"--rounds: {rounds} is out of range; use 1 to 100")
    return Options(only=only, rounds=rounds, is_quick=said.quick, results=said.results)


async def answer(bench: Bench, options: Options, report: Report) -> None:
    for name in options.only:
        question = questions()[name]
        began = time.perf_counter()
        lines = await question.ask(bench)
        report.answers.append(
            Answer(question=name, title=question.title, seconds=time.perf_counter() - began, lines=lines)
        )
        print(report.table_of(report.answers[-1]), flush=True)


def main(words: Sequence[str]) -> int:
    options = read_options(words)
    with serve() as server:
        with psycopg.connect(server.dsn()) as conn:
            said = conditions(conn, rounds=options.rounds, is_quick=options.is_quick)
        report = Report(datetime.now(UTC), said, read_figures(FOLDER / "figures.toml"))
        sizes = QUICK if options.is_quick else FULL
        asyncio.run(answer(Bench(server, options.rounds, sizes), options, report))
    table = report.write(options.results)
    seconds = sum(answer.seconds for answer in report.answers)
    print(f"{seconds:.0f} s; under their floor: {'; '.join(report.missed()) or 'none'}; written to {table}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
