"""The SQL that Laneway is made of, as packaged text. Nothing here reads a database.

`migrations/` are run once, in order; `functions/` hold the only text of each function; `access.csv` says who may do
what; `pins.csv` holds planner settings of functions; `install/` is what the installer itself runs.
"""

from importlib.resources import files
from importlib.resources.abc import Traversable

__all__ = ["installer_text", "packaged"]


def packaged() -> Traversable:
    """The folder with the packaged files."""
    return files(__name__)


def installer_text(name: str) -> str:
    """The text of one file of `install/`."""
    return packaged().joinpath("install", name).read_text("utf-8")
