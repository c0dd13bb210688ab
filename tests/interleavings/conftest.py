from collections.abc import Iterator

import pytest
from kit.database import Database
from kit.lab import Lab
from stage import House


@pytest.fixture
def lab(database: Database) -> Iterator[Lab]:
    with Lab(database, "a", "b", "c") as lab:
        yield lab


@pytest.fixture
def house(lab: Lab) -> House:
    return House(lab.heart, lab.clock)
