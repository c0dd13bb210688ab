-- Tenants come, are weighed, are switched off and on. Super-admin verbs: each leaves an audit row.

create or replace function create_tenant(p_slug text, p_name text default '', p_tenant uuid default null, p_weight integer default 1)
returns uuid
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_tenant uuid := coalesce(p_tenant, new_id());
begin
    if p_slug is null or p_slug !~ '^[a-z0-9][a-z0-9_-]{0,62}$' then
        perform refuse('malformed', 'p_slug', p_slug, 'Use 1 to 63 of a-z 0-9 _ -, beginning with a letter or digit.');
    end if;
    if length(coalesce(p_name, '')) > 200 then
        perform refuse('too_large', 'p_name', length(p_name) || ' characters', 'At most 200 characters.');
    end if;
    if v_tenant <= system_tenant() then
        -- the ring of lanes begins there
        perform refuse('out_of_range', 'p_tenant', v_tenant::text, 'Choose an id above the system tenant''s, or none.');
    end if;
    perform require_weight(p_weight);
    insert into tenant (tenant_id, slug, name, created_at) values (v_tenant, p_slug, coalesce(p_name, ''), clock())
    on conflict do nothing;
    if not found and exists (select from tenant t where t.tenant_id = v_tenant) then
        perform refuse('conflict', 'p_tenant', v_tenant::text, 'Choose an id that no tenant has, or none.');
    elsif not found then
        perform refuse('conflict', 'p_slug', p_slug, 'Choose a slug that no tenant has.');
    end if;
    insert into tenant_control (tenant_id, weight) values (v_tenant, p_weight);
    perform write_audit(v_tenant, 'create', 'tenant', v_tenant::text, null, null, jsonb_build_object('slug', p_slug, 'weight', p_weight));
    return v_tenant;
end
$$;
comment on function create_tenant(text, text, uuid, integer) is 'Super-admin: a new tenant; answers its id.';

create or replace function require_weight(p_weight integer) returns void
language plpgsql immutable
as $$
begin
    if p_weight is null or p_weight not between 1 and 1000 then
        perform refuse('out_of_range', 'p_weight', p_weight::text, 'Use 1 to 1000.');
    end if;
end
$$;
comment on function require_weight(integer) is 'Refuses a weight that is none.';

create or replace function set_tenant_weight(p_tenant uuid, p_weight integer, p_reason text) returns void
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_before integer;
begin
    perform require_pause(p_reason, null, null);
    perform require_weight(p_weight);
    select c.weight into v_before from tenant_control c where c.tenant_id = p_tenant for update;
    if v_before is null then
        perform refuse('unknown', 'p_tenant', p_tenant::text, 'See list_tenants().');
    end if;
    update tenant_control c set weight = p_weight where c.tenant_id = p_tenant;
    perform write_audit(p_tenant, 'set_weight', 'tenant', p_tenant::text, p_reason, jsonb_build_object('weight', v_before),
        jsonb_build_object('weight', p_weight));
end
$$;
comment on function set_tenant_weight(uuid, integer, text) is 'Super-admin: how many jobs a turn of this tenant is worth; counts from the next claim.';

create or replace function suspend_tenant(p_tenant uuid, p_reason text) returns void
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_now timestamptz := clock();
    v_before boolean := (select c.suspended_at is not null from tenant_control c where c.tenant_id = p_tenant);
begin
    perform require_pause(p_reason, null, v_now);
    update tenant_control c
    set suspended_at = v_now, suspended_by = login_actor(), suspended_reason = p_reason
    where c.tenant_id = p_tenant;
    if not found then
        perform refuse('unknown', 'p_tenant', p_tenant::text, 'See list_tenants().');
    end if;
    perform write_audit(p_tenant, 'suspend', 'tenant', p_tenant::text, p_reason, jsonb_build_object('is_suspended', v_before),
        '{"is_suspended": true}');
end
$$;
comment on function suspend_tenant(uuid, text) is 'Super-admin: nothing of this tenant is enqueued or claimed any more; what runs goes on.';

create or replace function unsuspend_tenant(p_tenant uuid, p_reason text) returns void
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_before boolean := (select c.suspended_at is not null from tenant_control c where c.tenant_id = p_tenant);
begin
    perform require_pause(p_reason, null, null);
    update tenant_control c
    set suspended_at = null, suspended_by = null, suspended_reason = null
    where c.tenant_id = p_tenant;
    if not found then
        perform refuse('unknown', 'p_tenant', p_tenant::text, 'See list_tenants().');
    end if;
    perform write_audit(p_tenant, 'unsuspend', 'tenant', p_tenant::text, p_reason, jsonb_build_object('is_suspended', v_before),
        '{"is_suspended": false}');
    perform ring_for(p_tenant);
end
$$;
comment on function unsuspend_tenant(uuid, text) is 'Super-admin: switches a tenant on again.';

create or replace function map_login(p_login name, p_tenant uuid, p_scope text default 'o') returns void
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_before record;
begin
    if coalesce(p_login::text, '') = '' then
        perform refuse('required', 'p_login', null, 'Name a database login.');
    end if;
    if p_scope is null or p_scope not in ('r', 'o', 'a') then
        perform refuse('malformed', 'p_scope', p_scope, 'Use r (read), o (operate) or a (administer).');
    end if;
    if not exists (select from tenant t where t.tenant_id = p_tenant and not t.is_system) then
        perform refuse('unknown', 'p_tenant', p_tenant::text, 'See list_tenants(); the system tenant is nobody''s.');
    end if;
    select l.tenant_id, l.scope into v_before from tenant_login l where l.login = p_login for update;
    insert into tenant_login as l (login, tenant_id, scope) values (p_login, p_tenant, p_scope)
    on conflict (login) do update set tenant_id = excluded.tenant_id, scope = excluded.scope;
    -- the tenant that a login is taken from reads of it too
    if v_before.tenant_id <> p_tenant then
        perform write_audit(v_before.tenant_id, 'unmap_login', 'login', p_login::text, null, jsonb_build_object('scope', v_before.scope), null);
    end if;
    perform write_audit(p_tenant, 'map_login', 'login', p_login::text, null,
        case when v_before.tenant_id = p_tenant then jsonb_build_object('scope', v_before.scope) end, jsonb_build_object('scope', p_scope));
end
$$;
comment on function map_login(name, uuid, text) is 'Super-admin, strict mode: this database login speaks for this tenant and no other.';

create or replace function unmap_login(p_login name) returns void
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_before record;
begin
    delete from tenant_login l where l.login = p_login returning l.tenant_id, l.scope into v_before;
    if v_before.tenant_id is null then
        perform refuse('unknown', 'p_login', p_login::text, 'Name a login that is mapped.');
    end if;
    perform write_audit(v_before.tenant_id, 'unmap_login', 'login', p_login::text, null, jsonb_build_object('scope', v_before.scope), null);
end
$$;
comment on function unmap_login(name) is 'Super-admin: this login speaks for no tenant any more.';
