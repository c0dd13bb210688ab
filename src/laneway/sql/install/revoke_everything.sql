-- Everything from everyone but the owner, PUBLIC and strangers included; what the access table gives is granted after.
do $$
declare
    v_grant record;
begin
    for v_grant in
        with held as (
            select 'schema' as kind, quote_ident(n.nspname) as name, n.nspowner as owner, n.nspacl as acl
            from pg_namespace n
            where n.nspname = current_schema()
            union all
            select case when c.relkind = 'S' then 'sequence' else 'table' end, c.oid::regclass::text, c.relowner, c.relacl
            from pg_class c
            join pg_namespace n on n.oid = c.relnamespace
            where n.nspname = current_schema() and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
            union all
            select 'table', c.oid::regclass::text, c.relowner, a.attacl
            from pg_class c
            join pg_namespace n on n.oid = c.relnamespace
            join pg_attribute a on a.attrelid = c.oid
            where n.nspname = current_schema() and a.attacl is not null
            union all
            select 'routine', p.oid::regprocedure::text, p.proowner, coalesce(p.proacl, acldefault('f', p.proowner))
            from pg_proc p
            join pg_namespace n on n.oid = p.pronamespace
            where n.nspname = current_schema()
        )
        select distinct h.kind, h.name, coalesce(quote_ident(r.rolname), 'public') as grantee
        from held h
        cross join lateral aclexplode(h.acl) g
        left join pg_roles r on r.oid = g.grantee
        where g.grantee <> h.owner
    loop
        execute format('revoke all on %s %s from %s cascade', v_grant.kind, v_grant.name, v_grant.grantee);
    end loop;
end
$$;
