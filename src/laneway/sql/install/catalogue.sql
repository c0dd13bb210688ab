-- The install schema (the current one) as lines of text, object by object, so that two installs compare: the schema is
-- never named, our roles stand without their prefix, partitions appear once as what they have in common.
with recursive here as (
    select n.oid, n.nspname, n.nspowner, n.nspacl, n.nspname || '_' as prefix
    from pg_namespace n
    where n.nspname = current_schema()
),
role as (
    select r.oid, r.rolname,
        starts_with(r.rolname, h.prefix) and substr(r.rolname, length(h.prefix) + 1)
            in ('owner', 'app', 'tenant', 'backend', 'worker', 'scheduler', 'api', 'admin', 'metrics') as is_ours,
        case
            when r.oid = h.nspowner then 'owner'
            when starts_with(r.rolname, h.prefix) and substr(r.rolname, length(h.prefix) + 1)
                in ('owner', 'app', 'tenant', 'backend', 'worker', 'scheduler', 'api', 'admin', 'metrics')
                then substr(r.rolname, length(h.prefix) + 1)
            else 'stranger ' || quote_ident(r.rolname)
        end as name
    from pg_roles r cross join here h
    union all
    select 0, null, false, 'public'
),
relation as (
    select c.*, coalesce(o.name, 'nobody') as owner_name,
        case c.relkind when 'r' then 'table' when 'p' then 'table' when 'v' then 'view' when 'm' then 'materialized view'
            when 'S' then 'sequence' when 'f' then 'foreign table' end || ' ' || c.relname as object
    from pg_class c
    join here h on h.oid = c.relnamespace
    left join role o on o.oid = c.relowner
    where c.relkind in ('r', 'p', 'v', 'm', 'S', 'f')
),
shown as (
    select r.* from relation r where not r.relispartition
),
routine as (
    select p.*, 'function ' || p.proname as object, coalesce(o.name, 'nobody') as owner_name
    from pg_proc p
    join here h on h.oid = p.pronamespace
    left join role o on o.oid = p.proowner
),
acl as (
    select 'schema' as object, '' as part, h.nspowner as owner, h.nspacl as acl from here h
    union all
    select s.object, '', s.relowner, s.relacl from shown s
    union all
    select s.object, ' (' || quote_ident(a.attname) || ')', s.relowner, a.attacl
    from shown s join pg_attribute a on a.attrelid = s.oid
    where a.attacl is not null
    union all
    select f.object, '', f.proowner, coalesce(f.proacl, acldefault('f', f.proowner)) from routine f
    union all
    select 'default privileges', case d.defaclobjtype when 'f' then ' on functions' when 'r' then ' on tables'
            when 'S' then ' on sequences' when 'T' then ' on types' else ' on schemas' end
        || case when d.defaclnamespace = 0 then '' else ' in the schema' end, d.defaclrole, d.defaclacl
    from pg_default_acl d cross join here h
    where d.defaclrole = h.nspowner and d.defaclnamespace in (0, h.oid)
),
given as (
    select a.object, a.part, r.name as grantee,
        string_agg(g.privilege_type || case when g.is_grantable then ' with grant option' else '' end, ', '
            order by g.privilege_type collate "C") as privileges
    from acl a
    cross join lateral aclexplode(a.acl) g
    left join role r on r.oid = g.grantee
    where g.grantee <> a.owner
    group by a.object, a.part, r.name
),
line (object, rank, place, body) as (
    select 'schema', 0, 0::bigint, 'owner ' || r.name from here h join role r on r.oid = h.nspowner
    union all
    select 'default privileges', 0, 0, 'of the owner:'
    union all
    select 'default privileges', 1, 0, 'granted to nobody' || a.part from acl a where a.object = 'default privileges'
        and not exists (select from given g where g.object = a.object and g.part = a.part)
    union all
    select 'role ' || r.name, 0, 0, concat_ws(' ', case when p.rolcanlogin then 'login' else 'nologin' end,
        case when p.rolinherit then 'inherit' else 'noinherit' end, case when p.rolsuper then 'superuser' end,
        case when p.rolcreaterole then 'createrole' end, case when p.rolcreatedb then 'createdb' end,
        case when p.rolreplication then 'replication' end, case when p.rolbypassrls then 'bypassrls' end)
    from role r join pg_roles p on p.oid = r.oid
    where r.is_ours
    union all
    select distinct 'role ' || m.name, 1, 0::bigint, 'member of ' || g.name
    from pg_auth_members a join role m on m.oid = a.member join role g on g.oid = a.roleid
    where m.is_ours
    union all
    -- relations
    select s.object, 0, 0, concat_ws(' ', 'owner', s.owner_name, case s.relpersistence when 'u' then 'unlogged' end,
        case when s.relrowsecurity then 'row level security' end, case when s.relforcerowsecurity then 'forced' end,
        'with (' || (select string_agg(o, ', ' order by o collate "C") from unnest(s.reloptions) o) || ')')
    from shown s
    union all
    select s.object, 1, 0, 'partition by ' || pg_get_partkeydef(s.oid) from shown s where s.relkind = 'p'
    union all
    select s.object, 2, 0, 'partitions: ' || p.kind || ' ' || p.properties
    from shown s
    cross join lateral (
        select distinct
            case when pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT' then 'default' else 'range' end as kind,
            concat_ws(' ', 'owner', c.owner_name, case when c.relrowsecurity then 'row level security' end,
                case when c.relforcerowsecurity then 'forced' end,
                'with (' || (select string_agg(o, ', ' order by o collate "C") from unnest(c.reloptions) o) || ')',
                case when exists (select from aclexplode(c.relacl) g where g.grantee <> c.relowner) then 'granted to others' end,
                case when exists (select from pg_policy y where y.polrelid = c.oid) then 'with policies' end) as properties
        from pg_partition_tree(s.oid) t join relation c on c.oid = t.relid
        where t.level > 0
    ) p
    where s.relkind = 'p'
    union all
    select s.object, 3, row_number() over (partition by s.oid order by a.attnum),
        concat_ws(' ', 'column', quote_ident(a.attname), format_type(a.atttypid, a.atttypmod),
        case when a.attnotnull then 'not null' end,
        case when a.attgenerated <> '' then 'generated' end, case when a.attidentity <> '' then 'identity' end,
        'default ' || pg_get_expr(d.adbin, d.adrelid, true),
        case when a.attcollation <> t.typcollation then 'collate ' || a.attcollation::regcollation end,
        case when a.attstorage <> t.typstorage then 'storage ' || a.attstorage::text end,
        'compression ' || nullif(a.attcompression::text, ''),
        'with (' || array_to_string(a.attoptions, ', ') || ')',
        '-- ' || col_description(s.oid, a.attnum))
    from shown s
    join pg_attribute a on a.attrelid = s.oid and a.attnum > 0 and not a.attisdropped
    join pg_type t on t.oid = a.atttypid
    left join pg_attrdef d on d.adrelid = s.oid and d.adnum = a.attnum
    where s.relkind <> 'S'
    union all
    -- from 18 on a not-null is a constraint as well; the column says it already
    select s.object, 4, 0, 'constraint ' || quote_ident(k.conname) || ' ' || pg_get_constraintdef(k.oid, true)
    from shown s join pg_constraint k on k.conrelid = s.oid
    where k.contype <> 'n'
    union all
    select s.object, 5, 0, concat_ws(' ', pg_get_indexdef(i.indexrelid, 0, true), case when not i.indisvalid then 'invalid' end)
    from shown s join pg_index i on i.indrelid = s.oid
    union all
    select s.object, 6, 0, 'statistics ' || quote_ident(x.stxname) || ' (' || array_to_string(x.stxkind, '') || ') on '
        || pg_get_statisticsobjdef_columns(x.oid)
    from shown s join pg_statistic_ext x on x.stxrelid = s.oid
    union all
    select s.object, 7, 0, pg_get_triggerdef(g.oid, true) || case g.tgenabled when 'O' then '' else ' (' || g.tgenabled::text || ')' end
    from shown s join pg_trigger g on g.tgrelid = s.oid
    where not g.tgisinternal
    union all
    select s.object, 8, 0, concat_ws(' ', 'policy', quote_ident(y.polname),
        case when y.polpermissive then null else 'restrictive' end,
        'for', case y.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' else 'all' end,
        'to', (select string_agg(r.name, ', ' order by r.name collate "C") from role r where r.oid = any (y.polroles)),
        'using (' || pg_get_expr(y.polqual, y.polrelid, true) || ')',
        'with check (' || pg_get_expr(y.polwithcheck, y.polrelid, true) || ')')
    from shown s join pg_policy y on y.polrelid = s.oid
    union all
    select s.object, 9, 0, 'as ' || ltrim(pg_get_viewdef(s.oid, true)) from shown s where s.relkind in ('v', 'm')
    union all
    select s.object, 9, 0, concat_ws(' ', 'as', format_type(q.seqtypid, null), 'start', q.seqstart, 'increment', q.seqincrement,
        'minvalue', q.seqmin, 'maxvalue', q.seqmax, 'cache', q.seqcache, case when q.seqcycle then 'cycle' end)
    from shown s join pg_sequence q on q.seqrelid = s.oid
    union all
    select s.object, 11, 0, '-- ' || obj_description(s.oid, 'pg_class') from shown s where obj_description(s.oid, 'pg_class') is not null
    union all
    -- functions
    select f.object, 0, f.oid::bigint, '(' || pg_get_function_arguments(f.oid) || ')'
    from routine f
    union all
    select f.object, 1, f.oid::bigint, coalesce('returns ' || pg_get_function_result(f.oid), 'procedure')
    from routine f
    union all
    select f.object, 2, f.oid::bigint, concat_ws(' ', 'owner', f.owner_name, 'language', l.lanname,
        case f.provolatile when 'i' then 'immutable' when 's' then 'stable' else 'volatile' end,
        case when f.proisstrict then 'strict' end, case when f.proleakproof then 'leakproof' end,
        case f.proparallel when 's' then 'parallel safe' when 'r' then 'parallel restricted' else 'parallel unsafe' end,
        case when f.prosecdef then 'security definer' end, case f.prokind when 'a' then 'aggregate' when 'w' then 'window' end,
        'cost', f.procost, case when f.proretset then 'rows ' || f.prorows end)
    from routine f join pg_language l on l.oid = f.prolang
    union all
    select f.object, 3, f.oid::bigint, 'set '
        || case when starts_with(c, 'search_path=') then replace(c, quote_ident(h.nspname), '<schema>') else c end
    from routine f cross join here h cross join lateral unnest(f.proconfig) c
    union all
    select f.object, 4, f.oid::bigint, 'body '
        || encode(sha256(convert_to(coalesce(pg_get_function_sqlbody(f.oid), f.prosrc), 'UTF8')), 'hex')
    from routine f
    union all
    select f.object, 11, f.oid::bigint, '-- ' || obj_description(f.oid, 'pg_proc')
    from routine f where obj_description(f.oid, 'pg_proc') is not null
    union all
    -- types that are not a table's
    select 'type ' || t.typname, 0, 0, concat_ws(' ', 'owner', o.name, case t.typtype when 'e' then 'enum' else 'domain' end,
        case t.typtype when 'd' then format_type(t.typbasetype, t.typtypmod) end, case when t.typnotnull then 'not null' end,
        (select string_agg(quote_literal(e.enumlabel), ', ' order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid),
        (select string_agg(pg_get_constraintdef(k.oid, true), ' ' order by k.conname collate "C")
         from pg_constraint k where k.contypid = t.oid and k.contype <> 'n'))
    from pg_type t join here h on h.oid = t.typnamespace left join role o on o.oid = t.typowner
    where t.typtype in ('e', 'd')
    union all
    select g.object, 10, 0, 'granted to ' || g.grantee || g.part || ': ' || lower(g.privileges) from given g
)
select l.object, array_agg(l.body order by l.rank, l.place, l.body collate "C") as lines
from line l
where l.body is not null
group by l.object
order by l.object collate "C"
