"""What a database said against a call, as one of our errors: whichever driver brought it, and whoever wrapped it."""

from typing import Any, NamedTuple

from laneway.errors import ConnectionLost, LanewayError, refusal

__all__ = ["Fault", "fault_of", "translated"]

# refuse() raises with these, and names its code in the place of a constraint.
_OURS = frozenset({"22004", "22003", "22023", "54000", "54001", "P0002", "55000", "55P03", "25001", "42501"})
_NOT_ALLOWED = "42501"
_SHUTDOWN = frozenset({"57P01", "57P02", "57P03", "57P05"})


# What drivers raise, by name, when it is the connection that failed: without a state, since no server said it.
# InternalClientError is what asyncpg says when it is cut off between two messages.
_LOST = frozenset({"OperationalError", "ConnectionDoesNotExistError", "ConnectionFailureError", "InternalClientError"})


class Fault(NamedTuple):
    """The fields of a server's error; without a state it never came from one."""

    state: str | None
    message: str
    code: str | None
    field: str | None
    hint: str
    is_lost_connection: bool


def fault_of(error: BaseException) -> Fault:
    """Looks through SQLAlchemy's and Django's wrappers at the driver's own error."""
    inner = _innermost(error)
    diag: Any = getattr(inner, "diag", None) or inner
    state = getattr(inner, "sqlstate", None) or getattr(inner, "pgcode", None)
    message = getattr(diag, "message_primary", None) or getattr(inner, "message", None) or str(inner)
    hint = getattr(diag, "message_hint", None) or getattr(inner, "hint", None) or ""
    return Fault(
        state=state,
        message=" ".join(str(message).split()),
        code=getattr(diag, "constraint_name", None),
        field=getattr(diag, "column_name", None),
        hint=str(hint),
        is_lost_connection=_is_lost(inner, state),
    )


def translated(error: BaseException, *, known: str) -> LanewayError | None:
    """One of ours, or None for an error that is the caller's own; `known` says what is known if the connection went."""
    fault = fault_of(error)
    if fault.state in _OURS and fault.code and fault.field is not None:
        return refusal(fault.code, field=_plain(fault.field), hint=fault.hint, message=_plain(fault.message))
    if fault.state == _NOT_ALLOWED:
        return refusal(
            "forbidden",
            field="login",
            hint="Use a login of a group that may; see the access table.",
            message=f"login: {fault.message}",
        )
    if fault.is_lost_connection:
        return ConnectionLost(f"connection: {fault.message}", known=known)
    return None


def _innermost(error: BaseException) -> BaseException:
    seen: BaseException | None = error
    while seen is not None:
        if getattr(seen, "sqlstate", None) or getattr(seen, "pgcode", None):
            return seen
        seen = getattr(seen, "orig", None) or seen.__cause__
    return getattr(error, "orig", None) or error


def _is_lost(error: BaseException, state: str | None) -> bool:
    if state is not None:
        return state.startswith("08") or state in _SHUTDOWN
    names = {kind.__name__ for kind in type(error).__mro__}
    # asyncpg and psycopg: "connection is closed"; their other InterfaceErrors are the caller's slips
    was_closed = "InterfaceError" in names and "closed" in str(error)
    return isinstance(error, OSError) or was_closed or bool(names & _LOST)


def _plain(field: str) -> str:
    return field.removeprefix("p_")
