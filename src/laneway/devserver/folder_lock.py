"""Who may start a server on a folder: the holder of a file lock beside it. The kernel frees it with its holder.

The file names the holder, for whoever is kept waiting, and whether the data may be removed (an ephemeral server's). It
is removed with ephemeral data; so a taken lock counts only if the file is still the one at its path.
"""

import fcntl
import os
from pathlib import Path
from typing import Self

from laneway.devserver.errors import UnusableFolderError

EPHEMERAL = "ephemeral"
KEPT = "kept"


class FolderLock:
    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor: int | None = descriptor

    @classmethod
    def try_take(cls, path: Path) -> Self | None:
        """Takes the lock, or answers None when somebody has it."""
        descriptor = open_lock_file(path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        if is_still_at(path, descriptor):
            return cls(path, descriptor)
        os.close(descriptor)
        return cls.try_take(path)

    @classmethod
    def take(cls, path: Path) -> Self:
        """Takes the lock, waiting for it: for what is held for moments."""
        descriptor = open_lock_file(path)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return cls(path, descriptor)

    def note(self, purpose: str) -> None:
        """Writes the holder and the purpose of the data into the file."""
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, f"{os.getpid()} {purpose}\n".encode(), 0)

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def remove_and_release(self) -> None:
        if self._descriptor is not None:
            self.path.unlink(missing_ok=True)
            self.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def noted_holder(path: Path) -> str:
    return noted(path)[0] or "unknown"


def noted_purpose(path: Path) -> str:
    return noted(path)[1]


def noted(path: Path) -> tuple[str, str]:
    try:
        words = path.read_text().split()
    except FileNotFoundError:
        words = []
    return (words[0], words[1]) if len(words) > 1 else ("", "")


def open_lock_file(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as failure:
        raise UnusableFolderError(
            f"data_dir: the lock file {path} cannot be opened ({failure.strerror})",
            hint="Choose a data_dir in a folder where this user may write.",
        ) from failure


def is_still_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
