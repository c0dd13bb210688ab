"""One lane, as the tests of the SQL have it."""

from lanes import lane, refuses

__all__ = ["lane", "refuses"]
