"""An application whose jobs are declared here, at the test's own database, and ways into a caller's transaction."""

import base64
import json
from collections.abc import Iterator
from typing import NamedTuple
from uuid import UUID

import pytest

from kit.database import Database
from kit.signing import CONTEXT_KEY, CONTEXT_KID
from laneway import Laneway
from language import Heart


class Shop(NamedTuple):
    """An application and the tenant that it works for."""

    app: Laneway
    tenant: UUID
    database: Database

    def ids(self) -> list[UUID]:
        """What was committed, oldest first."""
        with self.database.connect() as conn:
            return [row[0] for row in conn.execute("select id from job order by id").fetchall()]


def add(a: int, b: int = 2) -> int:
    """Adds."""
    return a + b


@pytest.fixture
def shop(database: Database) -> Iterator[Shop]:
    key = f"{CONTEXT_KID}:{base64.b64encode(CONTEXT_KEY).decode()}"
    app = Laneway(database.dsn("app"), context_key=key)
    app.job(add)
    heart = Heart(database)
    heart.rows("select key from sync_definitions('main', %s::jsonb)", [json.dumps(app.jobs.declared())])
    yield Shop(app, heart.tenant(), database)
    app.close()
