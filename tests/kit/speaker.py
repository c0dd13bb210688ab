"""A connection that speaks: calls functions by name, and enters a tenant for the verbs that need one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

import psycopg
from psycopg import pq, sql
from psycopg.types.json import Jsonb

from kit.database import Database


@dataclass(frozen=True, slots=True)
class Given:
    """An argument with its type: literals of a driver are not always what the function's signature says."""

    value: Any
    type: str


class Speaker:
    """Says single statements. In a transaction of its caller it adds neither a commit nor a savepoint."""

    def __init__(self, place: Database | psycopg.Connection) -> None:
        self.conn = place.connect() if isinstance(place, Database) else place

    def on(self, place: Database | psycopg.Connection) -> Self:
        """The same verbs over another connection."""
        return type(self)(place)

    def rows(self, statement: str | sql.Composed, parameters: Sequence[Any] | None = None) -> list[tuple[Any, ...]]:
        cursor = self.conn.execute(statement, parameters)
        return cursor.fetchall() if cursor.description else []

    def one(self, statement: str | sql.Composed, parameters: Sequence[Any] | None = None) -> tuple[Any, ...]:
        (row,) = self.rows(statement, parameters)
        return row

    def call(self, function: str, /, *columns: str, **arguments: Any) -> list[tuple[Any, ...]]:
        """`select columns from function(p_name => value, ..)`; arguments that are None are left to their defaults."""
        given = {name: value for name, value in arguments.items() if value is not None}
        statement = sql.SQL("select {} from {}({})").format(
            sql.SQL(", ").join(map(sql.Identifier, columns)) if columns else sql.SQL("*"),
            sql.Identifier(function),
            sql.SQL(", ").join(argument(name, value) for name, value in given.items()),
        )
        return self.rows(statement, [plain(value) for value in given.values()])

    def value(self, function: str, /, **arguments: Any) -> Any:
        """The single value of a function."""
        ((value,),) = self.call(function, **arguments)
        return value

    def call_as(
        self, tenant: UUID, function: str, /, *columns: str, scope: str = "o", actor: str = "tester", **arguments: Any
    ) -> list[tuple[Any, ...]]:
        """Enters the tenant and calls, in one transaction."""
        with self.transaction():
            self.rows("select enter_tenant(%s, %s, %s)", [tenant, scope, actor])
            return self.call(function, *columns, **arguments)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        if self.conn.info.transaction_status != pq.TransactionStatus.IDLE:
            yield
        else:
            with self.conn.transaction():
                yield


def argument(name: str, value: Any) -> sql.Composed:
    cast = f"::{value.type}" if isinstance(value, Given) else ""
    return sql.SQL("p_{} => %s{}").format(sql.SQL(name), sql.SQL(cast))


def plain(value: Any) -> Any:
    return value.value if isinstance(value, Given) else value


def document(value: Any) -> Jsonb | None:
    return None if value is None else Jsonb(value)


def documents(values: Sequence[Any] | None) -> list[Jsonb | None] | None:
    return None if values is None else [document(value) for value in values]


def typed(value: Any, type_: str) -> Given | None:
    return None if value is None else Given(value, type_)
