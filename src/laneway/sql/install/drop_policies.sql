-- Policies are made again from the access table, all of them: one that was added by hand does not survive an apply.
do $$
declare
    v_policy record;
begin
    for v_policy in
        select p.polname, p.polrelid
        from pg_policy p
        join pg_class c on c.oid = p.polrelid
        join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = current_schema() and pg_get_userbyid(c.relowner) = current_user
    loop
        execute format('drop policy %I on %s', v_policy.polname, v_policy.polrelid::regclass);
    end loop;
end
$$;
