"""Laneway: a multi-tenant job platform that lives in your PostgreSQL."""

from laneway.version import __version__

__all__ = ["__version__"]
