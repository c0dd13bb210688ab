"""The embedded server as its callers see it: one object to start, ask for a DSN, and stop.

The first to start on a folder owns the server; whoever starts there while the owner lives joins it. The server lives
exactly as long as its owner: `stop()` of a joiner only forgets it, `stop()` of the owner cuts the joiners' connections,
and when the owner is killed the kernel has the server shut down cleanly. Whoever starts next on the data owns it.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote, urlencode

from laneway.devserver.account import account_for, serving_account
from laneway.devserver.acquire import chosen_place, lock_or_server, major_version_of
from laneway.devserver.binaries import find_binaries
from laneway.devserver.cluster import SUPERUSER, superuser_password
from laneway.devserver.errors import DevServerError
from laneway.devserver.folder_lock import FolderLock
from laneway.devserver.options import ServerOptions
from laneway.devserver.owner import Owner, claim_folder
from laneway.devserver.pid_file import PidFile
from laneway.devserver.places import Place, folder_of_all, make_room_for
from laneway.devserver.temporary import new_temporary_place


@dataclass(frozen=True, slots=True)
class Running:
    """A server that took a connection of ours."""

    server: PidFile
    major_version: int
    password: str
    joined: bool


class DevServer:
    """An embedded PostgreSQL server; a context manager that starts and stops it."""

    def __init__(self, options: ServerOptions) -> None:
        self._options = options
        self._starter: int | None = None
        self._owner: Owner | None = None
        self._known: Running | None = None

    def start(self) -> None:
        """Starts a server, or joins the one that another process or object of ours runs on the same data."""
        if self._starter is not None:
            raise DevServerError("start: a DevServer starts once", hint="Make another one.")
        self._starter = os.getpid()
        try:
            self._known = self._own_or_join()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Ends the server if we own it; may be called twice, and in a forked child does nothing."""
        owner, self._owner = self._owner, None
        if owner is not None and self._starter == os.getpid():
            owner.stop()

    def dsn(self, database: str = "postgres", *, user: str | None = None, password: str | None = None) -> str:
        """A URI for libpq and asyncpg over the Unix socket: of the superuser with its password, or of `user`."""
        who = quote(user or SUPERUSER, safe="")
        secret = self._running.password if password is None and user in {None, SUPERUSER} else password
        credentials = who if secret is None else f"{who}:{quote(secret, safe='')}"
        where = urlencode({"host": str(self.socket_dir), "port": self._running.server.socket_port}, quote_via=quote)
        return f"postgresql://{credentials}@/{quote(database, safe='')}?{where}"

    @property
    def major_version(self) -> int:
        return self._running.major_version

    @property
    def pid(self) -> int:
        return self._running.server.pid

    @property
    def data_dir(self) -> Path:
        return self._running.server.data_dir

    @property
    def socket_dir(self) -> Path:
        return self._running.server.socket_dir

    @property
    def port(self) -> int | None:
        """The port on 127.0.0.1; None when the server listens on its Unix socket alone."""
        return self._running.server.port

    @property
    def joined(self) -> bool:
        """Says that somebody else had started the server, who also ends it."""
        return self._running.joined

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def _running(self) -> Running:
        if self._known is None:
            raise DevServerError("start: this DevServer was not started", hint="Call start() or use `with`.")
        return self._known

    def _own_or_join(self) -> Running:
        account = serving_account()
        binaries = find_binaries(account, given=self._options.binaries, copies=folder_of_all)
        if self._options.ephemeral and self._options.data_dir is None:
            place, lock = new_temporary_place(binaries.major)
            return self._own(Owner(place, lock, account=account, binaries=binaries, options=self._options), place)
        place = chosen_place(self._options, binaries.major)
        account = account_for(place.data_dir, account)
        make_room_for(place, account)
        held = lock_or_server(place, self._options)
        if not isinstance(held, FolderLock):
            return running(held, place, joined=True)
        claim_folder(place, held, ephemeral=self._options.ephemeral)
        return self._own(Owner(place, held, account=account, binaries=binaries, options=self._options), place)

    def _own(self, owner: Owner, place: Place) -> Running:
        self._owner = owner
        return running(owner.start(), place, joined=False)


def running(server: PidFile, place: Place, *, joined: bool) -> Running:
    return Running(server, major_version_of(server.data_dir), superuser_password(place), joined)
