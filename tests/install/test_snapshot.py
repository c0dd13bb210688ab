"""The committed snapshot of a fresh install."""

import pytest
from releases import FIRST, SECOND

from laneway.database import snapshot as module
from laneway.database.install_errors import InstallError
from laneway.database.snapshot import main, snapshot


@pytest.fixture
def newest(server):
    if server.major_version != 18:
        pytest.skip("the snapshot is written by PostgreSQL 18")


@pytest.mark.usefixtures("newest")
def test_the_snapshot_is_the_same_each_time_and_leaves_nothing(place):
    with place.connect() as conn:
        first, second = (snapshot(conn, files=place.release(FIRST)) for _ in range(2))
    assert first == second
    assert (
        "table note\n    owner owner row level security with (fillfactor=70)\n    column tenant_id uuid not null"
        in first
    )
    assert place.run("select from pg_roles where starts_with(rolname, 'snapshot_')") == []
    assert place.run("select from pg_namespace where starts_with(nspname, 'snapshot_')") == []


@pytest.mark.usefixtures("newest")
def test_a_stale_snapshot_is_told_with_its_difference(place, tmp_path, monkeypatch, capsys):
    output = tmp_path / "snapshot.sql"
    arguments = ["--database-url", place.dsn, "--output", str(output)]
    monkeypatch.setattr(module.SqlFiles, "packaged", classmethod(lambda _: place.release(FIRST)))
    assert main(arguments) == 0
    assert main([*arguments, "--check"]) == 0
    monkeypatch.setattr(module.SqlFiles, "packaged", classmethod(lambda _: place.release(SECOND)))
    assert main([*arguments, "--check"]) == 8
    told = capsys.readouterr().out
    assert "+    column mood text" in told
    assert "is stale: run make sql" in told


def test_another_version_does_not_write_it(server, place):
    if server.major_version == 18:
        pytest.skip("this one does")
    with place.connect() as conn, pytest.raises(InstallError, match="Use PostgreSQL 18"):
        snapshot(conn, files=place.release(FIRST))
