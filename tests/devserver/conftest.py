"""Real servers, held by real processes: as ourselves and, where we are root, as an ordinary user as well."""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from server_holders import (
    PROGRAM,
    Holder,
    Identity,
    eventually,
    is_alive,
    packages_for_everybody,
    processes_under,
    python_for,
)


def memory_or_disk() -> str:
    """Where the clusters of the tests lie: a copy takes 0.05 s in memory, and 0.8 s on a disk."""
    memory = Path("/dev/shm")  # noqa: S108 -- folders are made by mkdtemp
    roomy = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 4 * 1024**3
    return str(memory) if roomy else tempfile.gettempdir()


@pytest.fixture(scope="session")
def ourselves() -> Identity:
    return Identity(os.geteuid(), os.getegid(), sys.executable)


@pytest.fixture(scope="session")
def ordinary_user() -> Iterator[Identity]:
    if os.geteuid() != 0:
        pytest.skip("we are an ordinary user already, and cannot become another")
    user = pwd.getpwnam("nobody")
    home = Path(tempfile.mkdtemp(prefix="laneway-test-home-"))
    packages = home / "packages"
    packages.mkdir()
    packages_for_everybody(packages)
    home.chmod(0o755)
    os.chown(home, user.pw_uid, user.pw_gid)
    python = python_for(user.pw_uid, user.pw_gid, packages)
    try:
        if python is None:
            pytest.skip(f"no Python {sys.version_info.major}.{sys.version_info.minor} here that nobody can run")
        environment = {
            "HOME": str(home),
            "PROGRAM": str(packages / PROGRAM.name),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": str(packages),
            "XDG_DATA_HOME": str(home / "data"),
        }
        yield Identity(user.pw_uid, user.pw_gid, python, environment)
    finally:
        shutil.rmtree(home)


@pytest.fixture(params=["ourselves", "ordinary_user"])
def identity(request: pytest.FixtureRequest) -> Identity:
    return request.getfixturevalue(request.param)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder whose parents everybody may enter; pytest's own is closed."""
    folder = Path(tempfile.mkdtemp(prefix="laneway-test-", dir=memory_or_disk())).resolve()
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def who(request: pytest.FixtureRequest) -> Identity:
    """The identity of the test; ourselves in a test without one."""
    return request.getfixturevalue("identity" if "identity" in request.fixturenames else "ourselves")


@pytest.fixture
def new_dir(open_folder: Path, who: Identity) -> Path:
    """A data folder to be, in a folder of the identity of the test."""
    os.chown(open_folder, who.uid, who.gid)
    return open_folder / "new"


@pytest.fixture(scope="session")
def clusters() -> Iterator[Callable[[Identity], Path]]:
    """A cluster for each identity, made once: tests work on copies."""
    folder = Path(tempfile.mkdtemp(prefix="laneway-test-clusters-", dir=memory_or_disk()))
    folder.chmod(0o755)

    def cluster_of(who: Identity) -> Path:
        place = folder / str(who.uid)
        if not place.exists():
            place.mkdir()
            os.chown(place, who.uid, who.gid)
            maker = Holder(who, {"durable": False, "data_dir": str(place / "data")}, environment={}, cwd=Path("/"))
            maker.started()
            maker.stop()
            maker.close()
        return place

    yield cluster_of
    shutil.rmtree(folder)


@pytest.fixture
def data_dir(open_folder: Path, who: Identity, clusters: Callable[[Identity], Path]) -> Path:
    """A data folder with a cluster in it that was made before and is stopped."""
    made = clusters(who)
    os.chown(open_folder, who.uid, who.gid)
    for name in ("data", "data.password", "data.lock"):
        subprocess.run(["/bin/cp", "-a", str(made / name), str(open_folder)], check=True)
    return open_folder / "data"


@pytest.fixture
def hold(who: Identity, open_folder: Path) -> Iterator[Callable[..., Holder]]:
    """Starts holders as the identity of the test."""
    holders: list[Holder] = []

    def start(*, environment: dict[str, str] | None = None, cwd: Path = Path("/"), **options: object) -> Holder:
        given = {"durable": False, **{k: str(v) if isinstance(v, Path) else v for k, v in options.items()}}
        holder = Holder(who, given, environment=environment or {}, cwd=cwd)
        holders.append(holder)
        return holder

    yield start
    for holder in holders:
        holder.close()
    eventually(lambda: not processes_under(open_folder))


@pytest.fixture
def kill_server() -> Callable[[int], None]:
    """Kills a server and waits until it is gone."""

    def kill(pid: int) -> None:
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: not is_alive(pid))

    return kill


@pytest.fixture
def hold_as(open_folder: Path) -> Iterator[Callable[..., Holder]]:
    """Starts a holder as the identity given with the call."""
    holders: list[Holder] = []

    def start(who: Identity, *, data_dir: Path) -> Holder:
        os.chown(open_folder, who.uid, who.gid)
        holders.append(Holder(who, {"durable": False, "data_dir": str(data_dir)}, environment={}, cwd=Path("/")))
        return holders[-1]

    yield start
    for holder in holders:
        holder.close()
