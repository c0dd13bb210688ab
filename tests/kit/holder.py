"""Owns the server of a test run: `python holder.py FOLDER` prints its DSN and stops it when the run's pipe closes."""

import fcntl
import os
import shutil
import sys
from pathlib import Path

from laneway.devserver import DevServer, ServerOptions


def main(folder: Path) -> None:
    with (folder / "holder.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # not blocking, so that a run that is already over does not keep us waiting for a writer
        run = os.open(folder / "run.pipe", os.O_RDONLY | os.O_NONBLOCK)
        os.set_blocking(run, True)
        options = ServerOptions(
            data_dir=folder / "data", durable=False, ephemeral=True, settings={"max_connections": "300"}
        )
        with DevServer(options) as server:
            sys.stdout.write(server.dsn() + "\n")
            sys.stdout.close()
            os.read(run, 1)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
