from collections.abc import Iterator

import pytest
from stage import House

from kit.database import Clones, Database
from kit.lab import Lab

TABLES = "job, live, later, waiting, job_key, handover, attempt, audit, tenant, tenant_control, tenant_pair"


class Theatre:
    """One lab for many tests: its sessions keep their plans. Whatever a failed test left, the next one does not see."""

    def __init__(self, clones: Clones) -> None:
        self._clones = clones
        self._database: Database | None = None
        self.lab: Lab | None = None

    def open(self) -> Lab:
        if self.lab is None:
            self._database = self._clones.make()
            self.lab = Lab(self._database, "a", "b", "c")
            self.house = House(self.lab.heart, self.lab.clock)
        self.lab.clock.reset()
        return self.lab

    def tidy(self) -> None:
        """For the next test, or closes where that cannot be."""
        assert self.lab is not None
        try:
            self.lab.reset()
            assert self.lab.heart.count("tenant") == 1, "a stage was not struck"
        except Exception:
            self.close()
            raise
        self.lab.heart.rows(f"vacuum {TABLES}")

    def close(self) -> None:
        if self.lab is not None and self._database is not None:
            self.lab.close()
            self._clones.drop(self._database)
        self.lab, self._database = None, None


@pytest.fixture(scope="session")
def theatre(clones: Clones) -> Iterator[Theatre]:
    theatre = Theatre(clones)
    yield theatre
    theatre.close()


@pytest.fixture
def lab(theatre: Theatre, request: pytest.FixtureRequest) -> Iterator[Lab]:
    failed = request.session.testsfailed
    yield theatre.open()
    if request.session.testsfailed > failed:
        theatre.close()
    else:
        theatre.tidy()


@pytest.fixture
def house(lab: Lab, theatre: Theatre) -> House:
    assert lab is theatre.lab
    return theatre.house
