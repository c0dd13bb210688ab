"""Enqueued on the caller's own connection, a job stands and falls with the caller's transaction."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import asyncpg
import django
import psycopg
import pytest
import sqlalchemy
from django.conf import settings
from django.db import connections
from django.db.transaction import atomic
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from laneway import Laneway
from laneway.errors import ConfigurationError, Forbidden, NotFound, Refused


@pytest.fixture(autouse=True, scope="module")
def a_django_project() -> None:
    settings.configure()
    django.setup()


class RolledBackError(Exception):
    """Ends a block without a commit."""


@contextmanager
def on_psycopg(dsn: str) -> Iterator[object]:
    with psycopg.connect(dsn) as conn:
        yield conn


@contextmanager
def on_sqlalchemy_core(dsn: str) -> Iterator[object]:
    engine = sqlalchemy.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(dsn))
    try:
        with engine.begin() as conn:
            yield conn
    finally:
        engine.dispose()


@contextmanager
def on_sqlalchemy_orm(dsn: str) -> Iterator[object]:
    engine = sqlalchemy.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(dsn))
    try:
        with Session(engine) as session, session.begin():
            yield session
    finally:
        engine.dispose()


@contextmanager
def on_django(dsn: str) -> Iterator[object]:
    info = psycopg.conninfo.conninfo_to_dict(dsn)
    names = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host"}
    place = {"ENGINE": "django.db.backends.postgresql"} | {name: info[key] for name, key in names.items()}
    connections.settings["shop"] = connections.configure_settings({"default": place})["default"]
    try:
        with atomic(using="shop"):
            yield connections["shop"]
    finally:
        connections["shop"].close()
        del connections["shop"], connections.settings["shop"]


@contextmanager
def on_a_django_alias(dsn: str) -> Iterator[object]:
    with on_django(dsn):
        yield "shop"


@asynccontextmanager
async def on_async_psycopg(dsn: str) -> AsyncIterator[object]:
    async with await psycopg.AsyncConnection.connect(dsn) as conn:
        yield conn


@asynccontextmanager
async def on_asyncpg(dsn: str) -> AsyncIterator[object]:
    conn = await asyncpg.connect(dsn)
    try:
        async with conn.transaction():
            yield conn
    finally:
        await conn.close()


@asynccontextmanager
async def on_an_asyncpg_pool(dsn: str) -> AsyncIterator[object]:
    async with asyncpg.create_pool(dsn, min_size=1, max_size=1) as pool, pool.acquire() as conn, conn.transaction():
        yield conn


@asynccontextmanager
async def on_async_sqlalchemy_core(dsn: str) -> AsyncIterator[object]:
    engine = create_async_engine("postgresql+asyncpg://", async_creator=lambda: asyncpg.connect(dsn))
    try:
        async with engine.begin() as conn:
            yield conn
    finally:
        await engine.dispose()


@asynccontextmanager
async def on_async_sqlalchemy_orm(dsn: str) -> AsyncIterator[object]:
    async def connect() -> psycopg.AsyncConnection:
        return await psycopg.AsyncConnection.connect(dsn)

    engine = create_async_engine("postgresql+psycopg://", async_creator=connect)
    try:
        async with AsyncSession(engine) as session, session.begin():
            yield session
    finally:
        await engine.dispose()


SYNC = [on_psycopg, on_sqlalchemy_core, on_sqlalchemy_orm, on_django, on_a_django_alias]
ASYNC = [on_async_psycopg, on_asyncpg, on_an_asyncpg_pool, on_async_sqlalchemy_core, on_async_sqlalchemy_orm]


@pytest.mark.parametrize("way", SYNC)
class TestBlocking:
    def test_committed_the_job_is_there(self, shop, way):
        with way(shop.database.dsn("app")) as conn:
            handle = shop.app.jobs.job_for("add").using(tenant=shop.tenant, conn=conn).enqueue(1)
            assert shop.ids() == []
        assert handle.created
        assert shop.ids() == [handle.id]

    def test_rolled_back_it_never_was(self, shop, way):
        handles = []

        def enqueue_and_fail():
            with way(shop.database.dsn("app")) as conn:
                handles.append(shop.app.jobs.job_for("add").using(tenant=shop.tenant, conn=conn).enqueue(1))
                raise RolledBackError

        with pytest.raises(RolledBackError):
            enqueue_and_fail()
        assert shop.ids() == []
        with pytest.raises(NotFound, match="Commit the transaction"):
            handles[0].wait("1s")

    def test_a_login_that_is_trusted_enters_the_tenant_in_the_same_transaction(self, shop, way):
        trusted = Laneway(shop.database.dsn("backend"), actor="checkout")
        trusted.job(shop.app.jobs.job_for("add").function)
        with way(shop.database.dsn("backend")) as conn:
            handle = trusted.jobs.job_for("add").using(tenant=shop.tenant, conn=conn).enqueue(1)
        assert shop.ids() == [handle.id]


@pytest.mark.parametrize("way", ASYNC)
class TestAwaited:
    def test_committed_the_job_is_there(self, shop, way):
        async def enqueue():
            async with way(shop.database.dsn("app")) as conn:
                handle = await shop.app.jobs.job_for("add").using(tenant=shop.tenant, conn=conn).aenqueue(1)
                assert shop.ids() == []
            await shop.app.aclose()
            return handle

        handle = asyncio.run(enqueue())
        assert shop.ids() == [handle.id]

    def test_rolled_back_it_never_was(self, shop, way):
        async def enqueue():
            async with way(shop.database.dsn("app")) as conn:
                await shop.app.jobs.job_for("add").using(tenant=shop.tenant, conn=conn).aenqueue(1)
                raise RolledBackError

        with pytest.raises(RolledBackError):
            asyncio.run(enqueue())
        assert shop.ids() == []


def test_a_refused_item_leaves_the_caller_s_transaction_as_it_was(shop):
    with psycopg.connect(shop.database.dsn("app")) as conn:
        using = shop.app.jobs.job_for("add").using(tenant=shop.tenant, conn=conn, priority=5000, on_refused="return")
        refused = using.enqueue(1).refused
        handle = shop.app.jobs.job_for("add").using(tenant=shop.tenant, conn=conn).enqueue(1)
    assert (refused.code, refused.field, refused.value) == ("out_of_range", "priority", "5000")
    assert shop.ids() == [handle.id]


def test_a_refusal_is_an_error_in_python_and_none_in_sql(shop):
    with psycopg.connect(shop.database.dsn("app")) as conn:
        with pytest.raises(Refused, match="priority: 5000 is out of range"):
            shop.app.jobs.job_for("add").using(tenant=shop.tenant, conn=conn, priority=5000).enqueue(1)
        handle = shop.app.jobs.job_for("add").using(tenant=shop.tenant, conn=conn).enqueue(1)
    assert shop.ids() == [handle.id]


def test_another_tenant_s_id_is_refused_like_one_that_is_not_there(shop):
    def sentence(tenant):
        with psycopg.connect(shop.database.dsn("tenant")) as conn, pytest.raises((NotFound, Forbidden)) as caught:
            shop.app.jobs.job_for("add").using(tenant=tenant, conn=conn).enqueue(1)
        return type(caught.value)

    assert sentence(shop.tenant) is sentence("0192f0c1-0000-7000-8000-00000000dead")


@pytest.mark.parametrize("conn", [object(), 7])
def test_what_is_no_connection_is_refused_by_its_name(shop, conn):
    with pytest.raises(ConfigurationError, match="is not a connection known here"):
        shop.app.jobs.job_for("add").using(tenant=shop.tenant, conn=conn).enqueue(1)


def test_a_connection_of_the_other_colour_is_refused_with_the_way_out(shop):
    async def wrong():
        async with await psycopg.AsyncConnection.connect(shop.database.dsn("app")) as conn:
            shop.app.jobs.job_for("add").using(tenant=shop.tenant, conn=conn).enqueue(1)

    with pytest.warns(UserWarning, match="await aenqueue"), pytest.raises(ConfigurationError, match="Await the a"):
        asyncio.run(wrong())
    with psycopg.connect(shop.database.dsn("app")) as conn:

        async def other() -> None:
            try:
                await shop.app.jobs.job_for("add").using(tenant=shop.tenant, conn=conn).aenqueue(1)
            finally:
                await shop.app.aclose()

        with pytest.raises(ConfigurationError, match="without a"):
            asyncio.run(other())
