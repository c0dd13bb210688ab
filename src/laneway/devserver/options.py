"""What a caller may choose about the embedded server; the defaults and bounds stand here and nowhere else."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from laneway.devserver.errors import DevServerError

SETTING_NAME = re.compile(r"[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?", re.IGNORECASE)
OURS = frozenset(
    {
        "cluster_name",
        "config_file",
        "data_directory",
        "hba_file",
        "listen_addresses",
        "logging_collector",
        "port",
        "unix_socket_directories",
        "unix_socket_permissions",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """Options of one embedded server.

    `data_dir`: the cluster's own folder; None takes the place of this user and project, or, for an ephemeral server,
    a new temporary one. A lock file, the password file and, while initdb works, a staging folder lie beside it.
    `port`: a port on 127.0.0.1, exactly that one or an error; 0 takes any free one; None is the Unix socket alone.
    `durable`: off turns fsync, synchronous_commit, full_page_writes and autovacuum off: for tests of logic.
    `ephemeral`: the data is removed by `stop()`, and what a killed owner left is removed by the next ephemeral start.
    `settings`: further PostgreSQL settings by name. `binaries`: a `bin` folder instead of the wheel's or the system's.
    """

    data_dir: Path | None = None
    port: int | None = None
    durable: bool = True
    ephemeral: bool = False
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    binaries: Path | None = None

    def __post_init__(self) -> None:
        if self.port is not None and not 0 <= self.port <= 65535:  # noqa: PLR2004 -- the bounds of a port
            raise DevServerError(
                f"port: {self.port} is no TCP port",
                hint="Give 1 to 65535, 0 for any free port, or none for the Unix socket alone.",
            )
        for name, value in self.settings.items():
            check_setting(name, value)


def check_setting(name: str, value: str) -> None:
    if not SETTING_NAME.fullmatch(name) or "\0" in value:
        raise DevServerError(
            f"settings: {name!r} = {value!r} is no PostgreSQL setting",
            hint="Names are letters, digits and underscores; values hold no NUL.",
        )
    if name.lower() in OURS:
        raise DevServerError(
            f"settings: {name} is set by the embedded server itself",
            hint="Use the options data_dir and port; its name and where socket and log lie are not to choose.",
        )
