"""The application object: jobs are declared on it, and it has the connections that put them in.

Making one opens nothing and reads nothing; settings are looked up when the first call is made.
"""

import asyncio
import warnings
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any, Concatenate, ParamSpec, TypeVar, Unpack, overload
from uuid import UUID

from laneway.async_client import AsyncClient
from laneway.client import Client
from laneway.config import Environment
from laneway.database.caller import Caller, ContextKey, Signed, Trusted
from laneway.database.calls.definitions import DefinitionChange, check_definitions, force_definitions, sync_definitions
from laneway.database.session import Door
from laneway.definitions.options import JobOptions
from laneway.definitions.registry import Registry
from laneway.errors import ConfigurationError
from laneway.job import Job
from laneway.model.context import HandlerContext
from laneway.tenancy import as_tenant
from laneway.worker.options import Place, WorkerOptions
from laneway.worker.worker import Worker

__all__ = ["Laneway"]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
C = TypeVar("C", bound=HandlerContext)

AnyJob = Job[..., ..., Any, Any]


class Laneway:
    """One code base: its jobs, and the way to its database."""

    def __init__(
        self,
        dsn: str | None = None,
        *,
        schema: str | None = None,
        context_key: str | None = None,
        name: str = "main",
        actor: str = "app",
        connections: int = 10,
        patience_seconds: float = 30,
    ) -> None:
        self.name = name
        """Under which its definitions are kept: code bases that share a database have different ones."""
        self.jobs: Registry[AnyJob] = Registry()
        self._dsn = dsn
        self._schema = schema
        self._context_key = context_key
        self._actor = actor
        self._connections = connections
        self._patience_seconds = patience_seconds
        self._has_warned = False

    # An async handler's result is what awaiting it gives; a context is not part of the payload.
    @overload
    def job(
        self, function: Callable[Concatenate[C, P], Awaitable[T]], /
    ) -> Job[Concatenate[C, P], P, Awaitable[T], T]: ...
    @overload
    def job(self, function: Callable[P, Awaitable[T]], /) -> Job[P, P, Awaitable[T], T]: ...
    @overload
    def job(self, function: Callable[Concatenate[C, P], T], /) -> Job[Concatenate[C, P], P, T, T]: ...
    @overload
    def job(self, function: Callable[P, T], /) -> Job[P, P, T, T]: ...
    @overload
    def job(self, /, **options: Unpack[JobOptions]) -> "Declares": ...
    def job(self, function: Callable[..., Any] | None = None, /, **options: Unpack[JobOptions]) -> Any:
        """Declares a job: `@app.job` or `@app.job(queue="mail", max_attempts=5)`."""
        declares = Declares(self, options)
        return declares if function is None else declares(function)

    def tenant(self, tenant: UUID | str) -> AbstractContextManager[None]:
        """Whose jobs are enqueued inside the block."""
        return as_tenant(tenant)

    def declare(self, function: Callable[..., Any], options: JobOptions) -> AnyJob:
        job: AnyJob = Job[..., ..., Any, Any](function, options, self)
        self.jobs.add(job)
        return job

    def sync(self, *, force: str | None = None) -> list[DefinitionChange]:
        """Writes what this code declares into the database; a reason for `force` takes operators' overrides back."""
        declared = self.jobs.declared()
        call = (
            sync_definitions(self.name, declared)
            if force is None
            else force_definitions(self.name, declared, reason=force)
        )
        return self.client.run(call)

    def check(self) -> list[DefinitionChange]:
        """What a sync would change."""
        return self.client.run(check_definitions(self.name, self.jobs.declared()))

    @property
    def client(self) -> Client:
        """The verbs, blocking."""
        return self._client

    @property
    def aclient(self) -> AsyncClient:
        """The verbs, to be awaited. For one event loop."""
        return self._aclient

    @cached_property
    def place(self) -> Place:
        """Where the database is."""
        return Place(self._door.dsn, self._door.schema)

    def connect_to(self, dsn: str) -> None:
        """Another database than the one that code or environment name; before the first call."""
        self._dsn = dsn

    def worker(self, options: WorkerOptions | None = None) -> Worker:
        """A worker for all jobs declared here, former keys included."""
        jobs = {key: self.jobs.job_for(key) for key in self.jobs.names()}
        return Worker(self.place, jobs, options or WorkerOptions(), former=self.jobs.aliases.keys())

    def close(self) -> None:
        """Closes the blocking connections."""
        self.client.close()

    async def aclose(self) -> None:
        """Closes the connections of this event loop."""
        await self.aclient.close()

    def warn_if_in_loop(self, name: str) -> None:
        """A blocking call in an event loop holds everybody up for a round trip: said once."""
        if self._has_warned:
            return
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return
        self._has_warned = True
        warnings.warn(f"{name}() blocks the event loop for a round trip; await a{name}()", stacklevel=4)

    @cached_property
    def _client(self) -> Client:
        return Client(self._door)

    @cached_property
    def _aclient(self) -> AsyncClient:
        return AsyncClient(self._door)

    @cached_property
    def _door(self) -> Door:
        said = Environment.read()
        dsn = self._dsn or said.database_url
        if not dsn:
            raise ConfigurationError(
                "database_url: no database is named",
                field="database_url",
                hint="Set LANEWAY_DATABASE_URL, or Laneway(dsn=...).",
            )
        return Door(
            dsn=dsn,
            schema=self._schema or said.schema or "laneway",
            caller=self._caller(self._context_key or said.context_key),
            connections=self._connections,
            patience_seconds=self._patience_seconds,
        )

    def _caller(self, key: str | None) -> Caller:
        """With a key the login needs no trust; without one it has to be a member of the group `backend`."""
        return Trusted(self._actor) if key is None else Signed(ContextKey.parse(key), self._actor)


class Declares:
    """`@app.job(...)` with options, on its way to the function."""

    def __init__(self, app: Laneway, options: JobOptions) -> None:
        self._app = app
        self._options = options

    @overload
    def __call__(
        self, function: Callable[Concatenate[C, P], Awaitable[T]], /
    ) -> Job[Concatenate[C, P], P, Awaitable[T], T]: ...
    @overload
    def __call__(self, function: Callable[P, Awaitable[T]], /) -> Job[P, P, Awaitable[T], T]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[C, P], T], /) -> Job[Concatenate[C, P], P, T, T]: ...
    @overload
    def __call__(self, function: Callable[P, T], /) -> Job[P, P, T, T]: ...
    def __call__(self, function: Callable[..., Any], /) -> AnyJob:
        return self._app.declare(function, self._options)
