"""Runs a command with LANEWAY_TEST_DSN set to a server of other binaries than the wheel's, made for it alone.

python tools/with_server.py /usr/lib/postgresql/15/bin pytest tests/sql
"""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from laneway.devserver import DevServer, ServerOptions

USAGE = 2


def main(arguments: list[str]) -> int:
    if len(arguments) < USAGE or not Path(arguments[0], "initdb").exists():
        sys.stderr.write(f"usage: with_server.py BINARIES COMMAND...; no initdb in {arguments[:1]}\n")
        return USAGE
    memory = Path("/dev/shm")  # noqa: S108 (a folder of our own is made in it)
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        Path(folder).chmod(0o755)  # the server's account must reach its data through it
        options = ServerOptions(
            data_dir=Path(folder, "pg"),
            binaries=Path(arguments[0]),
            durable=False,
            ephemeral=True,
            settings={"max_connections": "300"},
        )
        with DevServer(options) as server:
            environment = os.environ | {"LANEWAY_TEST_DSN": server.dsn()}
            return subprocess.call(arguments[1:], env=environment)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
