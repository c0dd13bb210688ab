"""How a server is started: its settings as arguments, which a later joiner can read back."""

import socket
from collections.abc import Mapping
from pathlib import Path

from laneway.devserver.errors import OtherSettingsError, PortTakenError
from laneway.devserver.options import ServerOptions
from laneway.devserver.pid_file import PidFile
from laneway.devserver.places import Place

LOCALHOST = "127.0.0.1"
SOCKET_PORT = 5432
# Claims walk the dead entries of what was claimed before until a vacuum comes by: the usual minute is long for that.
HOUSEKEEPING = {"autovacuum_naptime": "5s"}
HASTE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "autovacuum": "off"}
LOGGING = {
    "logging_collector": "off",
    "log_destination": "stderr",
    "log_line_prefix": "%m [%p] %q%u@%d ",
    "lc_messages": "C",
}


def server_arguments(place: Place, options: ServerOptions, *, sockets: Path, port: int | None) -> list[str]:
    quoted = '"' + str(sockets).replace('"', '""') + '"'
    where = {
        "cluster_name": place.name,
        "listen_addresses": "" if port is None else LOCALHOST,
        "port": str(port or SOCKET_PORT),
        "unix_socket_directories": quoted,
        "unix_socket_permissions": "0700",
    }
    return ["-D", str(place.data_dir), *as_arguments(LOGGING | where | wanted_settings(options))]


def wanted_settings(options: ServerOptions) -> dict[str, str]:
    return {**(HOUSEKEEPING if options.durable else HASTE), **options.settings}


def as_arguments(settings: Mapping[str, str]) -> list[str]:
    return [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]


def choose_port(wanted: int | None) -> int | None:
    """Exactly the wanted one, or any free one for 0: a client that was told a port must not find another server."""
    if wanted is None:
        return None
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOCALHOST, wanted))
            port: int = probe.getsockname()[1]
        except OSError as failure:
            raise PortTakenError(
                f"port: {LOCALHOST}:{wanted} cannot be listened on ({failure.strerror})",
                hint="Choose another port, 0 for any free one, or none for the Unix socket alone.",
            ) from failure
    return port


def check_joinable(server: PidFile, options: ServerOptions) -> None:
    """A joiner gets the owner's server or an error: never less durability, another port or other settings."""
    if options.port is not None and options.port not in {0, server.port}:
        raise cannot_join(server, f"port: {options.port} is asked for, it listens on {server.port or 'no port'}")
    if options.port == 0 and server.port is None:
        raise cannot_join(server, "port: it listens on the Unix socket alone")
    given = (server.data_dir / "postmaster.opts").read_text("utf-8", "surrogateescape")
    if options.durable and '"fsync=off"' in given:
        raise cannot_join(server, "durable: it runs with fsync off")
    for name, value in options.settings.items():
        if f'"{name}={value}"' not in given:
            raise cannot_join(server, f"settings.{name}: it was not started with {value!r}")


def cannot_join(server: PidFile, difference: str) -> OtherSettingsError:
    return OtherSettingsError(
        f"The server that runs on {server.data_dir} cannot be joined: {difference}",
        hint="Stop it, start with the same options, or choose another data_dir.",
    )
