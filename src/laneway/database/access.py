"""The access table: who may use which function, table and view. All policies and grants are made from it.

A cell is empty (nothing), `own` (the rows of the caller's tenant; a function checks that itself) or `any`.
"""

import csv
import hashlib
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import psycopg

from laneway.database.install_errors import InstallError
from laneway.database.names import GROUPS, Names
from laneway.database.sqltext import identifier, literal, trusted
from laneway.sql import installer_text

__all__ = [
    "AccessRow",
    "AccessTable",
    "close_everything",
    "closed_world_block",
    "grants",
    "policies",
    "verify_closed_world",
]

_KINDS = ("function", "table", "view", "sequence")
_CELLS = ("", "own", "any")
_HEADER = ("kind", "name", *GROUPS)

# Identity sequences belong to their column; partitions are reached through their parent.
_CATALOGUE = """
select case c.relkind when 'S' then 'sequence' when 'v' then 'view' when 'm' then 'materialized view'
    when 'f' then 'foreign table' else 'table' end as kind, c.relname::text as name
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
where n.nspname = current_schema() and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S') and not c.relispartition
    and not (c.relkind = 'S' and exists (
        select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'i'))
union all
select 'function', p.proname::text
from pg_proc p
join pg_namespace n on n.oid = p.pronamespace
where n.nspname = current_schema()
order by 1, 2
"""


@dataclass(frozen=True, slots=True)
class AccessRow:
    kind: str
    name: str
    cells: tuple[tuple[str, str], ...]

    def holders(self, *, cell: str | None = None) -> tuple[str, ...]:
        """The groups that have this cell, or any that is not empty."""
        return tuple(group for group, value in self.cells if (value == cell if cell else value))


@dataclass(frozen=True, slots=True)
class AccessTable:
    rows: tuple[AccessRow, ...]
    checksum: str

    @classmethod
    def parse(cls, text: str) -> "AccessTable":
        """Reads access.csv and refuses what it cannot mean, with the line."""
        lines = list(csv.reader(io.StringIO(text)))
        if not lines or tuple(lines[0]) != _HEADER:
            raise InstallError(
                f'access.csv: the header is "{",".join(lines[0]) if lines else ""}"',
                hint=f"Make it {','.join(_HEADER)}.",
            )
        numbered = [(number, line) for number, line in enumerate(lines[1:], 2) if line]
        rows = tuple(_row(number, line) for number, line in numbered)
        _refuse_repeated(rows)
        return cls(rows, hashlib.sha256(text.encode()).hexdigest())


def _row(number: int, line: list[str]) -> AccessRow:
    if len(line) != len(_HEADER):
        raise InstallError(
            f"access.csv, line {number}: {len(line)} cells, {len(_HEADER)} are needed", hint="Mind the commas."
        )
    kind, name, *cells = (cell.strip() for cell in line)
    if kind not in _KINDS:
        raise InstallError(f'access.csv, line {number}: kind "{kind}" is not known', hint=f"Use {', '.join(_KINDS)}.")
    for group, cell in zip(GROUPS, cells, strict=True):
        if cell not in _CELLS:
            raise InstallError(
                f'access.csv, line {number}: {group} "{cell}" of {kind} {name} is not known',
                hint="Leave the cell empty or use own or any.",
            )
    return AccessRow(kind, name, tuple(zip(GROUPS, cells, strict=True)))


def _refuse_repeated(rows: Iterable[AccessRow]) -> None:
    seen: set[tuple[str, str]] = set()
    for row in rows:
        if (row.kind, row.name) in seen:
            raise InstallError(f"access.csv: {row.kind} {row.name} has two rows", hint="Keep one of them.")
        seen.add((row.kind, row.name))


def policies(table: AccessTable, names: Names) -> Iterator[str]:
    """A policy per table and group, named after the group. The subselect runs once per query and keeps the index."""
    for row in table.rows:
        if row.kind != "table":
            continue
        for group, cell in row.cells:
            if cell:
                rows = "true" if cell == "any" else "tenant_id = (select current_tenant())"
                yield (
                    f"create policy {identifier(group)} on {identifier(row.name)}"
                    f" for select to {identifier(names.role(group))} using ({rows})"
                )


def grants(table: AccessTable, names: Names) -> Iterator[str]:
    """USAGE on the schema for every group, and one grant for each row that gives something."""
    everyone = ", ".join(identifier(names.role(group)) for group in GROUPS)
    yield f"grant usage on schema {identifier(names.schema)} to {everyone}"
    for row in table.rows:
        if holders := row.holders():
            to = ", ".join(identifier(names.role(group)) for group in holders)
            yield f"grant {_privilege(row.kind)} {identifier(row.name)} to {to}"


def _privilege(kind: str) -> str:
    match kind:
        case "function":
            return "execute on routine"
        case "sequence":
            return "usage on sequence"
        case _:
            return "select on table"


def close_everything(conn: psycopg.Connection) -> None:
    """Takes every privilege from everyone but the owner."""
    conn.execute(trusted(installer_text("revoke_everything.sql")), prepare=False)


def verify_closed_world(conn: psycopg.Connection, table: AccessTable) -> None:
    """Refuses when the schema holds what the access table does not name, or the other way round."""
    found = [(str(kind), str(name)) for kind, name in conn.execute(_CATALOGUE).fetchall()]
    listed = {(row.kind, row.name) for row in table.rows}
    for kind, name in found:
        if (kind, name) not in listed:
            raise InstallError(
                f"{kind} {name} is in the schema and not in access.csv",
                hint="Move it to a schema of its own; in a checkout, where it is ours, give it a row.",
            )
        if kind == "function" and found.count((kind, name)) > 1:
            raise InstallError(
                f"function {name} exists with more than one list of arguments",
                hint="Functions are not overloaded here: drop the one that no file makes.",
            )
    for kind, name in sorted(listed - set(found)):
        raise InstallError(f"access.csv: {kind} {name} is not in the schema", hint="Mend the name or take the row out.")
    _verify_tenant_columns(conn, table)
    _verify_owners(conn)


def closed_world_block(table: AccessTable) -> str:
    """The same as a block for a script, where it names all at once."""
    listed = ", ".join(f"({literal(row.kind)}, {literal(row.name)})" for row in table.rows)
    return f"""do $$
declare
    v_wrong text;
begin
    with listed (kind, name) as (values {listed}),
    found (kind, name) as ({_CATALOGUE.strip()})
    select string_agg(format('%s %s', w.kind, w.name), ', ') into v_wrong
    from ((table found except table listed) union all (table listed except table found)) w;
    if v_wrong is not null then
        raise exception 'in the schema or in access.csv, and not in both: %', v_wrong;
    end if;
end
$$;"""  # noqa: S608 (literals of a checked table)


def _verify_tenant_columns(conn: psycopg.Connection, table: AccessTable) -> None:
    owned = [row.name for row in table.rows if row.kind == "table" and row.holders(cell="own")]
    missing = conn.execute(
        """
        select c.relname::text
        from pg_class c
        join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = current_schema() and c.relname = any (%s)
            and not exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id')
        order by 1
        """,
        [owned],
    ).fetchone()
    if missing:
        raise InstallError(
            f"access.csv: table {missing[0]} has cells with own and no column tenant_id",
            hint="Use any, leave them empty, or give the table the column.",
        )


def _verify_owners(conn: psycopg.Connection) -> None:
    """One owner for all, partitions too: functions run as this one, and on Citus another's partition loses rows."""
    other = conn.execute(
        """
        select case when c.relkind in ('r', 'p') then 'table ' when c.relkind = 'v' then 'view ' else 'sequence ' end
            || c.relname, pg_get_userbyid(c.relowner)::text, current_user::text
        from pg_class c
        join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = current_schema() and c.relkind in ('r', 'p', 'v', 'S')
            and pg_get_userbyid(c.relowner) <> current_user
        union all
        select 'routine ' || p.proname, pg_get_userbyid(p.proowner)::text, current_user::text
        from pg_proc p
        join pg_namespace n on n.oid = p.pronamespace
        where n.nspname = current_schema() and pg_get_userbyid(p.proowner) <> current_user
        order by 1
        """
    ).fetchone()
    if other:
        raise InstallError(
            f'{other[0]} belongs to "{other[1]}"', hint=f"Run alter {other[0]} owner to {identifier(other[2])}."
        )
