"""Writes what is generated from the SQL and from `states`, or with `--check` says what is stale.

The snapshot needs a fresh install: it is made on an embedded server that lives as long as this takes.
"""

import subprocess
import sys
from pathlib import Path

import psycopg

from laneway.database.install import install
from laneway.devserver import DevServer, ServerOptions

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("laneway.states", "laneway.database.access_page")


def main(arguments: list[str]) -> int:
    check = ["--check"] if "--check" in arguments else []
    codes = [subprocess.call([sys.executable, "-m", page, *check], cwd=ROOT) for page in PAGES]
    with DevServer(ServerOptions(ephemeral=True, durable=False)) as server:
        url = server.dsn()
        with psycopg.connect(url, autocommit=True) as conn:
            install(conn)
        snapshot = [sys.executable, "-m", "laneway.database.snapshot", "--database-url", url, *check]
        codes.append(subprocess.call(snapshot, cwd=ROOT))
    return max(codes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
