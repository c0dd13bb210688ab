"""One attempt as a pipeline: decode the payload, run the handler, judge how it ended. Nothing here raises."""

import asyncio
import contextvars
import functools
import json
from collections.abc import Callable
from concurrent.futures import Executor
from enum import Enum
from typing import Any

from laneway.errors import PayloadInvalid
from laneway.model.ending import Permanent, RetryIn, Snooze
from laneway.worker.context import CanceledByRequest, Context
from laneway.worker.documents import encode_result, error_of, storable
from laneway.worker.outcome import Canceled, Failed, Outcome, Released, Snoozed, Succeeded
from laneway.worker.runnable import Runnable

__all__ = ["Why", "run_attempt"]

_LONGEST_REASON = 1_000


class Why(Enum):
    """Why a handler was told to stop."""

    TIMEOUT = "its time is over"
    CANCELED = "somebody asked for it"
    LOST = "the job is not this worker's any more"
    SHUTDOWN = "the worker stops"


async def run_attempt(
    job: Runnable, payload: str, context: Context, *, threads: Executor, why: Callable[[], Why | None]
) -> Outcome | None:
    """The outcome to be reported; None: there is nothing to say, since the attempt is not ours any more."""
    told = why()
    if told is not None:
        return _stopped(told)
    try:
        args, kwargs = job.decode(payload)
    except PayloadInvalid as error:
        return _invalid(error)
    except Exception as error:  # noqa: BLE001 (a validator of the user's may raise anything)
        return Failed(error=error_of(error), reason=f"payload: {_said(error)}", is_permanent=True)
    call = functools.partial(job.function, *((context, *args) if job.takes_context else args), **kwargs)
    try:
        result = await (call() if job.is_async else _in_thread(call, threads))
    except BaseException as error:  # noqa: BLE001 (a handler may raise anything; the worker lives on)
        return judge(error, why())
    return _succeeded(result)


def judge(error: BaseException, why: Why | None) -> Outcome | None:
    """What an exception of a handler means."""
    match error:
        case Snooze():
            return Snoozed(error.delay_seconds, _shortened(error.reason))
        case Permanent():
            return Failed(error=error_of(error), reason=_said(error), is_permanent=True)
        case RetryIn():
            return Failed(error=error_of(error), reason=_said(error), retry_in_seconds=error.delay_seconds)
        case asyncio.CancelledError() | CanceledByRequest() if why is not None:
            return _stopped(why)
        case _:
            return Failed(error=error_of(error), reason=_said(error))


def _stopped(why: Why) -> Outcome | None:
    match why:
        case Why.TIMEOUT:
            return Failed(
                error=json.dumps({"kind": "Timeout", "message": why.value}), reason=why.value, is_timeout=True
            )
        case Why.CANCELED:
            return Canceled(why.value)
        case Why.SHUTDOWN:
            return Released(why.value)
        case Why.LOST:
            return None


def _succeeded(result: object) -> Outcome:
    try:
        return Succeeded(encode_result(result))
    except Exception as error:  # noqa: BLE001 (models of the user's are encoded here)
        reason = f"result: {type(result).__qualname__} cannot be stored as JSON: {_said(error)}"
        return Failed(error=error_of(error), reason=storable(reason, _LONGEST_REASON), is_permanent=True)


def _invalid(error: PayloadInvalid) -> Failed:
    faults = [{"path": fault.path, "message": fault.message, "value": fault.value} for fault in error.errors]
    said = {"kind": "PayloadInvalid", "message": str(error), "errors": faults}
    return Failed(error=json.dumps(said), reason=_said(error), is_permanent=True)


async def _in_thread(call: Callable[[], Any], threads: Executor) -> Any:  # noqa: ANN401 (a handler's result)
    # Not run_in_executor alone: a cancel would let go of the future while the thread goes on, and its slot with it.
    # The thread sees whose job it is, as asyncio.to_thread would show it.
    future = asyncio.get_running_loop().run_in_executor(threads, contextvars.copy_context().run, call)
    canceled: asyncio.CancelledError | None = None
    while not future.done():
        try:
            await asyncio.wait({future})
        except asyncio.CancelledError as error:
            # the handler sees it at ctx.is_canceled; a thread cannot be stopped
            canceled = error
    if canceled is not None and isinstance(future.exception(), CanceledByRequest):
        raise canceled
    return future.result()


def _said(error: BaseException) -> str:
    text = str(error)
    return storable(f"{type(error).__qualname__}: {text}" if text else type(error).__qualname__, _LONGEST_REASON)


def _shortened(reason: str | None) -> str | None:
    return None if reason is None else storable(reason, _LONGEST_REASON)
