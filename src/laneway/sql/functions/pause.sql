-- An operator holds work back, with a reason, for a while or until somebody resumes it. What runs goes on.

create or replace function require_pause(p_reason text, p_until timestamptz, p_now timestamptz) returns void
language plpgsql immutable
as $$
begin
    perform require_reason(p_reason);
    if coalesce(p_reason, '') = '' then
        perform refuse('required', 'p_reason', null, 'Say why, in 1 to 1000 characters: whoever is on call will ask.');
    end if;
    if p_until <= p_now or p_until > p_now + interval '10 years' then
        perform refuse('out_of_range', 'p_until', p_until::text, 'Use a time within ten years, or none.');
    end if;
end
$$;
comment on function require_pause(text, timestamptz, timestamptz) is 'Refuses a pause without a reason or with an end in the past.';

create or replace function pause_words(p_at timestamptz, p_until timestamptz, p_by text, p_reason text) returns jsonb
language sql immutable parallel safe
as $$
    select case when p_at is not null then
        jsonb_build_object('paused_at', p_at, 'paused_until', p_until, 'paused_by', p_by, 'paused_reason', p_reason) end
$$;
comment on function pause_words(timestamptz, timestamptz, text, text) is 'A pause for the audit; null: not paused.';

create or replace function pause_queue(p_queue text, p_reason text, p_until timestamptz default null) returns void
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_before jsonb;
    v_now timestamptz := clock();
    v_queue_id integer := queue_id_of(p_queue);
begin
    perform require_pause(p_reason, p_until, v_now);
    v_before := (select pause_words(q.paused_at, q.paused_until, q.paused_by, q.paused_reason) from queue q where q.queue_id = v_queue_id);
    update queue q
    set paused_at = v_now, paused_until = p_until, paused_by = login_actor(), paused_reason = p_reason
    where q.queue_id = v_queue_id;
    perform write_audit(system_tenant(), 'pause', 'queue', p_queue, p_reason, v_before,
        pause_words(v_now, p_until, login_actor(), p_reason));
end
$$;
comment on function pause_queue(text, text, timestamptz) is 'Super-admin: nothing of this queue is claimed any more.';

create or replace function resume_queue(p_queue text, p_reason text) returns void
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_before jsonb;
    v_queue_id integer := queue_id_of(p_queue);
begin
    perform require_pause(p_reason, null, null);
    v_before := (select pause_words(q.paused_at, q.paused_until, q.paused_by, q.paused_reason) from queue q where q.queue_id = v_queue_id);
    update queue q
    set paused_at = null, paused_until = null, paused_by = null, paused_reason = null
    where q.queue_id = v_queue_id;
    perform write_audit(system_tenant(), 'resume', 'queue', p_queue, p_reason, v_before, null);
    perform ring(array[v_queue_id]);
end
$$;
comment on function resume_queue(text, text) is 'Super-admin: ends the pause of a queue.';

create or replace function pause_definition(p_definition text, p_reason text, p_until timestamptz default null) returns void
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_before jsonb;
    v_now timestamptz := clock();
    v_def_id integer := def_id_of(p_definition);
begin
    perform require_pause(p_reason, p_until, v_now);
    v_before := (select pause_words(d.paused_at, d.paused_until, d.paused_by, d.paused_reason) from definition d where d.def_id = v_def_id);
    update definition d
    set paused_at = v_now, paused_until = p_until, paused_by = login_actor(), paused_reason = p_reason
    where d.def_id = v_def_id;
    perform write_audit(system_tenant(), 'pause', 'definition', p_definition, p_reason, v_before,
        pause_words(v_now, p_until, login_actor(), p_reason));
end
$$;
comment on function pause_definition(text, text, timestamptz) is 'Super-admin: no job of this definition is claimed any more.';

create or replace function resume_definition(p_definition text, p_reason text) returns void
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_before jsonb;
    v_def_id integer := def_id_of(p_definition);
begin
    perform require_pause(p_reason, null, null);
    v_before := (select pause_words(d.paused_at, d.paused_until, d.paused_by, d.paused_reason) from definition d where d.def_id = v_def_id);
    update definition d
    set paused_at = null, paused_until = null, paused_by = null, paused_reason = null
    where d.def_id = v_def_id;
    perform write_audit(system_tenant(), 'resume', 'definition', p_definition, p_reason, v_before, null);
    perform ring(array(select d.queue_id from definition d where d.def_id = v_def_id));
end
$$;
comment on function resume_definition(text, text) is 'Super-admin: ends the pause of a definition.';

create or replace function pause_tenant(p_tenant uuid, p_reason text, p_until timestamptz default null) returns void
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_before jsonb;
    v_now timestamptz := clock();
begin
    perform require_pause(p_reason, p_until, v_now);
    v_before := (select pause_words(c.paused_at, c.paused_until, c.paused_by, c.paused_reason)
        from tenant_control c where c.tenant_id = p_tenant);
    update tenant_control c
    set paused_at = v_now, paused_until = p_until, paused_by = login_actor(), paused_reason = p_reason
    where c.tenant_id = p_tenant;
    if not found then
        perform refuse('unknown', 'p_tenant', p_tenant::text, 'See list_tenants().');
    end if;
    perform write_audit(p_tenant, 'pause', 'tenant', p_tenant::text, p_reason, v_before,
        pause_words(v_now, p_until, login_actor(), p_reason));
end
$$;
comment on function pause_tenant(uuid, text, timestamptz) is 'Super-admin: no job of this tenant is claimed any more; it may still enqueue.';

create or replace function resume_tenant(p_tenant uuid, p_reason text) returns void
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_before jsonb;
begin
    perform require_pause(p_reason, null, null);
    v_before := (select pause_words(c.paused_at, c.paused_until, c.paused_by, c.paused_reason)
        from tenant_control c where c.tenant_id = p_tenant);
    update tenant_control c
    set paused_at = null, paused_until = null, paused_by = null, paused_reason = null
    where c.tenant_id = p_tenant;
    if not found then
        perform refuse('unknown', 'p_tenant', p_tenant::text, 'See list_tenants().');
    end if;
    perform write_audit(p_tenant, 'resume', 'tenant', p_tenant::text, p_reason, v_before, null);
    perform ring_for(p_tenant);
end
$$;
comment on function resume_tenant(uuid, text) is 'Super-admin: ends the pause of a tenant.';

-- A tenant holds back its own jobs, of one definition or of all; an operator's pause is not its to end.
create or replace function pause_lane(
    p_tenant uuid, p_definition text, p_reason text, p_until timestamptz default null, p_token text default null
) returns void
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_before jsonb;
    v_actor text := require_tenant('a', p_tenant, p_token);
    v_now timestamptz := clock();
    v_def_id integer := case when p_definition is null then 0 else def_id_of(p_definition) end;
begin
    perform require_pause(p_reason, p_until, v_now);
    v_before := (select pause_words(p.paused_at, p.paused_until, p.paused_by, p.paused_reason)
        from tenant_pair p where p.tenant_id = p_tenant and p.def_id = v_def_id);
    insert into tenant_pair as p (tenant_id, def_id, paused_at, paused_until, paused_by, paused_reason)
    values (p_tenant, v_def_id, v_now, p_until, v_actor, p_reason)
    on conflict (tenant_id, def_id) do update
    set paused_at = excluded.paused_at, paused_until = excluded.paused_until, paused_by = excluded.paused_by,
        paused_reason = excluded.paused_reason;
    perform write_audit(p_tenant, 'pause', 'lane', coalesce(p_definition, '*'), p_reason, v_before,
        pause_words(v_now, p_until, v_actor, p_reason), v_actor);
end
$$;
comment on function pause_lane(uuid, text, text, timestamptz, text)
is 'A tenant holds back its own jobs of a definition (null: of all).';

create or replace function resume_lane(p_tenant uuid, p_definition text, p_reason text default null, p_token text default null) returns void
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_before jsonb;
    v_actor text := require_tenant('a', p_tenant, p_token);
    v_def_id integer := case when p_definition is null then 0 else def_id_of(p_definition) end;
begin
    perform require_reason(p_reason);
    v_before := (select pause_words(p.paused_at, p.paused_until, p.paused_by, p.paused_reason)
        from tenant_pair p where p.tenant_id = p_tenant and p.def_id = v_def_id);
    delete from tenant_pair p where p.tenant_id = p_tenant and p.def_id = v_def_id;
    perform write_audit(p_tenant, 'resume', 'lane', coalesce(p_definition, '*'), p_reason, v_before, null, v_actor);
    perform ring_for(p_tenant);
end
$$;
comment on function resume_lane(uuid, text, text, text) is 'A tenant ends its own pause.';

create or replace function ring_for(p_tenant uuid) returns void
language plpgsql volatile
as $$
begin
    perform ring(array(
        select q.queue_id from queue q
        where exists (select from live l where l.queue_id = q.queue_id and l.tenant_id = p_tenant and l.state = 0)));
end
$$;
comment on function ring_for(uuid) is 'Wakes the workers of queues in which a tenant has ready jobs.';
