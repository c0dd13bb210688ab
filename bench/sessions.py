"""Connections of the bench: asyncpg, typed at this edge and nowhere else."""

from typing import Any, Protocol, cast

import asyncpg  # pyright: ignore[reportMissingTypeStubs]

__all__ = ["Row", "Session", "Statement", "open_session"]


class Row(Protocol):
    def __getitem__(self, place: int, /) -> Any: ...  # noqa: ANN401 (a column)


class Statement(Protocol):
    async def fetch(self, *parameters: object) -> list[Row]: ...
    async def fetchval(self, *parameters: object) -> Any: ...  # noqa: ANN401 (a column)


class Session(Protocol):
    async def prepare(self, query: str) -> Statement: ...
    async def execute(self, query: str) -> str: ...
    async def fetch(self, query: str, *parameters: object) -> list[Row]: ...
    async def fetchval(self, query: str, *parameters: object) -> Any: ...  # noqa: ANN401 (a column)
    async def close(self) -> None: ...


async def open_session(dsn: str) -> Session:
    connect = cast("Any", asyncpg).connect
    return cast("Session", await connect(dsn, server_settings={"application_name": "laneway bench"}))
