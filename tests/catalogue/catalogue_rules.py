"""What holds for every object of the schema: a query that names the violators, and a change that makes one.

The queries see one relation each of the schema `laneway`; a rule whose planted violation it does not report is no rule.
"""

from dataclasses import dataclass

# Tables without a tenant in front of their keys, and why.
GLOBAL = {
    "context_key": "signs contexts of all tenants; granted to nobody",
    "definition": "code declares it for all tenants",
    "install_migration": "about the install",
    "install_stamp": "about the install",
    "pass_lock": "one row per pass of the whole install",
    "queue": "workers serve it for all tenants",
    "setting": "one row for the install",
    "tenant": "the list of tenants; its slug is unique among all",
    "tenant_login": "found by the login, before any tenant is known",
    "worker": "serves all tenants",
}

OURS = "relnamespace = 'laneway'::regnamespace"
TENANT_TABLE = f"""c.{OURS} and c.relkind in ('r', 'p')
    and not c.relname = any (array[{", ".join(f"'{name}'" for name in sorted(GLOBAL))}])"""


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    violations: str
    planted: str
    """Statements that break the rule."""


RULES = [
    Rule(
        "a table is global with a reason, or has a tenant",
        f"""select c.relname from pg_class c where {TENANT_TABLE}
            and not exists (select from pg_attribute a
                where a.attrelid = c.oid and a.attname = 'tenant_id' and a.attnotnull)""",
        "create table laneway.loose (id uuid primary key)",
    ),
    Rule(
        "a list of global tables names tables that are there",
        f"""select g from unnest(array[{", ".join(f"'{name}'" for name in sorted(GLOBAL))}]) g
            where to_regclass('laneway.' || g) is null""",
        "drop table laneway.pass_lock",
    ),
    Rule(
        "the tenant is the first column of every primary key and unique index of a tenant table",
        f"""select i.indexrelid::regclass::text from pg_index i join pg_class c on c.oid = i.indrelid
            where {TENANT_TABLE} and i.indisunique
            and (select a.attname from pg_attribute a where a.attrelid = c.oid and a.attnum = i.indkey[0])
                is distinct from 'tenant_id'""",
        "create unique index loose on laneway.later (job_id)",
    ),
    Rule(
        "a tenant table has a primary key",
        f"""select c.relname from pg_class c where {TENANT_TABLE}
            and not exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary)""",
        "create table laneway.loose (tenant_id uuid not null)",
    ),
    Rule(
        "no column of a tenant table counts by a sequence",
        f"""select c.relname || '.' || a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid
            left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
            where {TENANT_TABLE} and a.attnum > 0
            and (a.attidentity <> '' or pg_get_expr(d.adbin, d.adrelid) like '%nextval%')""",
        "alter table laneway.handover add number bigint generated always as identity",
    ),
    Rule(
        "no sequence belongs to a tenant table, or to none",
        """select s.relname from pg_class s
            left join pg_depend d on d.objid = s.oid and d.classid = 'pg_class'::regclass and d.deptype in ('a', 'i')
            where s.relnamespace = 'laneway'::regnamespace and s.relkind = 'S'
            and coalesce(d.refobjid, 0) not in ('laneway.queue'::regclass, 'laneway.definition'::regclass)""",
        "create sequence laneway.loose",
    ),
    Rule(
        "no table has a trigger",
        f"""select g.tgname from pg_trigger g join pg_class c on c.oid = g.tgrelid
            where c.{OURS} and not g.tgisinternal""",
        "create trigger loose before update on laneway.queue for each row"
        " execute function suppress_redundant_updates_trigger()",
    ),
    Rule(
        "row-level security is on, and not forced, for every table and partition",
        f"""select c.relname from pg_class c where c.{OURS} and c.relkind in ('r', 'p')
            and (not c.relrowsecurity or c.relforcerowsecurity)""",
        "alter table laneway.job_default disable row level security; alter table laneway.live force row level security",
    ),
    Rule(
        "nothing is granted to PUBLIC",
        f"""select 'schema' from pg_namespace n, aclexplode(n.nspacl) g where n.nspname = 'laneway' and g.grantee = 0
            union all
            select c.relname from pg_class c, aclexplode(c.relacl) g where c.{OURS} and g.grantee = 0
            union all
            select c.relname || '.' || a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid,
                aclexplode(a.attacl) g where c.{OURS} and g.grantee = 0
            union all
            select p.proname from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) g
            where p.pronamespace = 'laneway'::regnamespace and g.grantee = 0""",
        "grant execute on function laneway.clock() to public; grant select (name) on laneway.queue to public",
    ),
    Rule(
        "a partition is granted to nobody",
        f"""select c.relname from pg_class c, aclexplode(c.relacl) g
            where c.{OURS} and c.relispartition and g.grantee <> c.relowner""",
        "grant select on laneway.job_default to laneway_admin",
    ),
    Rule(
        "every security definer function is pinned to the schema and, last, pg_temp",
        """select p.proname from pg_proc p where p.pronamespace = 'laneway'::regnamespace and p.prosecdef
            and not coalesce(p.proconfig, '{}') && array['search_path=laneway, pg_temp']""",
        "alter function laneway.claim_tenant reset all;"
        " alter function laneway.enter set search_path = pg_temp, laneway",
    ),
    Rule(
        "a function runs with its owner's rights where, and only where, it is granted",
        """select p.proname from pg_proc p where p.pronamespace = 'laneway'::regnamespace
            and p.prosecdef <> exists (
                select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) g
                where g.grantee <> p.proowner)""",
        "alter function laneway.claimer security definer; grant execute on function laneway.ring to laneway_app",
    ),
    Rule(
        "every function has a comment",
        """select p.oid::regprocedure::text from pg_proc p where p.pronamespace = 'laneway'::regnamespace
            and coalesce(obj_description(p.oid, 'pg_proc'), '') = ''""",
        "comment on function laneway.new_id() is null",
    ),
    Rule(
        "every table and view has a comment",
        f"""select c.relname from pg_class c where c.{OURS} and c.relkind in ('r', 'p', 'v') and not c.relispartition
            and coalesce(obj_description(c.oid, 'pg_class'), '') = ''""",
        "comment on table laneway.live is null",
    ),
    Rule(
        "every column has a comment",
        f"""select c.relname || '.' || a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid
            where c.{OURS} and c.relkind in ('r', 'p', 'v') and not c.relispartition and a.attnum > 0
            and not a.attisdropped and coalesce(col_description(c.oid, a.attnum), '') = ''""",
        "comment on column laneway.live.rank is null",
    ),
    Rule(
        "no function has a namesake",
        """select p.proname from pg_proc p where p.pronamespace = 'laneway'::regnamespace
            group by p.proname having count(*) > 1""",
        "create function laneway.clock(integer) returns integer language sql as 'select 1'",
    ),
    Rule(
        "there are no enum types and no domains",
        "select t.typname from pg_type t where t.typnamespace = 'laneway'::regnamespace and t.typtype in ('e', 'd')",
        "create type laneway.loose as enum ('a')",
    ),
    Rule(
        "there are no materialized views and no foreign tables",
        f"select c.relname from pg_class c where c.{OURS} and c.relkind in ('m', 'f')",
        "create materialized view laneway.loose as select 1",
    ),
    Rule(
        "no foreign key begins or ends at a tenant table",
        f"""select k.conname from pg_constraint k join pg_class c on c.oid in (k.conrelid, k.confrelid)
            where k.contype = 'f' and {TENANT_TABLE}""",
        "alter table laneway.stuck add constraint loose foreign key (tenant_id) references laneway.tenant",
    ),
    Rule(
        "everything belongs to the owner role",
        f"""select 'schema' from pg_namespace n
            where n.nspname = 'laneway' and n.nspowner <> 'laneway_owner'::regrole
            union all
            select c.relname from pg_class c where c.{OURS} and c.relowner <> 'laneway_owner'::regrole
            union all
            select p.proname from pg_proc p
            where p.pronamespace = 'laneway'::regnamespace and p.proowner <> 'laneway_owner'::regrole""",
        "alter table laneway.stuck owner to current_user; alter function laneway.ring owner to current_user",
    ),
    Rule(
        "no role of ours may log in, is more than a group, or may create in the schema",
        """select r.rolname from pg_roles r where starts_with(r.rolname, 'laneway_')
            and (r.rolcanlogin or r.rolsuper or r.rolcreaterole or r.rolcreatedb or r.rolbypassrls or r.rolreplication
                or (r.rolname <> 'laneway_owner' and has_schema_privilege(r.oid, 'laneway', 'CREATE')))""",
        "alter role laneway_app login; grant create on schema laneway to laneway_worker",
    ),
]
