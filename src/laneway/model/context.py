"""The mark that contexts of handlers bear, so that declarations are typed and read without the worker's code."""

__all__ = ["HandlerContext"]


class HandlerContext:
    """What `Context` and `SyncContext` derive from."""

    __slots__ = ()
