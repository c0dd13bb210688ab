"""Which user the server runs as. PostgreSQL refuses uid 0, and initdb refuses a uid without a passwd entry."""

import os
import pwd
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from laneway.devserver.errors import UnusableAccountError

STAND_INS = ("laneway", "postgres", "nobody")


@dataclass(frozen=True, slots=True)
class Account:
    """The user of the server's processes and the owner of its data."""

    uid: int
    gid: int
    name: str

    @classmethod
    def of(cls, entry: pwd.struct_passwd) -> Self:
        return cls(entry.pw_uid, entry.pw_gid, entry.pw_name)

    def can_enter(self, folder: Path) -> bool:
        """Says whether the mode bits of `folder` and all above it let this account through."""
        return all(self._may_search(part.stat()) for part in (folder, *folder.parents))

    def _may_search(self, found: os.stat_result) -> bool:
        if found.st_uid == self.uid:
            return bool(found.st_mode & stat.S_IXUSR)
        if found.st_gid == self.gid:
            return bool(found.st_mode & stat.S_IXGRP)
        return bool(found.st_mode & stat.S_IXOTH)


def serving_account(stand_ins: Sequence[str] = STAND_INS) -> Account:
    """Ourselves, or for root the first of the stand-ins that exists. No user is ever created."""
    if os.geteuid() != 0:
        return account_of_uid(os.geteuid())
    for name in stand_ins:
        try:
            return Account.of(pwd.getpwnam(name))
        except KeyError:
            continue
    raise UnusableAccountError(
        f"user: PostgreSQL refuses to run as root, and none of {', '.join(stand_ins)} exists here",
        hint="Create one (useradd --system laneway), start as an ordinary user, or give --database-url.",
    )


def account_of_uid(uid: int) -> Account:
    try:
        return Account.of(pwd.getpwuid(uid))
    except KeyError as missing:
        raise UnusableAccountError(
            f"user: uid {uid} has no passwd entry, and initdb refuses to work for a user without a name",
            hint="Give --database-url, or add a passwd entry for this uid.",
        ) from missing


def account_for(data_dir: Path, newcomer: Account) -> Account:
    """The account for a data folder: root serves existing data as its owner; others own it or leave it alone."""
    try:
        owner = data_dir.stat().st_uid
    except FileNotFoundError:
        return newcomer
    if owner == newcomer.uid:
        return newcomer
    if os.geteuid() != 0:
        raise UnusableAccountError(
            f"data_dir: {data_dir} belongs to uid {owner}, we are {newcomer.name} (uid {newcomer.uid})",
            hint="Choose another data_dir, or start as the owner of this one.",
        )
    return newcomer if owner == 0 else account_of_uid(owner)
