"""The first key that signs tenant contexts: made by an install that has none, answered once."""

import psycopg
from psycopg import sql
from psycopg.rows import scalar_row

from laneway.database.names import Names

__all__ = ["first_context_key"]

FIRST = "k1"


def first_context_key(conn: psycopg.Connection, *, schema: str) -> str | None:
    """`kid:base64` of a new key, or None where a key exists. For whoever installed: no group may read keys."""
    inside, owner = sql.Identifier(schema), Names(schema).owner
    with conn.transaction(), conn.cursor(row_factory=scalar_row) as cursor:
        # by who owns the schema, not by which roles there are: another database of the cluster may have made them
        mine = "select 1 from pg_namespace n where n.nspname = %s and pg_get_userbyid(n.nspowner) = %s"
        if cursor.execute(mine, [schema, owner]).fetchone():
            cursor.execute(sql.SQL("set local role {}").format(sql.Identifier(owner)))
        cursor.execute(sql.SQL("set local search_path = {}, pg_temp").format(inside))
        # a file set without keys has none to make
        if cursor.execute("select 1 where to_regclass('context_key') is null").fetchone():
            return None
        if cursor.execute("select 1 from context_key limit 1").fetchone():
            return None
        return str(cursor.execute("select add_context_key(%s)", [FIRST]).fetchone())
