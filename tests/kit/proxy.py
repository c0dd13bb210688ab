"""A line to the server that can be cut, stalled, or made to lose the server's answers.

It listens on a Unix socket of its own; whoever is to be cut off connects through it.
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

__all__ = ["Line", "Proxy", "proxied"]

PORT = 5432


class Line(Enum):
    """What the proxy does with what arrives."""

    OPEN = "both ways"
    ANSWERS_LOST = "the server hears, and nobody hears the server"
    STALLED = "nothing goes through, nobody is told"


class Proxy:
    """Runs in a thread of its own."""

    def __init__(self, server: Path, folder: Path) -> None:
        self._server = server
        self._socket = folder / f".s.PGSQL.{PORT}"
        self._loop = asyncio.new_event_loop()
        self._writers: set[asyncio.StreamWriter] = set()
        self._open = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self.line = Line.OPEN
        self.lose_from: bytes | None = None
        """The first answer with this in it is lost, or the answer to the first request with it, and all that follow."""
        self.lost = 0
        """Bytes of answers that nobody heard."""

    def start(self) -> None:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def cut(self) -> None:
        """Every connection is reset, and what comes next goes through."""
        self.line = Line.OPEN
        asyncio.run_coroutine_threadsafe(self._cut(), self._loop).result()

    def reopen(self) -> None:
        """What was stalled goes on."""
        self.line = Line.OPEN
        self._loop.call_soon_threadsafe(self._open.set)

    def stall(self) -> None:
        self.line = Line.STALLED
        self._loop.call_soon_threadsafe(self._open.clear)

    async def _listen(self) -> None:
        self._open.set()
        self._listening = await asyncio.start_unix_server(self._serve, self._socket)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_unix_connection(self._server)
        self._writers |= {writer, back}
        pumps = self._pump(reader, back, is_answer=False), self._pump(there, writer, is_answer=True)
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*pumps)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_answer: bool) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                await self._open.wait()
                if self.lose_from and self.lose_from in data:
                    self.line, self.lose_from = Line.ANSWERS_LOST, None
                if is_answer and self.line is Line.ANSWERS_LOST:
                    self.lost += len(data)
                    continue
                writer.write(data)
                await writer.drain()
        writer.close()
        self._writers.discard(writer)

    async def _cut(self) -> None:
        self._open.set()
        for writer in list(self._writers):
            writer.transport.abort()
        self._writers.clear()

    async def _close(self) -> None:
        self._listening.close()
        await self._cut()
        pending = asyncio.all_tasks() - {asyncio.current_task()}
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)


@contextmanager
def proxied(dsn: str, folder: Path) -> Iterator[tuple[Proxy, str]]:
    """The proxy, and the DSN that goes through it."""
    parts = urlsplit(dsn)
    where = {name: values[0] for name, values in parse_qs(parts.query).items()}
    server = Path(where["host"]) / f".s.PGSQL.{where.get('port', PORT)}"
    proxy = Proxy(server, folder)
    proxy.start()
    try:
        through = {**where, "host": str(folder), "port": str(PORT)}
        yield proxy, urlunsplit(parts._replace(query=urlencode(through)))
    finally:
        proxy.stop()
