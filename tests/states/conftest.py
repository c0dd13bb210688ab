"""A database per situation, made when the first cell asks for it; cells roll back what they do."""

from collections.abc import Callable, Iterator

import pytest
from situations import Stage, build

from kit.database import Clones
from laneway.states import Situation


@pytest.fixture(scope="session")
def stage_of(clones: Clones) -> Iterator[Callable[[Situation], Stage]]:
    stages: dict[Situation, Stage] = {}

    def stage(situation: Situation) -> Stage:
        if situation not in stages:
            stages[situation] = build(clones.make(), situation)
        return stages[situation]

    yield stage
    for stage_ in stages.values():
        clones.drop(stage_.database)
