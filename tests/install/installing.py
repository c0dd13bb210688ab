import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from places import DEBIAN, Place, place_on, schema_in

from laneway.devserver import DevServer, ServerOptions


@pytest.fixture(scope="session", params=["18", "15"])
def server(request: pytest.FixtureRequest) -> Iterator[DevServer]:
    """The wheel's server and the oldest one that is supported."""
    if request.param == "15" and not DEBIAN.is_dir():
        pytest.skip(f"no PostgreSQL 15 in {DEBIAN}")
    folder = Path(tempfile.mkdtemp(prefix="laneway-install-"))
    folder.chmod(0o755)
    options = ServerOptions(
        durable=False,
        ephemeral=True,
        data_dir=folder / "data",
        binaries=DEBIAN if request.param == "15" else None,
        settings={"max_connections": "60"},
    )
    with DevServer(options) as running:
        yield running
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def common_database(server: DevServer) -> str:
    """One that the tests share, each with a schema of its own in it."""
    with psycopg.connect(server.dsn(), autocommit=True) as conn:
        conn.execute("create database common")
    return "common"


@pytest.fixture(params=["plain"])
def place(request: pytest.FixtureRequest, server: DevServer, common_database: str, tmp_path: Path) -> Place:
    """A fresh schema; `odd` gives it a name that only quotes can hold."""
    schema = None if request.param == "plain" else f'Odd "Lane"-{secrets.token_hex(4)}'
    return schema_in(server, common_database, tmp_path, schema=schema)


@pytest.fixture
def own_place(server: DevServer, tmp_path: Path) -> Iterator[Place]:
    """A fresh database."""
    with place_on(server, tmp_path) as made:
        yield made
