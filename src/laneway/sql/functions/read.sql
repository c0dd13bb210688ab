-- Lists and details: paged, bounded, by an index. A filter that no index serves is tried on at most 1000 jobs, newest
-- first; the last row then has no job and carries the cursor and how far back was looked.

create or replace function require_page(p_limit integer) returns void
language plpgsql immutable
as $$
begin
    if p_limit is null or p_limit not between 1 and 200 then
        perform refuse('out_of_range', 'p_limit', p_limit::text, 'Use 1 to 200.');
    end if;
end
$$;
comment on function require_page(integer) is 'Refuses a page of a size that is none.';

-- The jobs of a tenant below a cursor, newest first, with what the phase tables and the last attempt say of each.
create or replace function list_jobs(
    p_tenant uuid, p_state text default null, p_definition text default null, p_queue text default null, p_before uuid default null,
    p_limit integer default 50, p_token text default null
) returns table (
    job_id uuid, definition text, queue text, state text, attempt integer, max_attempts integer, priority smallint, source text,
    scheduled_for timestamptz, created_at timestamptz, started_at timestamptz, ended_at timestamptz, worker_id uuid, reason text,
    labels jsonb, correlation_id text, next_before uuid, looked_back_to timestamptz
)
language plpgsql stable security definer set search_path from current
as $$
#variable_conflict use_column
declare
    v_actor text := require_tenant('r', p_tenant, p_token);
    v_before uuid := coalesce(p_before, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
    v_state text := case p_state when 'completed' then 'succeeded' when 'success' then 'succeeded' when 'dead' then 'dead_letter' else p_state end;
    v_def_id integer := case when p_definition is not null then def_id_of(p_definition) end;
    v_queue_id integer := case when p_queue is not null then queue_id_of(p_queue) end;
    v_is_cut boolean;
    v_last uuid;
    v_found uuid[];
begin
    perform require_page(p_limit);
    if v_state not in ('queued', 'scheduled', 'retrying', 'waiting', 'running', 'succeeded', 'failed', 'dead_letter', 'canceled') then
        perform refuse('malformed', 'p_state', p_state,
            'Use queued, scheduled, retrying, waiting, running, succeeded, failed, dead_letter or canceled.');
    end if;
    select l.is_cut, l.last_id, l.page into v_is_cut, v_last, v_found
    from look_for_jobs(p_tenant, v_state, v_def_id, v_queue_id, v_before, p_limit) l;
    return query
    select j.id, d.key, q.name, s.state, s.attempt, coalesce(s.max_attempts, j.max_attempts), j.priority, source_word(j.source), coalesce(s.due_at, j.run_at),
        id_time(j.id), s.started_at, s.ended_at, s.worker_id, s.reason, j.labels, j.correlation_id, null::uuid, null::timestamptz
    from unnest(v_found) with ordinality as f (job_id, place)
    cross join lateral phase_of(p_tenant, f.job_id) s
    cross join lateral (
        select j.* from job j where j.tenant_id = p_tenant and j.def_id = s.def_id and j.id = f.job_id offset 0
    ) j
    join definition d on d.def_id = j.def_id
    join queue q on q.queue_id = j.queue_id
    order by f.place;
    if cardinality(v_found) = p_limit or v_is_cut then
        return query
        select null::uuid, null::text, null::text, null::text, null::integer, null::integer, null::smallint, null::text, null::timestamptz,
            null::timestamptz, null::timestamptz, null::timestamptz, null::uuid, null::text, null::jsonb, null::text,
            case when cardinality(v_found) = p_limit then v_found[p_limit] else v_last end,
            id_time(case when cardinality(v_found) = p_limit then v_found[p_limit] else v_last end);
    end if;
end
$$;
comment on function list_jobs(uuid, text, text, text, uuid, integer, text)
is 'A page of jobs, newest first. When more may follow, the last row has no job and carries next_before for the next page and how far back was looked.';

-- Candidates come from the most selective source that is in order of ids: phase tables for jobs that are not done, the
-- partial index for bad ends, a definition's own jobs, else everything. Each source gives 1000 rows at most; where one was
-- cut, nothing below its last id is looked at, or a page would pass over jobs that the others do not have.
create or replace function look_for_jobs(
    p_tenant uuid, p_state text, p_def_id integer, p_queue_id integer, p_before uuid, p_limit integer,
    out is_cut boolean, out last_id uuid, out page uuid[]
)
language plpgsql stable
as $$
begin
    if p_state in ('queued', 'scheduled', 'retrying', 'waiting', 'running') then
        with ready as (
            select l.job_id, case when l.state = 1 then 'running' else 'ready' end as phase, l.def_id, l.queue_id
            from live l where l.tenant_id = p_tenant and l.job_id < p_before order by l.tenant_id desc, l.job_id desc limit 1000
        ),
        parked as (
            select l.job_id, case when l.attempt > 0 then 'retrying' else 'scheduled' end as phase, l.def_id, l.queue_id
            from later l where l.tenant_id = p_tenant and l.job_id < p_before order by l.tenant_id desc, l.job_id desc limit 1000
        ),
        blocked as (
            select w.job_id, 'waiting' as phase, w.def_id, w.queue_id
            from waiting w where w.tenant_id = p_tenant and w.job_id < p_before order by w.tenant_id desc, w.job_id desc limit 1000
        ),
        edge as (
            select c.last_id
            from (select (array_agg(r.job_id order by r.job_id))[1] as last_id, count(*) as n from ready r
                union all select (array_agg(r.job_id order by r.job_id))[1], count(*) from parked r
                union all select (array_agg(r.job_id order by r.job_id))[1], count(*) from blocked r) c
            where c.n = 1000
            order by c.last_id desc
            limit 1
        ),
        seen as (select * from ready union all select * from parked union all select * from blocked)
        select exists (select from edge), (select e.last_id from edge e),
            coalesce((array_agg(n.job_id order by n.job_id desc) filter (where
                (p_state = n.phase or (p_state = 'queued' and n.phase <> 'running'))
                and (p_def_id is null or n.def_id = p_def_id) and (p_queue_id is null or n.queue_id = p_queue_id)))[1:p_limit], '{}')
        into is_cut, last_id, page
        from seen n
        where n.job_id >= coalesce((select e.last_id from edge e), '00000000-0000-0000-0000-000000000000');
    elsif p_state in ('failed', 'dead_letter', 'canceled') then
        with newest as (
            select a.job_id, a.def_id, a.queue_id
            from attempt a
            where a.tenant_id = p_tenant and a.job_id < p_before and a.final_state > 1
            order by a.tenant_id desc, a.job_id desc
            limit 1000
        )
        select count(*) = 1000, (array_agg(n.job_id order by n.job_id))[1],
            coalesce((array_agg(distinct n.job_id order by n.job_id desc) filter (where
                (p_def_id is null or n.def_id = p_def_id) and (p_queue_id is null or n.queue_id = p_queue_id)
                and state_of(p_tenant, n.job_id) = p_state))[1:p_limit], '{}')
        into is_cut, last_id, page
        from newest n;
    elsif p_def_id is not null then
        with newest as (
            select j.id as job_id, j.queue_id
            from job j
            where j.tenant_id = p_tenant and j.def_id = p_def_id and j.id < p_before
            order by j.tenant_id desc, j.def_id desc, j.id desc
            limit 1000
        )
        select count(*) = 1000, (array_agg(n.job_id order by n.job_id))[1],
            coalesce((array_agg(n.job_id order by n.job_id desc) filter (where
                (p_queue_id is null or n.queue_id = p_queue_id)
                and (p_state is null or state_of(p_tenant, n.job_id) = p_state)))[1:p_limit], '{}')
        into is_cut, last_id, page
        from newest n;
    else
        with ready as (
            select l.job_id, l.queue_id from live l
            where l.tenant_id = p_tenant and l.job_id < p_before order by l.tenant_id desc, l.job_id desc limit 1000
        ),
        parked as (
            select l.job_id, l.queue_id from later l
            where l.tenant_id = p_tenant and l.job_id < p_before order by l.tenant_id desc, l.job_id desc limit 1000
        ),
        blocked as (
            select w.job_id, w.queue_id from waiting w
            where w.tenant_id = p_tenant and w.job_id < p_before order by w.tenant_id desc, w.job_id desc limit 1000
        ),
        past as (
            select a.job_id, a.queue_id from attempt a
            where a.tenant_id = p_tenant and a.job_id < p_before order by a.tenant_id desc, a.job_id desc limit 1000
        ),
        edge as (
            select c.last_id
            from (select (array_agg(r.job_id order by r.job_id))[1] as last_id, count(*) as n from ready r
                union all select (array_agg(r.job_id order by r.job_id))[1], count(*) from parked r
                union all select (array_agg(r.job_id order by r.job_id))[1], count(*) from blocked r
                union all select (array_agg(r.job_id order by r.job_id))[1], count(*) from past r) c
            where c.n = 1000
            order by c.last_id desc
            limit 1
        ),
        seen as (select * from ready union select * from parked union select * from blocked union select * from past)
        select exists (select from edge), (select e.last_id from edge e),
            coalesce((array_agg(n.job_id order by n.job_id desc) filter (where
                (p_queue_id is null or n.queue_id = p_queue_id)
                and (p_state is null or state_of(p_tenant, n.job_id) = p_state)))[1:p_limit], '{}')
        into is_cut, last_id, page
        from seen n
        where n.job_id >= coalesce((select e.last_id from edge e), '00000000-0000-0000-0000-000000000000');
    end if;
end
$$;
comment on function look_for_jobs(uuid, text, integer, integer, uuid, integer)
is 'Ids of a page of jobs, whether the look was cut short, and the last id looked at.';

-- Where a job stands, in one snapshot: its phase table wins over its history, row number 0 over the other attempts.
create or replace function phase_of(
    p_tenant uuid, p_job uuid, out def_id integer, out queue_id integer, out state text, out attempt integer, out max_attempts integer,
    out due_at timestamptz, out started_at timestamptz, out ended_at timestamptz, out worker_id uuid, out lease_until timestamptz,
    out deadline timestamptz, out is_cancel_requested boolean, out reason text, out error jsonb, out result jsonb
)
language plpgsql stable
as $$
#variable_conflict use_column
begin
    select p.def_id, p.queue_id, p.state, p.attempt, p.max_attempts, p.due_at, p.started_at, p.ended_at, p.worker_id, p.lease_until,
        p.deadline, p.is_cancel_requested, p.reason, p.error, p.result
    into def_id, queue_id, state, attempt, max_attempts, due_at, started_at, ended_at, worker_id, lease_until, deadline,
        is_cancel_requested, reason, error, result
    from (
        select 1 as place, l.def_id, l.queue_id, case when l.state = 1 then 'running' else 'queued' end as state, l.attempt,
            l.max_attempts, null::timestamptz as due_at, l.started_at, null::timestamptz as ended_at, l.worker_id, l.until as lease_until,
            l.deadline, l.is_cancel_requested, null::text as reason, null::jsonb as error, null::jsonb as result
        from live l where l.tenant_id = p_tenant and l.job_id = p_job
        union all
        select 1, l.def_id, l.queue_id, 'queued', l.attempt, l.max_attempts, l.due_at, null, null, null, null, null, false, null, null, null
        from later l where l.tenant_id = p_tenant and l.job_id = p_job
        union all
        select 1, w.def_id, w.queue_id, 'queued', 0, w.max_attempts, w.run_at, null, null, null, null, null, false, null, null, null
        from waiting w where w.tenant_id = p_tenant and w.job_id = p_job
        union all
        (select 2, a.def_id, a.queue_id, state_word(a.final_state), a.attempt, null, null, a.started_at, a.ended_at, a.worker_id, null,
            null, false, a.reason, a.error, a.result
        from attempt a where a.tenant_id = p_tenant and a.job_id = p_job
        order by (a.attempt = 0) desc, a.attempt desc limit 1)
    ) p
    order by p.place
    limit 1;
end
$$;
comment on function phase_of(uuid, uuid) is 'Where a job stands and what its last attempt said.';

create or replace function get_job(p_tenant uuid, p_job uuid, p_token text default null)
returns table (
    job_id uuid, definition text, queue text, state text, attempt integer, max_attempts integer, priority smallint, source text,
    source_ref text, created_by text, scheduled_for timestamptz, created_at timestamptz, started_at timestamptz, ended_at timestamptz,
    expires_at timestamptz, lease_until timestamptz, deadline timestamptz, worker_id uuid, is_cancel_requested boolean, reason text,
    rerun_of uuid, parent_id uuid, correlation_id text, trace_id text, dedupe_key text, idempotency_key text, labels jsonb, payload jsonb,
    result jsonb, error jsonb
)
language plpgsql stable security definer set search_path from current
as $$
#variable_conflict use_column
declare
    v_actor text := require_tenant('r', p_tenant, p_token);
begin
    return query
    select j.id, d.key, q.name, s.state, s.attempt, coalesce(s.max_attempts, j.max_attempts), j.priority, source_word(j.source), j.source_ref,
        j.created_by, coalesce(s.due_at, j.run_at), id_time(j.id), s.started_at, s.ended_at, j.expires_at, s.lease_until, s.deadline,
        s.worker_id, s.is_cancel_requested, s.reason, j.rerun_of, j.parent_id, j.correlation_id, j.trace_id, j.dedupe_key,
        (select k.key from job_key k where k.tenant_id = p_tenant and k.job_id = p_job and k.kind = 2 limit 1),
        j.labels, j.payload, s.result, s.error
    from phase_of(p_tenant, p_job) s
    join job j on j.tenant_id = p_tenant and j.def_id = s.def_id and j.id = p_job
    join definition d on d.def_id = j.def_id
    join queue q on q.queue_id = j.queue_id;
end
$$;
comment on function get_job(uuid, uuid, text) is 'Everything about one job; no row for one that does not exist or is another tenant''s.';

create or replace function list_attempts(p_tenant uuid, p_job uuid, p_before integer default null, p_limit integer default 50, p_token text default null)
returns table (
    attempt integer, outcome text, final_state text, ready_at timestamptz, started_at timestamptz, ended_at timestamptz, worker_id uuid,
    reason text, error jsonb, result jsonb
)
language plpgsql stable security definer set search_path from current
as $$
#variable_conflict use_column
declare
    v_actor text := require_tenant('r', p_tenant, p_token);
begin
    perform require_page(p_limit);
    return query
    select r.* from (
        select l.attempt, 'running'::text, null::text, l.ready_at, l.started_at, null::timestamptz, l.worker_id, null::text, null::jsonb, null::jsonb
        from live l
        where l.tenant_id = p_tenant and l.job_id = p_job and l.state = 1 and (p_before is null or l.attempt < p_before)
        union all
        (select a.attempt, outcome_word(a.outcome), state_word(a.final_state), a.ready_at, a.started_at, a.ended_at, a.worker_id, a.reason,
            a.error, a.result
        from attempt a
        where a.tenant_id = p_tenant and a.job_id = p_job and (p_before is null or a.attempt < p_before)
        order by a.attempt desc
        limit p_limit)
    ) r
    order by 1 desc
    limit p_limit;
end
$$;
comment on function list_attempts(uuid, uuid, integer, integer, text) is 'The attempts of a job, the newest first; 0 is an end without an attempt.';

-- Not done: a bounded count over the phase tables. Done is history, which later rollups count.
create or replace function count_jobs(p_tenant uuid, p_token text default null)
returns table (state text, jobs bigint, is_exact boolean, oldest_ready_at timestamptz)
language plpgsql stable security definer set search_path from current
as $$
#variable_conflict use_column
declare
    v_actor text := require_tenant('r', p_tenant, p_token);
begin
    return query
    select r.state, r.jobs, r.jobs <= 10000, r.oldest_ready_at
    from (
        select 'ready' as state, count(*) as jobs, min(l.ready_at) as oldest_ready_at
        from (select l.ready_at from live l where l.tenant_id = p_tenant and l.state = 0 limit 10001) l
        union all
        select 'running', count(*), null from (select from live l where l.tenant_id = p_tenant and l.state = 1 limit 10001) l
        union all
        select 'scheduled', count(*), null from (select from later l where l.tenant_id = p_tenant and l.attempt = 0 limit 10001) l
        union all
        select 'retrying', count(*), null from (select from later l where l.tenant_id = p_tenant and l.attempt > 0 limit 10001) l
        union all
        select 'waiting', count(*), null from (select from waiting w where w.tenant_id = p_tenant limit 10001) w
    ) r
    where r.jobs > 0
    order by r.state;
end
$$;
comment on function count_jobs(uuid, text) is 'How many jobs of a tenant are not done, by phase: exact to 10,000 each, "at least" beyond.';

create or replace function list_audit(p_tenant uuid, p_before uuid default null, p_limit integer default 50, p_token text default null)
returns table (id uuid, at timestamptz, actor text, verb text, target_kind text, target text, reason text, before jsonb, after jsonb)
language plpgsql stable security definer set search_path from current
as $$
#variable_conflict use_column
declare
    v_actor text := require_tenant('a', p_tenant, p_token);
begin
    perform require_page(p_limit);
    return query
    select a.id, a.at, a.actor, a.verb, a.target_kind, a.target, a.reason, a.before, a.after
    from audit a
    where a.tenant_id = p_tenant and a.id < coalesce(p_before, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
    order by a.id desc
    limit p_limit;
end
$$;
comment on function list_audit(uuid, uuid, integer, text) is 'Who changed what in a tenant, the newest first.';

create or replace function list_queues()
returns table (queue text, is_strict boolean, ageing_seconds integer, paused_at timestamptz, paused_until timestamptz, paused_by text, paused_reason text)
language plpgsql stable security definer set search_path from current
as $$
#variable_conflict use_column
begin
    return query
    select q.name, q.is_strict, q.ageing_seconds, q.paused_at, q.paused_until, q.paused_by, q.paused_reason
    from queue q
    order by q.name
    limit 1000;
end
$$;
comment on function list_queues() is 'The queues and their pauses.';

create or replace function list_definitions(p_after text default '', p_limit integer default 200)
returns table (
    definition text, app text, queue text, description text, tags text[], max_attempts integer, priority smallint, timeout_seconds integer,
    is_enabled boolean, is_system boolean, is_deleted_from_code boolean, overrides jsonb, paused_at timestamptz, paused_until timestamptz,
    paused_by text, paused_reason text, live_workers bigint
)
language plpgsql stable security definer set search_path from current
as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock();
begin
    perform require_page(p_limit);
    return query
    select d.key, d.app, q.name, d.description, d.tags, d.max_attempts, d.priority, d.timeout_seconds, d.is_enabled, d.is_system,
        d.is_deleted_from_code, d.overrides, d.paused_at, d.paused_until, d.paused_by, d.paused_reason,
        (select count(*) from worker w
            where d.def_id = any (w.def_ids) and d.queue_id = any (w.queue_ids) and w.ended_at is null and w.draining_at is null
                and w.seen_at > v_now - interval '1 minute')
    from definition d
    join queue q on q.queue_id = d.queue_id
    where d.key > coalesce(p_after, '')
    order by d.key
    limit p_limit;
end
$$;
comment on function list_definitions(text, integer) is 'The definitions in force, by key, with how many live workers can run each.';

create or replace function list_workers(p_limit integer default 200)
returns table (
    worker_id uuid, hostname text, pid integer, version text, slots integer, queues text[], definitions text[], labels jsonb,
    registered_at timestamptz, seen_at timestamptz, is_stale boolean, draining_at timestamptz, ended_at timestamptz, leases bigint
)
language plpgsql stable security definer set search_path from current
as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock();
begin
    perform require_page(p_limit);
    return query
    select w.worker_id, w.hostname, w.pid, w.version, w.slots,
        array(select q.name from queue q where q.queue_id = any (w.queue_ids) order by q.name),
        array(select d.key from definition d where d.def_id = any (w.def_ids) order by d.key), w.labels,
        w.registered_at, w.seen_at, w.ended_at is null and w.seen_at < v_now - interval '1 minute', w.draining_at, w.ended_at,
        coalesce(l.leases, 0)
    from worker w
    left join (select l.worker_id, count(*) as leases from live l where l.state = 1 group by l.worker_id) l on l.worker_id = w.worker_id
    order by w.seen_at desc
    limit p_limit;
end
$$;
comment on function list_workers(integer) is 'The workers, the last heard of first, with the leases each holds.';

create or replace function list_tenants(p_after text default '', p_limit integer default 200)
returns table (
    tenant_id uuid, slug text, name text, weight smallint, suspended_at timestamptz, suspended_by text, suspended_reason text,
    paused_at timestamptz, paused_until timestamptz, paused_by text, paused_reason text, created_at timestamptz
)
language plpgsql stable security definer set search_path from current
as $$
#variable_conflict use_column
begin
    perform require_page(p_limit);
    return query
    select t.tenant_id, t.slug, t.name, c.weight, c.suspended_at, c.suspended_by, c.suspended_reason, c.paused_at, c.paused_until,
        c.paused_by, c.paused_reason, t.created_at
    from tenant t
    join tenant_control c on c.tenant_id = t.tenant_id
    where t.slug > coalesce(p_after, '')
    order by t.slug
    limit p_limit;
end
$$;
comment on function list_tenants(text, integer) is 'Super-admin: the tenants by slug.';
