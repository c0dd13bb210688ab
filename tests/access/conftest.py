"""One seeded database for all access tests of a process: what they call is rolled back, or was refused."""

from collections.abc import Iterator

import pytest
from seeded_world import World

from kit.database import Clones


@pytest.fixture(scope="session")
def world(clones: Clones) -> Iterator[World]:
    database = clones.make()
    yield World(database)
    clones.drop(database)


@pytest.fixture
def own_world(clones: Clones) -> Iterator[World]:
    """One of the test's own, where it commits."""
    database = clones.make()
    yield World(database)
    clones.drop(database)
