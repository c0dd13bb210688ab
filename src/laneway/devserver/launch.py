"""Runs as a script between the supervisor and a program of PostgreSQL: drops root, binds its life to ours, becomes it.

A program of its own and not code between fork and exec: there only async-signal-safe calls are allowed once the caller
has threads. The parent-death signal comes after the change of user, which clears it; exec keeps it. It follows the
thread that forked, not its process (see `process.py`). The log is opened by the dropped user, so that a link put in
its place cannot make root write elsewhere; until then what goes wrong is said on the inherited stderr.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
USAGE = "launch.py <parent pid> <uid> <gid> <log file or -> <program> [argument ...]"


def main(arguments: list[str]) -> None:
    parent, uid, gid, log = int(arguments[0]), int(arguments[1]), int(arguments[2]), arguments[3]
    program = arguments[4]
    become(uid, gid)
    die_with(parent)
    os.umask(0o077)
    if log != "-":
        send_output_to(log)
    os.execv(program, arguments[4:])  # noqa: S606 -- becoming the program is the purpose


def become(uid: int, gid: int) -> None:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)


def die_with(parent: int) -> None:
    """Asks for a fast shutdown when the parent dies; the parent may have died before the asking."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGINT), 0, 0, 0) != 0:
        sys.exit(f"prctl(PR_SET_PDEATHSIG): {os.strerror(ctypes.get_errno())}")
    if os.getppid() != parent:
        sys.exit("the parent died before the server started")


def send_output_to(log: str) -> None:
    opened = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    os.dup2(opened, 1)
    os.dup2(opened, 2)
    os.close(opened)


if __name__ == "__main__":
    main(sys.argv[1:])
