"""What a type checker makes of an application's code; `make check` reads it, nothing runs it."""

from typing import assert_type
from uuid import UUID

from laneway import Context, Laneway, SyncContext
from laneway.handle import AsyncJobHandle, JobHandle
from laneway.model.item import Item

app = Laneway()
TENANT = UUID(int=7)


@app.job
async def send(ctx: Context, order: int, copy_to: str | None = None) -> str:
    return f"{ctx.attempt} {order} {copy_to}"


@app.job(queue="images", timeout="2m")
def resize(image: int, width: int = 800) -> dict[str, int]:
    return {"image": image, "width": width}


@app.job
def report(ctx: SyncContext, day: str) -> list[str]:
    return [day, str(ctx.tenant)]


def blocking() -> None:
    """The payload's arguments are typed through, the context is left out; a handle gives what awaiting gives."""
    assert_type(send.using(tenant=TENANT, priority=5).enqueue(7, copy_to="a"), JobHandle[str])
    assert_type(send.using(tenant=TENANT).enqueue(order=7).result("5s"), str)
    assert_type(resize.enqueue(1, width=2).result(5), dict[str, int])
    assert_type(report.using(tenant=TENANT).enqueue("monday").result(5), list[str])
    assert_type(resize.item(1), Item)
    assert_type(resize(1, width=2), dict[str, int])


async def awaited() -> None:
    assert_type(await send.aenqueue(7), AsyncJobHandle[str])
    assert_type(await (await report.using(tenant=TENANT).aenqueue("monday")).result("5s"), list[str])


def wrong() -> None:
    """Each of these is an error; one that no longer is makes its comment one."""
    send.enqueue("seven")  # pyright: ignore[reportArgumentType]
    send.enqueue()  # pyright: ignore[reportCallIssue]
    resize.enqueue(1, height=2)  # pyright: ignore[reportCallIssue]
    send.using(prioritty=5)  # pyright: ignore[reportCallIssue]
