"""One lane for the tests of a rule that can be seen on it."""

from lanes import lane, refuses

__all__ = ["lane", "refuses"]
