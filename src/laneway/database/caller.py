"""For whom a call is made: how a tenant's context comes into the transaction that carries it.

A login of the group `app` presents a signed token with the call itself; one of `backend` is trusted and enters the
tenant in the same transaction; one that is mapped to a tenant (`tenant_login`) is that tenant and says nothing.
"""

import base64
import binascii
import hashlib
import hmac
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar
from uuid import UUID

from laneway.database.call import Argument, Call, Scope
from laneway.errors import ConfigurationError

__all__ = ["Caller", "ContextKey", "Mapped", "Signed", "Trusted"]

T = TypeVar("T")

# The server takes tokens for up to 900 s. Half of these ten minutes is left when one is made anew: clocks differ.
GOOD_FOR = 600
_ACTOR = re.compile(r"[A-Za-z0-9:_-]{1,80}")
_KEY_ID = re.compile(r"[A-Za-z0-9_-]{1,32}")
_LEAST_BYTES, _MOST_BYTES = 32, 64


class Caller(Protocol):
    """What has to be said before a call, and with it."""

    def before(self, call: Call[Any]) -> Call[None] | None: ...
    def sign(self, call: Call[T]) -> Call[T]: ...


@dataclass(frozen=True, slots=True)
class ContextKey:
    """A key that signs tenant contexts, as `laneway init` and `laneway keys add` print it."""

    id: str
    secret: bytes = field(repr=False)

    @classmethod
    def parse(cls, text: str) -> "ContextKey":
        """Reads `kid:base64`."""
        id_, _, encoded = text.strip().partition(":")
        try:
            secret = base64.b64decode(encoded, validate=True)
        except binascii.Error:
            secret = b""
        if not _KEY_ID.fullmatch(id_) or not _LEAST_BYTES <= len(secret) <= _MOST_BYTES:
            # never the value: it may be a secret with a slip in it
            raise ConfigurationError(
                "context_key: the value is not a key",
                field="context_key",
                hint="Give it as laneway init printed it: k1:, then 32 to 64 bytes in base64.",
            )
        return cls(id_, secret)

    def token(self, tenant: UUID, scope: Scope, actor: str, *, until: int) -> str:
        text = f"{self.id}.t.{tenant}.{scope.value}.{until}.{actor}"
        return f"{text}.{hmac.new(self.secret, text.encode(), hashlib.sha256).hexdigest()}"


@dataclass(slots=True)
class Signed:
    """Signs each call with a token of its tenant."""

    key: ContextKey
    actor: str
    now: Callable[[], float] = time.time
    _tokens: dict[tuple[UUID, Scope], tuple[float, str]] = field(default_factory=dict[Any, Any], init=False, repr=False)

    def __post_init__(self) -> None:
        _require_actor(self.actor)

    def before(self, call: Call[Any]) -> None:  # noqa: ARG002 (the protocol's)
        return None

    def sign(self, call: Call[T]) -> Call[T]:
        if call.tenant is None:
            return call
        return call.with_argument("token", Argument(self._token(call.tenant, call.scope), "text"))

    def _token(self, tenant: UUID, scope: Scope) -> str:
        now = self.now()
        until, token = self._tokens.get((tenant, scope), (0.0, ""))
        if until - now < GOOD_FOR / 2:
            if len(self._tokens) > 10_000:  # noqa: PLR2004 (tenants in use at a time)
                self._tokens.clear()
            until = now + GOOD_FOR
            token = self.key.token(tenant, scope, self.actor, until=int(until))
            self._tokens[tenant, scope] = (until, token)
        return token


@dataclass(frozen=True, slots=True)
class Trusted:
    """Enters the tenant before the call, in its transaction."""

    actor: str

    def __post_init__(self) -> None:
        _require_actor(self.actor)

    def before(self, call: Call[Any]) -> Call[None] | None:
        if call.tenant is None:
            return None
        return Call(
            function="enter_tenant",
            arguments={
                "tenant": Argument(call.tenant, "uuid"),
                "scope": Argument(call.scope.value, "text"),
                "actor": Argument(self.actor, "text"),
            },
            columns=["1"],
            read=lambda _: None,
        )

    def sign(self, call: Call[T]) -> Call[T]:
        return call


@dataclass(frozen=True, slots=True)
class Mapped:
    """The login is the tenant."""

    def before(self, call: Call[Any]) -> None:  # noqa: ARG002 (the protocol's)
        return None

    def sign(self, call: Call[T]) -> Call[T]:
        return call


def _require_actor(actor: str) -> None:
    if not _ACTOR.fullmatch(actor):
        raise ConfigurationError(
            f'actor: "{actor[:80]}" is malformed',
            field="actor",
            value=actor[:80],
            hint="Use 1 to 80 of A-Z a-z 0-9 : _ -",
        )
