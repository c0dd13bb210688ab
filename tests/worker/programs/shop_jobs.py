"""The jobs that the tests' workers run: they wait for the test, not for time."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn
from uuid import UUID

from laneway import Laneway, Permanent, RetryIn, Snooze, SyncContext
from laneway.tenancy import current_tenant

app = Laneway()


@app.job
async def echo(text: str = "") -> str:
    return text


@app.job(max_attempts=3)
def wait_for(ctx: SyncContext, pipe: str) -> str:
    """Blocks until the test writes into the pipe."""
    Path(f"{pipe}.{ctx.attempt}.begun").touch()
    return Path(pipe).read_text()


@app.job(timeout="1s", max_attempts=1)
async def wait_for_ever(begun: str) -> None:
    Path(begun).touch()
    await asyncio.Event().wait()


@app.job(max_attempts=2)
async def wait_for_a_cancel(begun: str) -> None:
    Path(begun).touch()
    await asyncio.Event().wait()


@app.job(max_attempts=1)
def look_for_a_cancel(ctx: SyncContext, begun: str) -> None:
    Path(begun).touch()
    while True:
        ctx.raise_if_canceled()


ENDINGS: dict[str, Callable[[], object]] = {
    "id": lambda: UUID(int=7),
    "object": object,
    "nul": lambda: "a\0b",
    "surrogate": lambda: "\ud800",
    "nan": lambda: float("nan"),
    "large": lambda: "x" * 70_000,
    "permanent": lambda: raised(Permanent("no such folder")),
    "snooze": lambda: raised(Snooze("10m", "not yet")),
    "retry in": lambda: raised(RetryIn("30s")),
    "error": lambda: raised(ValueError("how\0ever")),
    "exit": lambda: raised(SystemExit(3)),
    "interrupt": lambda: raised(KeyboardInterrupt()),
    "cancel": lambda: raised(asyncio.CancelledError()),
}


def raised(error: BaseException) -> NoReturn:
    raise error


@app.job(max_attempts=2)
async def end_as(how: str) -> object:
    return ENDINGS[how]()


@app.job(max_attempts=2)
def end_in_a_thread_as(how: str) -> object:
    return ENDINGS[how]()


@app.job
def whose(ctx: SyncContext) -> dict[str, object]:
    """What a handler knows of itself; the tenant of what it enqueues is that of the job."""
    return {"tenant": str(ctx.tenant), "current": str(current_tenant()), "key": ctx.idempotency_key}


@app.job
def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
