"""The owner of a folder: prepares the cluster, starts the server, ends it, and leaves nothing that nobody needs."""

import os
import shutil
import signal
import time
from pathlib import Path

from laneway.devserver.account import Account
from laneway.devserver.binaries import Binaries
from laneway.devserver.cluster import SHOWN_LINES, holds_files, prepare_cluster, superuser_password
from laneway.devserver.command import choose_port, server_arguments
from laneway.devserver.errors import ServerDidNotStartError, UnusableFolderError
from laneway.devserver.folder_lock import EPHEMERAL, KEPT, FolderLock, noted_purpose
from laneway.devserver.leftover import POLL, clear_leftovers
from laneway.devserver.options import ServerOptions
from laneway.devserver.pid_file import PidFile, answers, read_pid_file
from laneway.devserver.places import Place, remove_socket_dir, socket_dir
from laneway.devserver.process import ServerProcess, clean_environment, launch_command, run_to_end

# Recovery of a large crashed database takes its time; the server's own state says that it goes on.
PATIENCE_OF_START = 300.0
PATIENCE_OF_STOP = 60.0
FURTHER_PORTS = 4
LONGEST_LOG = 16 * 1024 * 1024


class Owner:
    def __init__(
        self, place: Place, lock: FolderLock, *, account: Account, binaries: Binaries, options: ServerOptions
    ) -> None:
        self._place = place
        self._lock = lock
        self._account = account
        self._binaries = binaries
        self._options = options
        self._process: ServerProcess | None = None

    def start(self) -> PidFile:
        """Returns when the server takes connections with the password we hold."""
        clear_leftovers(self._place)
        prepare_cluster(self._place, self._account, binaries=self._binaries, durable=self._options.durable)
        shorten_log(self._place.log_file)
        further_ports = FURTHER_PORTS if self._options.port == 0 else 0
        while True:
            try:
                return self._launch()
            except ServerDidNotStartError as failure:
                # Between the choice of a free port and the server's taking it somebody else may be faster.
                if "Address already in use" not in failure.detail or further_ports == 0:
                    raise
                further_ports -= 1

    def stop(self) -> None:
        """Ends the server with a fast shutdown; the data stays unless it is ephemeral."""
        if self._process is not None:
            end(self._process)
            self._clear_after_end(self._process)
        remove_socket_dir(self._place)
        if self._options.ephemeral:
            self._remove_data()
        self._lock.release()

    def _launch(self) -> PidFile:
        port = choose_port(self._options.port)
        sockets = socket_dir(self._place, self._account)
        arguments = server_arguments(self._place, self._options, sockets=sockets, port=port)
        log_starts_at = size_of(self._place.log_file)
        command = launch_command(self._account, self._binaries.postgres, arguments, log=self._place.log_file)
        self._process = ServerProcess(command, environment=clean_environment())
        self._process.start()
        return self._wait_until_ready(self._process, log_starts_at)

    def _wait_until_ready(self, process: ServerProcess, log_starts_at: int) -> PidFile:
        deadline = time.monotonic() + PATIENCE_OF_START
        while not process.ended_within(POLL):
            found = read_pid_file(self._place.data_dir)
            if found is not None and found.pid == process.pid and found.is_ready:
                return self._checked(found)
            if time.monotonic() > deadline:
                raise self._did_not_start(f"is not ready after {PATIENCE_OF_START:.0f} s", log_starts_at, "")
        raise self._did_not_start(how_it_ended(process.exit_code), log_starts_at, process.launcher_words)

    def _checked(self, server: PidFile) -> PidFile:
        if answers(server, superuser_password(self._place)):
            return server
        raise UnusableFolderError(
            f"data_dir: the server runs on {self._place.data_dir} but refuses the password it was made with",
            hint=f"Set that of {self._place.password_file} again, or remove the data folder to start anew.",
        )

    def _did_not_start(self, how: str, log_starts_at: int, launcher_words: str) -> ServerDidNotStartError:
        said = launcher_words + text_from(self._place.log_file, log_starts_at)
        return ServerDidNotStartError(
            f"{self._binaries.version} on {self._place.data_dir} {how} instead of taking connections",
            detail="\n".join(said.strip().splitlines()[-SHOWN_LINES:]),
            hint=f"Mend what its last lines name. The whole log: {self._place.log_file}",
        )

    def _clear_after_end(self, process: ServerProcess) -> None:
        clear_leftovers(self._place)
        if self._options.ephemeral and process.exit_code != 0 and holds_files(self._place.data_dir):
            # A killed server leaves shared memory, which the next start on the same data frees. Here none follows:
            # PostgreSQL's single-user mode frees it, and the data goes in any case.
            arguments = ["--single", "-D", str(self._place.data_dir), "postgres"]
            run_to_end(launch_command(self._account, self._binaries.postgres, arguments))

    def _remove_data(self) -> None:
        for folder in (self._place.data_dir, self._place.staging):
            if folder.exists():
                shutil.rmtree(folder)
        self._place.password_file.unlink(missing_ok=True)
        self._lock.remove_and_release()
        if self._options.data_dir is None:
            self._place.data_dir.parent.rmdir()


def claim_folder(place: Place, lock: FolderLock, *, ephemeral: bool) -> None:
    """Notes who holds it and what for; refuses to turn data made to be kept into data that will be removed."""
    if ephemeral and holds_files(place.data_dir) and noted_purpose(place.lock_file) != EPHEMERAL:
        lock.release()
        raise UnusableFolderError(
            f"ephemeral: {place.data_dir} holds data that was made to be kept, and stop() would remove it",
            hint="Leave data_dir out for a temporary folder, or choose a new one.",
        )
    lock.note(EPHEMERAL if ephemeral else KEPT)


def end(process: ServerProcess) -> None:
    for number, patience in ((signal.SIGINT, PATIENCE_OF_STOP), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 10.0)):
        process.signal(number)
        if process.ended_within(patience):
            return


def how_it_ended(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        return f"was ended by {signal.Signals(-exit_code).name}"
    return f"ended with exit code {exit_code}"


def shorten_log(log: Path) -> None:
    if size_of(log) > LONGEST_LOG:
        log.replace(log.with_name(f"{log.name}.1"))


def size_of(log: Path) -> int:
    return log.lstat().st_size if log.exists() else 0


def text_from(log: Path, offset: int) -> str:
    try:
        opened = os.open(log, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return ""
    with open(opened, "rb") as file:  # noqa: PTH123 -- opened above, without following a link
        file.seek(offset)
        return file.read().decode(errors="replace")
