from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
import pytest
from history import History, write_history

from kit.clock import Clock
from kit.database import Clones, Database
from language import Heart


@dataclass(frozen=True, slots=True)
class Busy:
    """A database with a busy history in it, which no test changes for the others."""

    database: Database
    conn: psycopg.Connection
    history: History


@pytest.fixture(scope="module")
def busy(clones: Clones) -> Iterator[Busy]:
    database = clones.make()
    conn = database.connect()
    history = write_history(Heart(conn), Clock(conn))
    yield Busy(database, conn, history)
    clones.drop(database)
