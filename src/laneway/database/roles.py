"""The database roles of an install: groups that nobody logs in as, named after the schema.

Roles belong to the whole cluster: a second database with the same schema name shares them, and two installers there
may make them at the same moment. Whoever loses that race tries again (see `patience.py`) and finds them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import psycopg

from laneway.database.install_errors import InstallConflictError, InstallError, InstallPermissionError
from laneway.database.names import GROUPS, MEMBERSHIPS, Names
from laneway.database.patience import HeldError
from laneway.database.sqltext import identifier, trusted

__all__ = [
    "Server",
    "become_owner",
    "default_privileges",
    "is_single_role",
    "read_server",
    "revoke_temp",
    "role_statements",
    "schema_statements",
    "temp_statement",
]

_OPTIONS_FROM = 16


@dataclass(frozen=True, slots=True)
class Server:
    """What the install needs to know about the server and the login before it changes anything."""

    version: int
    database: str
    login: str
    is_superuser: bool
    may_become_owner: bool
    roles: frozenset[str]
    memberships: frozenset[tuple[str, str]]
    schema_owner: str | None
    schema_is_empty: bool
    is_installed: bool
    public_has_temp: bool
    public_makes_large_objects: bool


def read_server(conn: psycopg.Connection, names: Names) -> Server:
    """Reads it in one statement; the login needs no privilege for this."""
    version = conn.info.server_version // 10000
    ours = [names.role(group) for group in (*GROUPS, "owner")]
    row = conn.execute(
        """
        select current_database()::text, session_user::text,
            (select r.rolsuper from pg_roles r where r.rolname = session_user),
            exists (select from pg_roles r where r.rolname = %(owner)s and pg_has_role(session_user, r.oid, %(right)s)),
            array(select r.rolname::text from pg_roles r where r.rolname = any (%(ours)s)),
            array(select m.rolname || chr(10) || g.rolname
                  from pg_auth_members a join pg_roles m on m.oid = a.member join pg_roles g on g.oid = a.roleid
                  where m.rolname = any (%(ours)s) and g.rolname = any (%(ours)s)),
            (select pg_get_userbyid(n.nspowner)::text from pg_namespace n where n.nspname = %(schema)s),
            not exists (
                select from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = %(schema)s
                union all
                select from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = %(schema)s),
            exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
                where n.nspname = %(schema)s and c.relname = 'install_migration'),
            has_database_privilege('public', current_database(), 'TEMP'),
            has_function_privilege('public', 'lo_create(oid)', 'EXECUTE')
        """,
        {
            "right": "SET" if version >= _OPTIONS_FROM else "MEMBER",
            "owner": names.owner,
            "ours": ours,
            "schema": names.schema,
        },
    ).fetchone()
    if row is None:
        raise InstallError("the server did not say who it is", hint="Look at its log.")
    members = frozenset((pair.split("\n")[0], pair.split("\n")[1]) for pair in row[5])
    return Server(version, row[0], row[1], row[2], row[3], frozenset(row[4]), members, *row[6:11])


def role_statements(server: Server, names: Names) -> Iterator[str]:
    """What is missing of roles, memberships and schema; nothing when all is there."""
    for group in ("owner", *GROUPS):
        if names.role(group) not in server.roles:
            yield f"create role {identifier(names.role(group))} nologin"
    inherits = " with inherit true" if server.version >= _OPTIONS_FROM else ""
    for member, group in MEMBERSHIPS:
        if (names.role(member), names.role(group)) not in server.memberships:
            yield f"grant {identifier(names.role(group))} to {identifier(names.role(member))}{inherits}"
    if not server.may_become_owner and not server.is_superuser:
        # Not to inherit: the login is nobody special until it sets the role. 15 knows only whole membership.
        only_set = " with inherit false, set true" if server.version >= _OPTIONS_FROM else ""
        yield f"grant {identifier(names.owner)} to {identifier(server.login)}{only_set}"
    yield from schema_statements(server, names, owner=names.owner)


def schema_statements(server: Server, names: Names, *, owner: str) -> Iterator[str]:
    """Makes the schema, or takes over an empty one."""
    if server.schema_owner is None:
        yield f"create schema {identifier(names.schema)} authorization {identifier(owner)}"
    elif server.schema_owner != owner:
        if not server.schema_is_empty:
            raise InstallConflictError(
                f'schema: "{names.schema}" belongs to "{server.schema_owner}" and holds objects that are not ours',
                hint="Choose another name with --schema, or move what is in it.",
            )
        yield f"alter schema {identifier(names.schema)} owner to {identifier(owner)}"


def temp_statement(server: Server) -> str:
    """A temporary table is the first thing an attack on a search path needs."""
    return f"revoke temporary on database {identifier(server.database)} from public"


def become_owner(conn: psycopg.Connection, server: Server, names: Names, *, single_role: bool) -> tuple[str, ...]:
    """Makes what is missing as the login, then sets the owner's role for the transaction; answers what was made."""
    if single_role:
        return _run(conn, server, names, schema_statements(server, names, owner=server.login))
    done = _run(conn, server, names, role_statements(server, names))
    conn.execute(trusted(f"set local role {identifier(names.owner)}"))
    # For all schemas: the form with `in schema` leaves EXECUTE with PUBLIC.
    row = conn.execute(
        "select exists (select from pg_default_acl"
        " where defaclrole = %s::regrole and defaclobjtype = 'f' and defaclnamespace = 0)",
        [identifier(names.owner)],
    ).fetchone()
    return done if row == (True,) else (*done, *_run(conn, server, names, [default_privileges(names)]))


def default_privileges(names: Names) -> str:
    return f"alter default privileges for role {identifier(names.owner)} revoke execute on routines from public"


def is_single_role(server: Server, names: Names, *, asked: bool | None) -> bool:
    """Whether the login is or shall be the owner itself; an install is never turned from one kind into the other."""
    if not server.is_installed:
        return bool(asked)
    single = server.schema_owner != names.owner
    if asked is not None and asked != single:
        raise InstallConflictError(
            f'single_role: schema "{names.schema}" was installed {"with" if single else "without"} it',
            hint="Leave the option as it was, or install under another schema name.",
        )
    return single


def _run(conn: psycopg.Connection, server: Server, names: Names, wanted: Iterable[str]) -> tuple[str, ...]:
    done: list[str] = []
    for statement in wanted:
        try:
            conn.execute(trusted(statement), prepare=False)
        except (
            psycopg.errors.DuplicateObject,
            psycopg.errors.DuplicateSchema,
            psycopg.errors.UniqueViolation,
        ) as error:
            # made by another installer since they were looked up
            raise HeldError from error
        except psycopg.errors.InsufficientPrivilege as error:
            raise InstallPermissionError(
                f'login "{server.login}" may not run: {statement} ({error.diag.message_primary})',
                hint="Install as a superuser, or as a login with CREATEROLE and CREATE on the database; "
                f"for an upgrade let a superuser grant {identifier(names.owner)} to it.",
            ) from error
        done.append(statement)
    return tuple(done)


def close_large_objects(conn: psycopg.Connection, server: Server) -> None:
    """Everyone may make large objects, and so fill the disk, until a superuser says otherwise."""
    if server.is_superuser and server.public_makes_large_objects:
        conn.execute(trusted(large_objects_statement()), prepare=False)


def large_objects_statement() -> str:
    makers = "lo_creat(integer), lo_create(oid), lo_from_bytea(oid, bytea), lo_import(text), lo_import(text, oid)"
    return f"revoke execute on function {makers} from public"


def revoke_temp(conn: psycopg.Connection, server: Server) -> str | None:
    """Takes TEMP on the database from PUBLIC; answers a warning when it is still there, because the login may not."""
    if not server.public_has_temp:
        return None
    statement = temp_statement(server)
    try:
        with conn.transaction():
            conn.execute(trusted(statement), prepare=False)
    except psycopg.errors.InsufficientPrivilege:
        pass  # told below, like the case in which the server only warns
    row = conn.execute("select has_database_privilege('public', current_database(), 'TEMP')").fetchone()
    if row == (False,):
        return None
    return f'everyone may make temporary tables in database "{server.database}": let its owner run {statement}'
