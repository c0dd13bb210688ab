"""A declared job with its verbs: `job.using(tenant=t).enqueue(7)` puts one in, `job(7)` is the plain function."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypeVar, Unpack, cast
from uuid import UUID

from laneway.async_client import AsyncClient
from laneway.client import Client
from laneway.definitions.declare import HandlerJob
from laneway.definitions.options import JobOptions
from laneway.handle import AsyncJobHandle, JobHandle, refused_of
from laneway.model.enqueued import Enqueued
from laneway.model.item import Item
from laneway.tenancy import tenant_of
from laneway.using import Using, item_with, require_known

if TYPE_CHECKING:
    from laneway.definitions.schema import CallArguments

__all__ = ["Job", "Sender", "Sending"]

CallP = ParamSpec("CallP")
P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
T_co = TypeVar("T_co", covariant=True)


class Sender(Protocol):
    """Who has the connections."""

    @property
    def client(self) -> Client: ...
    @property
    def aclient(self) -> AsyncClient: ...
    def warn_if_in_loop(self, name: str) -> None: ...


class Job(HandlerJob[CallP, P, R_co], Generic[CallP, P, R_co, T_co]):
    """`T_co` is what its result is, which for a coroutine function is what awaiting it gives."""

    def __init__(self, function: Callable[CallP, R_co], options: JobOptions, sender: Sender) -> None:
        super().__init__(function, options)
        self._sender = sender

    @property
    def takes_context(self) -> bool:
        return self.signature.takes_context

    def decode(self, payload: str) -> "CallArguments":
        """What the handler is called with, behind its context."""
        return self.payload.decode(payload)

    def using(self, **options: Unpack[Using]) -> "Sending[P, T_co]":
        """With these options; nothing is sent yet."""
        return Sending(self, self._sender, options)

    def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> JobHandle[T_co]:
        """Puts one job in for the tenant of the block or job around."""
        return self.using().enqueue(*args, **kwargs)

    async def aenqueue(self, *args: P.args, **kwargs: P.kwargs) -> AsyncJobHandle[T_co]:
        """As `enqueue`, to be awaited."""
        return await self.using().aenqueue(*args, **kwargs)

    @cached_property
    def read_result(self) -> Callable[[Any], T_co]:
        """From the stored document to what the handler's annotation says; without one as it is."""
        from laneway.definitions.result import result_reader  # noqa: PLC0415 (imports pydantic)

        return cast("Callable[[Any], T_co]", result_reader(self.function))


class Sending(Generic[P, T_co]):
    """A job with the options of one enqueue."""

    def __init__(self, job: "Job[..., P, Any, T_co]", sender: Sender, options: Using) -> None:
        require_known(options)
        self._job = job
        self._sender = sender
        self._options = options

    def item(self, *args: P.args, **kwargs: P.kwargs) -> Item:
        """One job with this payload and these options, for bulk forms; nothing is sent."""
        return item_with(self._job.item(*args, **kwargs), self._options)

    def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> JobHandle[T_co]:
        """Puts one job in."""
        self._sender.warn_if_in_loop("enqueue")
        tenant, item = self._tenant(), self.item(*args, **kwargs)
        answer = self._sender.client.enqueue(item, tenant=tenant, conn=self._conn)
        return JobHandle(self._judged(answer), tenant, self._job.read_result, self._sender.client)

    async def aenqueue(self, *args: P.args, **kwargs: P.kwargs) -> AsyncJobHandle[T_co]:
        """Puts one job in."""
        tenant, item = self._tenant(), self.item(*args, **kwargs)
        answer = await self._sender.aclient.enqueue(item, tenant=tenant, conn=self._conn)
        return AsyncJobHandle(self._judged(answer), tenant, self._job.read_result, self._sender.aclient)

    def enqueue_many(self, items: Sequence[Item]) -> list[Enqueued]:
        """Up to 10,000 jobs in one transaction; an answer per item, whatever becomes of the others."""
        self._sender.warn_if_in_loop("enqueue_many")
        prepared = [item_with(item, self._options) for item in items]
        return self._sender.client.enqueue_many(prepared, tenant=self._tenant(), conn=self._conn)

    async def aenqueue_many(self, items: Sequence[Item]) -> list[Enqueued]:
        """As `enqueue_many`, to be awaited."""
        prepared = [item_with(item, self._options) for item in items]
        return await self._sender.aclient.enqueue_many(prepared, tenant=self._tenant(), conn=self._conn)

    @property
    def _conn(self) -> object:
        return self._options.get("conn")

    def _tenant(self) -> UUID:
        return tenant_of(self._options.get("tenant"))

    def _judged(self, answer: Enqueued) -> Enqueued:
        if answer.refusal is not None and self._options.get("on_refused", "raise") == "raise":
            raise refused_of(answer.refusal)
        return answer
