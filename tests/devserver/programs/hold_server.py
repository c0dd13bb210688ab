"""Holds one DevServer as a process of its own, to be signalled and killed by the tests.

Options come as JSON in the first argument. Says one line of JSON when the server runs or could not start, and another
when it has stopped, which it does at the end of its standard input.
"""

import json
import sys
from pathlib import Path

from laneway.devserver import DevServer, DevServerError, ServerOptions


def main() -> None:
    server = DevServer(options_of(json.loads(sys.argv[1])))
    try:
        server.start()
    except DevServerError as error:
        say(error=type(error).__name__, text=str(error))
        return
    say(
        data_dir=str(server.data_dir),
        dsn=server.dsn(),
        joined=server.joined,
        major_version=server.major_version,
        pid=server.pid,
        port=server.port,
        socket_dir=str(server.socket_dir),
    )
    sys.stdin.read()
    server.stop()
    say(stopped=True)


def options_of(given: dict) -> ServerOptions:
    paths = {name: Path(given[name]) for name in ("data_dir", "binaries") if given.get(name)}
    return ServerOptions(**{**given, **paths})


def say(**facts: object) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


main()
