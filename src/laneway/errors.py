"""Everything that Laneway raises at its users.

LanewayError             field, value and hint stand beside the sentence, each by itself
├── DefinitionError      a declaration in code is wrong
├── ConfigurationError   a setting, or the path of an application, is wrong
├── DurationInvalid      what should say how long does not
├── PayloadInvalid       a payload does not fit its definition; `errors` has every fault
├── TenantRequired       nobody said whose job it is
├── Refused              the database or a door refused; `code` says why
│   ├── NotFound         unknown
│   ├── Conflict         conflict, duplicate
│   ├── Forbidden        forbidden
│   └── Busy             busy
├── ConnectionLost       the line was cut; `known` says what became of what was under way
├── JobFailed            a result was waited for: the job failed
├── JobCanceled          .. it was canceled
└── ResultTimeout        .. it did not end in time

What a handler raises to say how its attempt ends stands in `model/ending.py`: that is no error.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

__all__ = [
    "MOST_FAULTS",
    "REFUSAL_CODES",
    "Busy",
    "ConfigurationError",
    "Conflict",
    "ConnectionLost",
    "DefinitionError",
    "DurationInvalid",
    "Forbidden",
    "JobCanceled",
    "JobFailed",
    "LanewayError",
    "NotFound",
    "PayloadFault",
    "PayloadInvalid",
    "Refused",
    "ResultTimeout",
    "TenantRequired",
    "refusal",
    "shorten",
]

MOST_FAULTS = 20
"""So many faults of a payload are told: a list of 100,000 wrong numbers is one mistake."""
_SHOWN = 80


def shorten(value: object) -> str:
    """A value as an error shows it: as JSON where it is JSON, cut where the database cuts as well."""
    try:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


class LanewayError(Exception):
    """One sentence; the field, its value and the way out, each by itself for whoever prints it."""

    def __init__(self, message: str, *, field: str | None = None, value: str | None = None, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.value = value
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}. {self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[object, ...]:
        # errors travel between processes; pickle would call the constructor without its keywords
        return _revive, (type(self), self.args, self.__dict__)


def _revive(kind: type[LanewayError], args: tuple[object, ...], fields: Mapping[str, object]) -> LanewayError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error


class DefinitionError(LanewayError):
    """A declaration in code is wrong; raised where the code is imported."""


class ConfigurationError(LanewayError):
    """A setting, or the path of an application, is wrong."""


class DurationInvalid(LanewayError):
    """What should say how long does not."""


class TenantRequired(LanewayError):
    """Nobody said whose job it is; a tenant is never guessed."""


@dataclass(frozen=True, slots=True)
class PayloadFault:
    """One thing wrong with a payload."""

    path: str
    """JSON pointer to what is wrong or missing; empty: the payload as a whole."""
    message: str
    value: str | None = None
    """What stands there, shortened; None where nothing does."""

    def __str__(self) -> str:
        shown = "" if self.value is None else f" (here: {self.value})"
        return f"{self.path or 'the whole'}: {self.message}{shown}"


class PayloadInvalid(LanewayError):
    """A payload does not fit its definition; the sentence tells the first fault, `errors` has them all."""

    def __init__(self, message: str, *, errors: tuple[PayloadFault, ...], hint: str = "") -> None:
        first = next(iter(errors), PayloadFault("", message))
        super().__init__(message, field=f"payload{first.path}", value=first.value, hint=hint)
        self.errors = errors

    @classmethod
    def of(cls, what: str, errors: tuple[PayloadFault, ...], *, hint: str = "") -> Self:
        more = len(errors) - 1
        others = f"; {more} more" if more else ""
        return cls(f"payload of {what}: {errors[0]}{others}", errors=errors, hint=hint)


class Refused(LanewayError):
    """The database or a door refused: nothing was done."""

    def __init__(
        self, message: str, *, code: str, field: str | None = None, value: str | None = None, hint: str = ""
    ) -> None:
        super().__init__(message, field=field, value=value, hint=hint)
        self.code = code
        """One of REFUSAL_CODES; a newer database may know more."""


class NotFound(Refused):
    """What was named is not there, or not this tenant's: which of the two is not told."""


class Conflict(Refused):
    """Something else is in the way."""


class Forbidden(Refused):
    """The caller may not do it."""


class Busy(Refused):
    """Another session holds it at this moment: the same call may succeed a little later."""


# The sentence of each code, as `refuse()` and `explain_refusal()` in the SQL have it.
_SENTENCES = {
    "required": "is missing",
    "out_of_range": "{value} is out of range",
    "malformed": '"{value}" is malformed',
    "too_large": "{value} is too large",
    "too_deep": "{value} is nested too deep",
    "unknown": '"{value}" is not known',
    "conflict": '"{value}" is in the way',
    "busy": '"{value}" is held by another session',
    "isolation": '"{value}" cannot be used here',
    "forbidden": "not allowed",
    "disabled": '"{value}" is disabled',
    "suspended": "is suspended",
    "duplicate": '"{value}" is taken by an active job',
}
REFUSAL_CODES = frozenset(_SENTENCES)

_CLASSES: Mapping[str, type[Refused]] = {
    "unknown": NotFound,
    "conflict": Conflict,
    "duplicate": Conflict,
    "forbidden": Forbidden,
    "busy": Busy,
}


def refusal(
    code: str,
    *,
    field: str | None = None,
    value: str | None = None,
    hint: str | None = None,
    message: str | None = None,
) -> Refused:
    """The error for a refusal by its code; without a message it is made from field and value."""
    if message is None:
        fact = _SENTENCES.get(code, f"refused ({code})").replace("{value}", shorten(value or ""))
        message = f"{field}: {fact}" if field else fact
    kind = _CLASSES.get(code, Refused)
    return kind(message, code=code, field=field, value=value, hint=hint or "")


class ConnectionLost(LanewayError):
    """The line to the database was cut while something was under way."""

    def __init__(self, message: str, *, known: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.known = known
        """A sentence: what is known about what was under way."""

    def __str__(self) -> str:
        return " ".join(part for part in (f"{self.message}.", self.known, self.hint) if part)


class JobFailed(LanewayError):
    """The job whose result was waited for failed, for good."""

    def __init__(self, message: str, *, error: object = None, attempts: int = 0, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.error = error
        """What the last attempt reported, as the database has it."""
        self.attempts = attempts


class JobCanceled(LanewayError):
    """The job whose result was waited for was canceled."""


class ResultTimeout(LanewayError):
    """The job whose result was waited for did not end in time; it goes on."""
