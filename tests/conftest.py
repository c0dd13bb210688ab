"""Fixtures of all tests: a fresh database, a connection that is rolled back, a clock that moves."""

import os
from collections.abc import Iterator

import psycopg
import pytest

from kit.clock import Clock
from kit.database import Clones, Database
from kit.server import DSN, FOLDER, Offer, superuser_dsn
from language import Heart

OFFER = pytest.StashKey[Offer]()


def pytest_configure(config: pytest.Config) -> None:
    """The controller offers a server; its workers inherit the environment."""
    if not hasattr(config, "workerinput") and not os.environ.get(DSN) and not os.environ.get(FOLDER):
        config.stash[OFFER] = Offer.make()


def pytest_unconfigure(config: pytest.Config) -> None:
    offer = config.stash.get(OFFER, None)
    if offer is not None:
        offer.close()


@pytest.fixture(scope="session")
def clones() -> Iterator[Clones]:
    """Makes databases; the server and the template are made with the first use."""
    server = superuser_dsn()
    with psycopg.connect(server, autocommit=True) as conn:
        clones = Clones(conn, server)
        yield clones
        clones.close()


@pytest.fixture
def database(clones: Clones) -> Iterator[Database]:
    """A fresh install of this test's own."""
    with clones.lent() as database:
        yield database


@pytest.fixture(scope="session")
def shared_database(clones: Clones) -> Iterator[Database]:
    """The clone of this process in which nothing is ever committed."""
    with clones.lent() as database:
        yield database


@pytest.fixture
def sql(shared_database: Database) -> Iterator[psycopg.Connection]:
    """One superuser's connection; whatever the test does is rolled back, and its clock set back."""
    with shared_database.connect(autocommit=False) as conn:
        Clock(conn).reset()
        conn.commit()
        yield conn
        conn.rollback()


@pytest.fixture
def clock(request: pytest.FixtureRequest) -> Clock:
    """The clock of the test's database: of `database` where the test has one, else of `sql`."""
    if "database" in request.fixturenames:
        return Clock(request.getfixturevalue("database").connect())
    return Clock(request.getfixturevalue("sql"))


@pytest.fixture
def heart(database: Database) -> Heart:
    """The verbs, on a database of the test's own."""
    return Heart(database)
