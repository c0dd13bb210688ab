"""Floors and goals: read from figures.toml, held against what was measured."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from statistics import median
from typing import Self

__all__ = ["Better", "Figure", "Reached", "read_figures"]


class Better(StrEnum):
    HIGHER = "higher"
    LOWER = "lower"
    NEAR = "near"


class Reached(StrEnum):
    GOAL = "goal"
    FLOOR = "floor"
    NO = "NO"
    UNJUDGED = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    better: Better
    floor: float
    goal: float
    near: float = 0.0
    is_by_worst: bool = False

    @classmethod
    def parse(cls, row: Mapping[str, object]) -> Self:
        judged = row.get("judged", "median")
        if judged not in ("median", "worst"):
            raise ValueError(f'judged: "{judged}" is not known; use median or worst')
        return cls(
            better=Better(str(row["better"])),
            floor=float(str(row["floor"])),
            goal=float(str(row["goal"])),
            near=float(str(row.get("near", 0))),
            is_by_worst=judged == "worst",
        )

    def judge(self, values: Sequence[float]) -> Reached:
        value = self._worst(values) if self.is_by_worst else median(values)
        if self._reaches(value, self.goal):
            return Reached.GOAL
        return Reached.FLOOR if self._reaches(value, self.floor) else Reached.NO

    def _worst(self, values: Sequence[float]) -> float:
        match self.better:
            case Better.HIGHER:
                return min(values)
            case Better.LOWER:
                return max(values)
            case Better.NEAR:
                return max(values, key=lambda value: abs(value - self.near))

    def _reaches(self, value: float, bound: float) -> bool:
        match self.better:
            case Better.HIGHER:
                return value >= bound
            case Better.LOWER:
                return value <= bound
            case Better.NEAR:
                return abs(value / self.near - 1) <= bound


def read_figures(path: Path) -> dict[str, Figure]:
    return {key: Figure.parse(row) for key, row in tomllib.loads(path.read_text()).items()}
