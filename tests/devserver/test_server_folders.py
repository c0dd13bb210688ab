"""Which folder, of which version, for which user."""

import os
import shutil
import stat
from pathlib import Path

import pytest
from server_holders import ask

from laneway.devserver import OtherMajorVersionError, ServerOptions, UnusableFolderError
from laneway.devserver.acquire import chosen_place
from laneway.devserver.places import folder_of_project, ours

DEBIAN = sorted(Path("/usr/lib/postgresql").glob("1[56]/bin"))


@pytest.fixture
def project(open_folder: Path) -> Path:
    folder = open_folder / "my project"
    (folder / "deep" / "down").mkdir(parents=True)
    (folder / "pyproject.toml").touch()
    return folder


def test_the_default_place_belongs_to_the_user_and_the_project(hold, project, identity):
    holder = hold(cwd=project / "deep" / "down", environment={"TMPDIR": str(project.parent)})
    server = holder.started()
    data = Path(server["data_dir"])
    holder.stop()
    try:
        assert data.name == f"pg{server['major_version']}"
        if identity.uid == 0:
            assert data.parent.parent in {Path("/var/lib/laneway/dev"), project.parent / "laneway-root-dev"}
        elif "XDG_DATA_HOME" in identity.environment:
            assert data.parent.parent == Path(identity.environment["XDG_DATA_HOME"]) / "laneway"
            assert data.parent.name.startswith("my-project-")
        assert stat.S_IMODE(data.stat().st_mode) == 0o700
    finally:
        shutil.rmtree(data.parent)


def test_a_subfolder_of_a_project_finds_the_same_data_and_another_project_does_not(project, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(project.parent / "share"))
    monkeypatch.chdir(project)
    above = folder_of_project()
    monkeypatch.chdir(project / "deep")
    assert folder_of_project() == above
    monkeypatch.chdir(project.parent)
    assert folder_of_project() != above


def test_data_of_another_major_version_is_refused_with_the_way_out(hold, data_dir):
    holder = hold(data_dir=data_dir)
    server = holder.started()
    holder.stop()
    version = data_dir / "PG_VERSION"
    version.write_text("14\n")
    said = hold(data_dir=data_dir).refused()
    assert (
        f"data_dir: {data_dir} holds data of PostgreSQL 14, and the server found is {server['major_version']}" in said
    )
    assert "another data_dir" in said
    assert "pg_dump and psql of PostgreSQL 14" in said


@pytest.mark.skipif(not DEBIAN, reason="the system has no PostgreSQL 15 or 16")
def test_a_system_server_without_builtin_locales_works_and_does_not_touch_newer_data(hold, new_dir, data_dir):
    binaries = DEBIAN[0]
    holder = hold(data_dir=new_dir, binaries=binaries)
    server = holder.started()
    assert server["major_version"] == int(binaries.parent.name)
    assert ask(server["dsn"], "select 'B' < 'a' and upper('é') = 'É'") is True
    assert ask(server["dsn"], "show data_checksums") == "on"
    holder.stop()
    assert "OtherMajorVersionError" in hold(data_dir=data_dir, binaries=binaries).refused()


def test_an_empty_start_beside_the_default_data_of_another_major_version_is_refused(project, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(project.parent / "share"))
    monkeypatch.chdir(project)
    place = chosen_place(ServerOptions(), 18).data_dir.parent
    (place / "pg17").mkdir(parents=True)
    try:
        (place / "pg17" / "PG_VERSION").write_text("17\n")
        with pytest.raises(OtherMajorVersionError, match=f"{place}/pg17 holds data of PostgreSQL 17"):
            chosen_place(ServerOptions(), 18)
    finally:
        shutil.rmtree(place)


def test_a_folder_with_something_else_in_it_is_left_alone(hold, new_dir):
    new_dir.mkdir()
    (new_dir / "thesis.txt").write_text("mine")
    assert "is not empty and holds no PostgreSQL data" in hold(data_dir=new_dir).refused()
    assert [path.name for path in new_dir.iterdir()] == ["thesis.txt"]


def test_a_path_of_two_lines_is_refused(open_folder):
    with pytest.raises(UnusableFolderError, match="holds a line end"):
        chosen_place(ServerOptions(data_dir=open_folder / "two\nlines"), 18)


def test_data_without_its_password_is_refused_and_left_alone(hold, data_dir):
    hold_at(hold, data_dir)
    Path(f"{data_dir}.password").unlink()
    assert "the password of this data, cannot be read" in hold(data_dir=data_dir).refused()
    assert (data_dir / "PG_VERSION").exists()


def hold_at(hold, data_dir: Path) -> None:
    holder = hold(data_dir=data_dir)
    holder.started()
    holder.stop()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts servers as somebody else")
def test_root_keeps_data_out_of_closed_homes(hold, open_folder):
    closed = open_folder / "home"
    closed.mkdir(mode=0o700)
    said = hold(data_dir=closed / "data").refused()
    assert f"who cannot enter {closed}" in said
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_named(hold, open_folder):
    open_folder.chmod(0o555)
    assert f"{open_folder} cannot be written" in hold(data_dir=open_folder / "data").refused()
    open_folder.chmod(0o755)


def test_a_common_folder_that_others_may_write_is_not_trusted(open_folder):
    loose = open_folder / "loose"
    loose.mkdir()
    loose.chmod(0o777)
    with pytest.raises(UnusableFolderError, match="is not a folder that we alone may write"):
        ours(loose, mode=0o755)
