-- On every table, partitions and tables without a policy too: pg_read_all_data then reads no rows. Not forced, the
-- owner's functions carry the tenant themselves.
do $$
declare
    v_table record;
begin
    for v_table in
        select c.oid, c.relrowsecurity, c.relforcerowsecurity
        from pg_class c
        join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = current_schema() and c.relkind in ('r', 'p')
            and (not c.relrowsecurity or c.relforcerowsecurity)
    loop
        if not v_table.relrowsecurity then
            execute format('alter table %s enable row level security', v_table.oid::regclass);
        end if;
        if v_table.relforcerowsecurity then
            execute format('alter table %s no force row level security', v_table.oid::regclass);
        end if;
    end loop;
end
$$;
