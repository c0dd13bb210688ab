"""Signed contexts as an application makes them, with Python's own hmac."""

import hashlib
import hmac
import time
from uuid import UUID

from kit.template import CONTEXT_KEY, CONTEXT_KID

__all__ = ["sign"]


def sign(
    tenant: UUID,
    *,
    scope: str = "a",
    actor: str = "somebody",
    kind: str = "t",
    limit: int | None = None,
    kid: str = CONTEXT_KID,
    key: bytes = CONTEXT_KEY,
) -> str:
    """A token that opens a tenant for two minutes."""
    text = f"{kid}.{kind}.{tenant}.{scope}.{limit or int(time.time()) + 120}.{actor}"
    return f"{text}.{hmac.new(key, text.encode(), hashlib.sha256).hexdigest()}"
