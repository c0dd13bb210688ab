"""One format for all answers: a JSON file with every round, and a Markdown table with floors and goals."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median

import psycopg

from figures import Figure, Reached
from rounds import Line

__all__ = ["Answer", "Report", "conditions"]

SERVER_SETTINGS = (
    "server_version",
    "shared_buffers",
    "min_wal_size",
    "max_wal_size",
    "checkpoint_timeout",
    "jit",
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "wal_level",
    "autovacuum",
    "autovacuum_naptime",
)
COLUMNS = ("figure", "what", "reference", "measured", "ratio (min..max)", "floor", "goal", "reached")
HEAD = f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one question gave."""

    question: str
    title: str
    seconds: float
    lines: Sequence[Line]


@dataclass(slots=True)
class Report:
    began_at: datetime
    conditions: Mapping[str, object]
    figures: Mapping[str, Figure]
    answers: list[Answer] = field(default_factory=list[Answer])

    def reached(self, line: Line) -> Reached:
        figure = self.figures.get(line.figure)
        return figure.judge(line.ratios) if figure else Reached.UNJUDGED

    def missed(self) -> list[str]:
        lines = [line for answer in self.answers for line in answer.lines]
        return [f"{line.figure}: {line.title}" for line in lines if self.reached(line) is Reached.NO]

    def write(self, folder: Path) -> Path:
        """Both files, named after the time; answers the name of the table."""
        folder.mkdir(parents=True, exist_ok=True)
        name = self.began_at.strftime("%Y-%m-%dT%H%M%SZ")
        (folder / f"{name}.json").write_text(json.dumps(self.to_json(), indent=1) + "\n")
        table = folder / f"{name}.md"
        table.write_text(self.to_markdown())
        return table

    def to_json(self) -> dict[str, object]:
        return {
            "began_at": self.began_at.isoformat(timespec="seconds"),
            "conditions": dict(self.conditions),
            "answers": [
                {
                    "question": answer.question,
                    "title": answer.title,
                    "seconds": round(answer.seconds, 1),
                    "lines": [self._line_to_json(line) for line in answer.lines],
                }
                for answer in self.answers
            ],
        }

    def _line_to_json(self, line: Line) -> dict[str, object]:
        return {
            "figure": line.figure,
            "title": line.title,
            "unit": line.unit,
            "reference": [_round(value) for value in line.reference],
            "measured": [_round(value) for value in line.measured],
            "ratio": _round(line.ratio),
            "reached": str(self.reached(line)),
        }

    def to_markdown(self) -> str:
        said = ", ".join(f"{name} {value}" for name, value in self.conditions.items())
        parts = [f"# Bench of {self.began_at:%Y-%m-%d %H:%M} UTC\n\n{said}.\n"]
        parts += [self.table_of(answer) for answer in self.answers]
        missed = self.missed()
        parts.append("Under their floor: " + ("; ".join(missed) if missed else "none") + ".\n")
        return "\n".join(parts)

    def table_of(self, answer: Answer) -> str:
        rows = "\n".join(self._row(line) for line in answer.lines)
        return f"## {answer.title}\n\n{HEAD}\n{rows}\n"

    def _row(self, line: Line) -> str:
        figure = self.figures.get(line.figure)
        reference = f"{_short(median(line.reference))} {line.unit}" if line.reference else ""
        cells = [
            line.figure,
            line.title,
            reference,
            f"{_short(median(line.measured))} {line.unit}",
            f"**{line.ratio:.2f}** ({min(line.ratios):.2f}..{max(line.ratios):.2f})",
            f"{figure.floor:g}" if figure else "",
            f"{figure.goal:g}" if figure else "",
            str(self.reached(line)),
        ]
        return f"| {' | '.join(cells)} |"


def conditions(conn: psycopg.Connection, *, rounds: int, is_quick: bool) -> dict[str, object]:
    """Versions, settings and how busy the machine was: what a reader needs to compare two runs."""
    settings = conn.execute(
        "select name, current_setting(name) from pg_settings where name = any (%s) order by name",
        [list(SERVER_SETTINGS)],
    ).fetchall()
    return {
        "laneway": version("laneway"),
        "python": platform.python_version(),
        "asyncpg": version("asyncpg"),
        "kernel": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "load_before": round(os.getloadavg()[0], 2),
        "rounds": rounds,
        "size": "quick" if is_quick else "full",
        **dict(settings),
    }


def _round(value: float) -> float:
    return float(f"{value:.5g}")


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
