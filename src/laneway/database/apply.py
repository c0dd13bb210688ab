"""One transaction of an install, step by step."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

from laneway.database.access import close_everything, grants, policies, verify_closed_world
from laneway.database.catalogue import read_current
from laneway.database.install_errors import InstallConflictError
from laneway.database.look import look, prepare
from laneway.database.names import Names
from laneway.database.options import InstallOptions, doorbell_statement
from laneway.database.patience import Patience, lock_for_transaction, lock_tables
from laneway.database.plan import Plan, State, cut, make_plan, settle_options, verify_applied
from laneway.database.roles import Server, become_owner, close_large_objects, is_single_role, read_server, revoke_temp
from laneway.database.routines import apply_file, drop_made, drop_views, pin, told
from laneway.database.sqlfiles import Migration, SqlFiles
from laneway.database.sqltext import Made, trusted
from laneway.database.stamp import record_statement, restamp, stamp_statement
from laneway.sql import installer_text

__all__ = ["Apply", "Journal", "Order"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What `install` was asked for."""

    names: Names
    files: SqlFiles
    options: InstallOptions | None
    patience: Patience


@dataclass(slots=True)
class Journal:
    """What was done so far; it fills up while the steps go by."""

    roles: list[str] = field(default_factory=list[str])
    migrations: list[str] = field(default_factory=list[str])
    files: list[str] = field(default_factory=list[str])
    dropped: list[str] = field(default_factory=list[str])
    mended: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])
    was_applied: bool = False


class Apply:
    """The steps of one transaction, in their order."""

    def __init__(self, conn: psycopg.Connection, order: Order, *, remake: bool) -> None:
        self._conn = conn
        self._order = order
        self._remake = remake
        self._journal = Journal()

    def run(self) -> tuple[Journal, Migration | None]:
        server, single_role = self._enter()
        state = look(self._conn, self._order.names)
        _refuse_strangers(server, self._order.names, state)
        verify_applied(self._order.files, state.applied, state.stamp)
        options = replace(settle_options(self._order.options, state.stamp), single_role=single_role)
        plan = make_plan(self._order.files, state, options=options, remake=self._remake)
        if plan.is_empty and not self._journal.roles:
            return self._journal, None
        self._journal.was_applied = True
        within, outside = cut(plan.migrations)
        if outside is not None:
            self._migrate_ahead(within, state)
            return self._journal, outside
        self._apply(plan, state, options=options)
        return self._journal, None

    def _enter(self) -> tuple[Server, bool]:
        """From the login to the owner, alone."""
        names, conn, asked = self._order.names, self._conn, self._order.options
        prepare(conn, names, lock_timeout=self._order.patience.lock_timeout)
        lock_for_transaction(conn, names)
        server = read_server(conn, names)
        close_large_objects(conn, server)
        if warning := revoke_temp(conn, server):
            self._journal.warnings.append(warning)
        single = is_single_role(server, names, asked=asked.single_role if asked else None)
        if single:
            self._journal.warnings.append("one role owns everything: row-level security does not hold for it")
        self._journal.roles.extend(become_owner(conn, server, names, single_role=single))
        return server, single

    def _apply(self, plan: Plan, state: State, *, options: InstallOptions) -> None:
        if plan.touches_relations:
            self._clear()
        self._migrate(plan.migrations)
        for file in plan.files:
            apply_file(self._conn, file)
            self._journal.files.append(file.name)
        drop_made(self._conn, plan.leftovers)
        self._journal.dropped.extend(map(str, plan.leftovers))
        self._pin(options)
        if plan.options_changed:
            self._conn.execute(trusted(doorbell_statement(options)))
        if plan.touches_relations:
            self._conn.execute(trusted(installer_text("make_partitions.sql")), prepare=False)
        verify_closed_world(self._conn, self._order.files.access)
        self._grant(plan, options)
        self._stamp(state, options)

    def _migrate_ahead(self, migrations: Sequence[Migration], state: State) -> None:
        """What lies before a migration that runs outside a transaction. New tables are granted to nobody yet."""
        lock_tables(self._conn)
        self._migrate(migrations)
        restamp(self._conn, before=state.fingerprints, after=read_current(self._conn).fingerprints())

    def _clear(self) -> None:
        """Policies and views stand on functions and columns: away with them first, all are made again."""
        lock_tables(self._conn)
        self._conn.execute(trusted(installer_text("drop_policies.sql")), prepare=False)
        views = self._conn.execute(
            "select c.relname::text from pg_class c join pg_namespace n on n.oid = c.relnamespace"
            " where n.nspname = current_schema() and c.relkind = 'v'"
        )
        drop_views(self._conn, [Made("view", str(row[0])) for row in views.fetchall()])

    def _migrate(self, migrations: Sequence[Migration]) -> None:
        for migration in migrations:
            with told(f"migrations/{migration.name}.sql", text=migration.text):
                self._conn.execute(trusted(migration.text), prepare=False)
            self._conn.execute(record_statement(migration, release=self._order.files.release))
            self._journal.migrations.append(migration.name)

    def _pin(self, options: InstallOptions) -> None:
        for pinned in self._order.files.pins if options.planner_pins else ():
            for setting, value in pinned.settings:
                with told("pins.csv", text=""):
                    self._conn.execute(trusted(pin(pinned.function, setting, value)))

    def _grant(self, plan: Plan, options: InstallOptions) -> None:
        names, access = self._order.names, self._order.files.access
        close_everything(self._conn)
        if plan.touches_relations:
            self._conn.execute(trusted(installer_text("enable_row_security.sql")), prepare=False)
        if options.single_role:
            return
        for statement in policies(access, names) if plan.touches_relations else ():
            self._conn.execute(trusted(statement))
        for statement in grants(access, names):
            self._conn.execute(trusted(statement))

    def _stamp(self, state: State, options: InstallOptions) -> None:
        """What drifted and was not made again keeps its old fingerprint: the next check says so again."""
        left = read_current(self._conn).fingerprints()
        for name in state.drift:
            stamped = state.stamp.catalogue.get(name) if state.stamp else None
            if left.get(name) == stamped:
                self._journal.mended.append(name)
            elif left.get(name) == state.fingerprints.get(name):
                self._journal.warnings.append(f"{name} is not as Laneway left it: see laneway migrate check")
                left |= {name: stamped} if stamped else {}
        catalogue = sql.Literal(Jsonb(left))
        self._conn.execute(stamp_statement(self._order.files, options=options, catalogue=catalogue))


def _refuse_strangers(server: Server, names: Names, state: State) -> None:
    if not state.applied and not server.schema_is_empty:
        raise InstallConflictError(
            f'schema: "{names.schema}" holds objects and no install', hint="Choose another name, or move what is in it."
        )
