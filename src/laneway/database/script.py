"""The apply as a script that a database administrator reads and runs: `laneway migrate sql`.

It does what `install` would do on that database now, with names filled in. Where `install` finds out by trying (which
functions can be replaced in place), the script drops and makes; the schema ends the same.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import psycopg
from psycopg import sql

from laneway.database.access import closed_world_block, grants, policies
from laneway.database.look import SETTINGS, View, viewing
from laneway.database.names import Names
from laneway.database.options import InstallOptions, doorbell_statement
from laneway.database.patience import LOCK_CLASS, LOCK_SOON, lock_statement
from laneway.database.plan import Plan, cut, make_plan, settle_options, verify_applied
from laneway.database.roles import (
    default_privileges,
    is_single_role,
    large_objects_statement,
    role_statements,
    schema_statements,
    temp_statement,
)
from laneway.database.routines import pin, signatures
from laneway.database.sqlfiles import Migration, SqlFiles
from laneway.database.sqltext import Made, identifier, literal
from laneway.database.stamp import fingerprints_now, record_statement, stamp_statement
from laneway.sql import installer_text

__all__ = ["install_script"]


def install_script(
    conn: psycopg.Connection,
    *,
    schema: str = "laneway",
    files: SqlFiles | None = None,
    options: InstallOptions | None = None,
) -> str:
    """The script for this database as it is now; one comment when there is nothing to do. Changes nothing."""
    names, wanted = Names(schema), files or SqlFiles.packaged()
    with viewing(conn, names) as seen:
        verify_applied(wanted, seen.state.applied, seen.state.stamp)
        single = is_single_role(seen.server, names, asked=options.single_role if options else None)
        settled = replace(settle_options(options, seen.state.stamp), single_role=single)
        if make_plan(wanted, seen.state, options=settled).is_empty:
            return f'-- Schema "{schema}" is as Laneway {wanted.release} wants it: there is nothing to do.\n'
        plan = make_plan(wanted, seen.state, options=settled, remake=True)
        return _Script(conn=conn, names=names, files=wanted, options=settled, seen=seen, plan=plan).render()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Script:
    conn: psycopg.Connection
    names: Names
    files: SqlFiles
    options: InstallOptions
    seen: View
    plan: Plan

    def render(self) -> str:
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield f"-- Laneway {self.files.release}, schema {self.names.schema}, database {self.seen.server.database}."
        yield "-- Run it as a superuser or as the login it was printed for: psql -v ON_ERROR_STOP=1 -f <this file>"
        ahead, outside = cut(self.plan.migrations)
        roles = tuple(self._roles())
        while outside is not None:
            yield from self._open(roles)
            yield from self._migrations(ahead)
            yield "commit;"
            yield from self._outside(outside)
            roles = ()
            later = self.plan.migrations[self.plan.migrations.index(outside) + 1 :]
            ahead, outside = cut(later)
        yield from self._open(roles)
        yield from self._apply(ahead)
        yield "commit;"

    def _open(self, roles: Iterable[str]) -> Iterator[str]:
        yield "\nbegin;"
        yield from (f"set local {name} = {literal(value)};" for name, value in SETTINGS.items())
        yield "set local lock_timeout = '3s';"
        yield f"select pg_advisory_xact_lock({LOCK_CLASS}, hashtext({literal(self.names.schema)}));"
        yield from (f"{statement};" for statement in roles)
        if not self.options.single_role:
            yield f"set local role {identifier(self.names.owner)};"
            yield f"{default_privileges(self.names)};"
        yield f"set local search_path to {identifier(self.names.schema)}, pg_temp;"

    def _roles(self) -> Iterator[str]:
        server = self.seen.server
        if server.is_superuser and server.public_makes_large_objects:
            yield large_objects_statement()
        if server.public_has_temp:
            yield temp_statement(server)
        if self.options.single_role:
            yield from schema_statements(server, self.names, owner=server.login)
        else:
            yield from role_statements(server, self.names)

    def _outside(self, migration: Migration) -> Iterator[str]:
        yield f"\n-- migrations/{migration.name}.sql"
        yield f"set role {identifier(self._owner())};"
        yield f"set search_path to {identifier(self.names.schema)}, pg_temp;"
        yield _ended(migration.text)
        yield self._text(record_statement(migration, release=self.files.release))
        yield "reset search_path;\nreset role;"

    def _owner(self) -> str:
        return self.seen.server.login if self.options.single_role else self.names.owner

    def _apply(self, migrations: Sequence[Migration]) -> Iterator[str]:
        yield from self._clear()
        yield from self._migrations(migrations)
        yield from self._functions()
        yield from self._settings()
        yield installer_text("make_partitions.sql")
        yield f"\n-- access.csv\n{closed_world_block(self.files.access)}"
        yield f"{installer_text('revoke_everything.sql')}{installer_text('enable_row_security.sql')}"
        if not self.options.single_role:
            yield from (f"{statement};" for statement in policies(self.files.access, self.names))
            yield from (f"{statement};" for statement in grants(self.files.access, self.names))
        yield "\n-- what is installed now"
        yield self._text(stamp_statement(self.files, options=self.options, catalogue=fingerprints_now()))

    def _clear(self) -> Iterator[str]:
        if lock := lock_statement(self.conn):
            yield f"\n-- all tables at once or none: start again when this is canceled\n{LOCK_SOON};"
            yield f"{lock};\nset local statement_timeout = 0;"
        yield installer_text("drop_policies.sql")
        views = sorted(made.name for made in self._known() if made.kind == "view")
        if views:
            yield f"drop view if exists {', '.join(map(identifier, views))};"

    def _known(self) -> frozenset[Made]:
        return self.files.makes | (self.seen.state.stamp.makes if self.seen.state.stamp else frozenset[Made]())

    def _migrations(self, migrations: Sequence[Migration]) -> Iterator[str]:
        for migration in migrations:
            yield f"\n-- migrations/{migration.name}.sql\n{_ended(migration.text)}"
            yield self._text(record_statement(migration, release=self.files.release))

    def _functions(self) -> Iterator[str]:
        again = [made for file in self.plan.files for made in file.makes]
        for signature in signatures(self.conn, (*again, *self.plan.leftovers)):
            yield f"drop routine {signature};"
        yield from (f"\n-- functions/{file.name}\n{_ended(file.text)}" for file in self.plan.files)

    def _settings(self) -> Iterator[str]:
        for pinned in self.files.pins if self.options.planner_pins else ():
            yield from (f"{pin(pinned.function, name, value)};" for name, value in pinned.settings)
        if self.plan.options_changed:
            yield doorbell_statement(self.options)

    def _text(self, statement: sql.Composed) -> str:
        return f"{statement.as_string(self.conn)};"


def _ended(text: str) -> str:
    """With a semicolon after the last statement; one too many does no harm."""
    body = text.rstrip()
    last = body.rpartition("\n")[2]
    return body if last.endswith(";") and "--" not in last else f"{body}\n;"
