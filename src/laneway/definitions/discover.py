"""Finds an application by its path, `package.module:name`."""

import re
import sys
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from laneway.errors import ConfigurationError

__all__ = ["load"]

WantedT = TypeVar("WantedT")

_DOTTED = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_PATH = re.compile(rf"({_DOTTED}):({_DOTTED})")


def load(path: str, wanted: type[WantedT], *, from_directory: Path | None = None) -> WantedT:
    """The object at a path. The directory, where one is given, comes first in Python's path and stays there, since
    modules may be imported later.
    """
    match = _PATH.fullmatch(path)
    if match is None:
        raise _error(path, f'"{path}" is not the path of an application', "Write for example shop.jobs:app.")
    if from_directory is not None and str(from_directory) not in sys.path:
        sys.path.insert(0, str(from_directory))
    found: object = _import(path, match[1])
    for name in match[2].split("."):
        found = _attribute(path, found, name)
    if not isinstance(found, wanted):
        fact = f'"{path}" is a {type(found).__name__}, not a {wanted.__name__}'
        raise _error(path, fact, f"Name the variable that holds the {wanted.__name__}.")
    return found


def _import(path: str, module: str) -> ModuleType:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise _broken(path, module, error) from error
        hint = f"Python looked in {', '.join(sys.path[:3]) or 'nothing'} and further; is the spelling right?"
        raise _error(path, f'there is no module "{error.name}"', hint) from None
    except ImportError as error:
        raise _broken(path, module, error) from error


def _broken(path: str, module: str, error: ImportError) -> ConfigurationError:
    return _error(path, f'module "{module}" is there, but importing it failed: {error}', "Mend that import first.")


def _attribute(path: str, holder: object, name: str) -> object:
    try:
        return getattr(holder, name)
    except AttributeError:
        where = getattr(holder, "__name__", type(holder).__name__)
        names = [known for known in dir(holder) if not known.startswith("_")]
        near = get_close_matches(name, names, n=3) or names[:5]
        hint = f"It has {', '.join(near)}." if near else "It is empty."
        raise _error(path, f'"{where}" has no "{name}"', hint) from None


def _error(path: str, fact: str, hint: str) -> ConfigurationError:
    return ConfigurationError(f"app: {fact}", field="app", value=path, hint=hint)
