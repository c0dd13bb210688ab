"""Laneway: a multi-tenant job platform that lives in your PostgreSQL.

The public names, each loaded when it is first asked for: importing Laneway opens nothing and reads no file.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from laneway.version import __version__

if TYPE_CHECKING:
    from laneway.app import Laneway
    from laneway.errors import (
        ConnectionLost,
        JobCanceled,
        JobFailed,
        LanewayError,
        PayloadInvalid,
        Refused,
        ResultTimeout,
        TenantRequired,
    )
    from laneway.model.ending import Permanent, RetryIn, Snooze
    from laneway.model.retry import Retry
    from laneway.worker.context import Context, SyncContext

__all__ = [
    "ConnectionLost",
    "Context",
    "JobCanceled",
    "JobFailed",
    "Laneway",
    "LanewayError",
    "PayloadInvalid",
    "Permanent",
    "Refused",
    "ResultTimeout",
    "Retry",
    "RetryIn",
    "Snooze",
    "SyncContext",
    "TenantRequired",
    "__version__",
]

_HOMES = {
    "Laneway": "laneway.app",
    "Context": "laneway.worker.context",
    "SyncContext": "laneway.worker.context",
    "Permanent": "laneway.model.ending",
    "RetryIn": "laneway.model.ending",
    "Snooze": "laneway.model.ending",
    "Retry": "laneway.model.retry",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'laneway' has no attribute {name!r}")
    value: object = getattr(import_module(_HOMES.get(name, "laneway.errors")), name)
    globals()[name] = value
    return value
