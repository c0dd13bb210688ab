"""Whose work is being done: the tenant of a `with app.tenant(...)` block, or of the job that runs."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from uuid import UUID

from laneway.errors import TenantRequired

__all__ = ["as_tenant", "current_tenant", "inside", "tenant_of"]

_current: ContextVar[UUID | None] = ContextVar("laneway_tenant", default=None)


def current_tenant() -> UUID | None:
    return _current.get()


def inside(tenant: UUID) -> None:
    """From here on, for the rest of this task or thread."""
    _current.set(tenant)


@contextmanager
def as_tenant(tenant: UUID | str) -> Generator[None]:
    token = _current.set(tenant_of(tenant))
    try:
        yield
    finally:
        _current.reset(token)


def tenant_of(given: UUID | str | None) -> UUID:
    """The one given, else the one of the block or job around; never guessed."""
    tenant = _current.get() if given is None else given
    if tenant is None:
        raise TenantRequired(
            "tenant: nobody said whose job this is",
            field="tenant",
            hint="Give tenant=, or call it inside with app.tenant(id): or a handler.",
        )
    try:
        return tenant if isinstance(tenant, UUID) else UUID(tenant)
    except ValueError:
        raise TenantRequired(
            f'tenant: "{tenant}" is not the id of a tenant',
            field="tenant",
            value=str(tenant),
            hint="Give its uuid; list_tenants() in SQL shows them.",
        ) from None
