-- A job comes out. One fence, three doors: claim() finds lanes and serves them in turns, claim_tenant() serves one
-- tenant of a list the caller has, finish_and_claim() (finish.sql) serves lanes the worker knows while it reports.
-- All three take jobs by take_lanes(), or take_strict() for a strict queue.

-- Takes up to quota jobs of each lane, or of each group of lanes that share a quota: the lanes of a tenant ('tenant'),
-- all of them ('queue'); within a group the lowest ranks win.
-- Pick and update are one statement: a row that changed in that instant is left for the next claim, never taken twice.
-- started_at, until and deadline read the clock in the update itself, after the locks: read before them, the history of
-- a correct run would show attempts that overlap by the time between. Floors skip dead index entries under a pinned xmin.
create or replace function take_lanes(
    p_worker uuid, p_queue_id integer, p_runnable integer[], p_tenants uuid[], p_defs integer[], p_quotas integer[], p_shared_by text,
    p_floors timestamptz[], p_now timestamptz, p_lease interval, p_grace interval
) returns table (
    tenant_id uuid, job_id uuid, def_id integer, attempt integer, max_attempts integer, priority smallint, rank timestamptz,
    timeout_seconds integer, run_at timestamptz, correlation_id text, trace_id text, payload jsonb
)
language plpgsql volatile
as $$
#variable_conflict use_column
begin
    return query
    with lane as materialized (
        select u.tenant_id, u.def_id, u.quota, u.floor, d.timeout_seconds
        from unnest(p_tenants, p_defs, p_quotas, p_floors) as u (tenant_id, def_id, quota, floor)
        cross join lateral (
            select d.timeout_seconds
            from definition d
            where d.def_id = u.def_id and d.is_enabled and not is_held_back(d.paused_at, d.paused_until, p_now)
            offset 0
        ) d
        cross join lateral (
            select from tenant_control t
            where t.tenant_id = u.tenant_id and t.suspended_at is null and not is_held_back(t.paused_at, t.paused_until, p_now)
                and not exists (
                    select from tenant_pair p
                    where p.tenant_id = u.tenant_id and p.def_id in (0, u.def_id)
                        and is_held_back(p.paused_at, p.paused_until, p_now)
                )
            offset 0
        ) t
        where u.quota > 0 and u.def_id = any (p_runnable)
    ),
    -- materialized: run again by a nested loop, the limited scan would take more than the limit
    picked as materialized (
        select x.tid, x.rank, x.job_id, a.tenant_id, a.quota, a.timeout_seconds
        from lane a
        cross join lateral (
            select l.ctid as tid, l.rank, l.job_id
            from live l
            where l.queue_id = p_queue_id and l.tenant_id = a.tenant_id and l.def_id = a.def_id
                and l.state = 0 and l.rank >= coalesce(a.floor, '-infinity')
                and (l.expires_at is null or l.expires_at > p_now)
            order by l.rank, l.job_id
            limit a.quota
            for update skip locked
        ) x
    ),
    chosen as materialized (
        select p.tid, p.timeout_seconds
        from (
            select p.*, case when p_shared_by = 'lane' then 1 else row_number() over (
                partition by case when p_shared_by = 'tenant' then p.tenant_id end order by p.rank, p.job_id) end as place
            from picked p
        ) p
        where p.place <= p.quota
    ),
    taken as (
        update live l
        set state = 1,
            attempt = l.attempt + 1,
            worker_id = p_worker,
            -- a job that has started does not expire any more
            expires_at = null,
            started_at = clock(),
            until = clock() + least(p_lease, make_interval(secs => coalesce(l.timeout_seconds, c.timeout_seconds)) + p_grace),
            deadline = clock() + make_interval(secs => coalesce(l.timeout_seconds, c.timeout_seconds))
        from chosen c
        where l.ctid = c.tid
        returning l.tenant_id, l.job_id, l.def_id, l.attempt, l.max_attempts, l.priority, l.rank,
            coalesce(l.timeout_seconds, c.timeout_seconds) as timeout_seconds
    )
    select t.tenant_id, t.job_id, t.def_id, t.attempt, t.max_attempts, t.priority, t.rank, t.timeout_seconds,
        j.run_at, j.correlation_id, j.trace_id, j.payload
    from taken t
    cross join lateral (
        select j.run_at, j.correlation_id, j.trace_id, j.payload
        from job j
        where j.tenant_id = t.tenant_id and j.def_id = t.def_id and j.id = t.job_id
        offset 0
    ) j;
end
$$;
comment on function take_lanes(uuid, integer, integer[], uuid[], integer[], integer[], text, timestamptz[], timestamptz, interval, interval)
is 'Claims jobs of these lanes for a worker: the one place where an attempt begins in a fair queue.';

create or replace function claim(
    p_worker uuid,
    p_queue text,
    p_jobs integer,
    p_after uuid default null,
    p_left integer default 0,
    p_quantum integer default 1,
    p_lease_seconds integer default null,
    p_max_lanes integer default 100,
    p_look integer default 0,
    p_after_def integer default null
) returns table (
    tenant_id uuid, job_id uuid, def_id integer, attempt integer, max_attempts integer, priority smallint, rank timestamptz,
    timeout_seconds integer, run_at timestamptz, correlation_id text, trace_id text, payload jsonb,
    next_after uuid, next_left integer, next_def integer, has_more boolean, is_ring boolean, lane_tenants uuid[], lane_defs integer[],
    lane_weights integer[]
)
language plpgsql volatile security definer set search_path from current
as $$
#variable_conflict use_column
declare
    c_first constant uuid := '00000000-0000-0000-0000-000000000000';
    v_now timestamptz := clock();
    v_wanted integer := p_jobs;
    v_after uuid := coalesce(p_after, c_first);
    v_left integer := coalesce(p_left, 0);
    v_def integer := p_after_def;
    v_from integer;
    v_defs integer[];
    v_queue queue;
    v_lease interval;
    v_grace interval;
    v_lanes record;
    v_second record;
    v_share record;
    v_count integer;
    v_empty integer := 0;
    v_is_ring boolean := true;
    v_is_known boolean := false;
    v_more boolean := false;
    v_tenants uuid[] := '{}';
    v_lane_defs integer[] := '{}';
    v_weights integer[] := '{}';
begin
    perform require_read_committed();
    perform require_claim_size(p_jobs, p_quantum, p_max_lanes);
    select c.defs, c.lease, c.grace into v_defs, v_lease, v_grace from claimer(p_worker, p_lease_seconds) c;
    select q.* into v_queue from queue q where q.name = p_queue;
    if v_queue.queue_id is null then
        perform refuse('unknown', 'p_queue', p_queue, 'See list_queues(); a sync or set_queue makes one.');
    end if;
    if not is_held_back(v_queue.paused_at, v_queue.paused_until, v_now) and cardinality(v_defs) > 0 then
        if v_queue.is_strict then
            return query
            select t.*, null::uuid, null::integer, null::integer, null::boolean, null::boolean, null::uuid[], null::integer[], null::integer[]
            from take_strict(p_worker, v_queue.queue_id, v_defs, v_wanted, v_now, v_lease, v_grace) t;
            get diagnostics v_count = row_count;
            v_wanted := v_wanted - v_count;
            if v_wanted > 0 then
                -- a backlog that is held back stands at the front, or jobs became ready while the queue was fair: the
                -- lowest ranks of the lanes that may be served, up to 256 of them
                select * into v_lanes from next_lanes(v_queue.queue_id, v_defs, v_now, c_first, -1, null, null, 2147483647, 0, 1, 256);
                return query
                select t.*, null::uuid, null::integer, null::integer, null::boolean, null::boolean, null::uuid[], null::integer[], null::integer[]
                from take_lanes(p_worker, v_queue.queue_id, v_defs, v_lanes.tenants, v_lanes.defs,
                    array_fill(v_wanted, array[cardinality(v_lanes.tenants)]), 'queue', null, v_now, v_lease, v_grace) t;
                get diagnostics v_count = row_count;
                v_wanted := v_wanted - v_count;
            end if;
            v_more := v_wanted = 0;
            v_wanted := 0;
        end if;
        while v_wanted > 0 loop
            -- inside a tenant's lanes, at its first, or behind it
            v_from := coalesce(v_def, case when v_left > 0 then -1 else 2147483647 end);
            v_def := null;
            select * into v_lanes from next_lanes(v_queue.queue_id, v_defs, v_now, v_after, v_from, null, null, greatest(v_wanted, p_look), v_left, p_quantum, p_max_lanes);
            v_is_ring := v_lanes.is_end;
            if v_lanes.is_end and v_after <> c_first then
                select * into v_second from next_lanes(v_queue.queue_id, v_defs, v_now, c_first, -1,
                    v_after, v_from,
                    greatest(v_wanted, p_look) - v_lanes.turns, 0, p_quantum, p_max_lanes);
                v_is_ring := v_second.is_end;
                v_lanes.tenants := v_lanes.tenants || v_second.tenants;
                v_lanes.defs := v_lanes.defs || v_second.defs;
                v_lanes.weights := v_lanes.weights || v_second.weights;
                v_lanes.last_tenant := v_second.last_tenant;
                v_lanes.last_def := v_second.last_def;
            end if;
            if cardinality(v_lanes.tenants) = 0 then
                -- 256 lanes that nobody may serve must not look like an empty queue: the next claim goes on behind them
                v_more := not v_is_ring;
                if v_more then
                    v_after := v_lanes.last_tenant;
                    v_def := v_lanes.last_def;
                    v_left := 0;
                end if;
                exit;
            end if;
            select * into v_share from share_turns(v_lanes.tenants, v_lanes.weights, p_quantum, v_after, v_left, v_wanted, v_is_ring);
            v_after := v_share.next_after;
            v_left := v_share.next_left;
            if not v_is_known then
                v_is_known := v_is_ring and v_tenants = '{}';
                v_tenants := v_tenants || v_lanes.tenants;
                v_lane_defs := v_lane_defs || v_lanes.defs;
                v_weights := v_weights || v_lanes.weights;
            end if;
            return query
            select t.*, null::uuid, null::integer, null::integer, null::boolean, null::boolean, null::uuid[], null::integer[], null::integer[]
            from take_lanes(p_worker, v_queue.queue_id, v_defs, v_lanes.tenants, v_lanes.defs, v_share.quotas,
                case when v_share.is_shared then 'tenant' else 'lane' end, null, v_now, v_lease, v_grace) t;
            get diagnostics v_count = row_count;
            v_wanted := v_wanted - v_count;
            if v_count = 0 then
                -- what these lanes have is held by others, who will serve it; a tenant's open transaction on its own job
                -- must not keep the worker here
                v_empty := v_empty + 1;
                v_more := not v_is_ring;
                exit when v_is_ring or v_empty = 8;
            end if;
        end loop;
        v_more := v_more or (v_wanted = 0 and not v_queue.is_strict);
    end if;
    return query
    select null::uuid, null::uuid, null::integer, null::integer, null::integer, null::smallint, null::timestamptz, null::integer,
        null::timestamptz, null::text, null::text, null::jsonb, v_after, v_left, v_def, v_more, v_is_known,
        v_tenants, v_lane_defs, v_weights;
end
$$;
comment on function claim(uuid, text, integer, uuid, integer, integer, integer, integer, integer, integer)
is 'Claims up to p_jobs due jobs of a queue for a registered worker, tenants in weighted turns from the cursor on. The last row has no job: it carries the cursor for the next claim, whether more may be there, and the lanes found, at least p_look jobs of turns where there are as many; is_ring says that they are all lanes with due work.';

create or replace function require_claim_size(p_jobs integer, p_quantum integer, p_max_lanes integer) returns void
language plpgsql immutable
as $$
begin
    if p_jobs is null or p_jobs not between 1 and 1000 then
        perform refuse('out_of_range', 'p_jobs', p_jobs::text, 'Use 1 to 1000.');
    end if;
    if p_quantum is null or p_quantum not between 1 and 1000 then
        perform refuse('out_of_range', 'p_quantum', p_quantum::text, 'Use 1 to 1000.');
    end if;
    if p_max_lanes is null or p_max_lanes not between 1 and 256 then
        perform refuse('out_of_range', 'p_max_lanes', p_max_lanes::text, 'Use 1 to 256.');
    end if;
end
$$;
comment on function require_claim_size(integer, integer, integer) is 'Refuses a claim of a size that no worker has.';

-- One look for all that a claim asks about its worker and the settings.
create or replace function claimer(p_worker uuid, p_lease_seconds integer, out defs integer[], out lease interval, out grace interval)
language plpgsql stable
as $$
declare
    v_lease integer;
begin
    select case when w.draining_at is null then w.def_ids else '{}' end, coalesce(p_lease_seconds, s.lease_seconds),
        make_interval(secs => s.kill_grace_seconds)
    into defs, v_lease, grace
    from worker w cross join setting s
    where w.worker_id = p_worker and w.ended_at is null;
    if defs is null then
        perform refuse('unknown', 'p_worker', p_worker::text, 'Register the instance first: register_worker().');
    end if;
    if v_lease not between 5 and 3600 then
        perform refuse('out_of_range', 'p_lease_seconds', v_lease::text, 'Use 5 to 3600.');
    end if;
    lease := make_interval(secs => v_lease);
end
$$;
comment on function claimer(uuid, integer) is 'What a registered worker can run, and its lease.';

-- One order of rank over all tenants. What is held back or not for this worker is walked over: at most 20 rows per job
-- asked for, then claim() goes by lanes. Strict queues are for few tenants.
create or replace function take_strict(
    p_worker uuid, p_queue_id integer, p_defs integer[], p_jobs integer, p_now timestamptz, p_lease interval, p_grace interval
) returns table (
    tenant_id uuid, job_id uuid, def_id integer, attempt integer, max_attempts integer, priority smallint, rank timestamptz,
    timeout_seconds integer, run_at timestamptz, correlation_id text, trace_id text, payload jsonb
)
language plpgsql volatile
as $$
#variable_conflict use_column
begin
    return query
    with chosen as materialized (
        select x.tid, d.timeout_seconds
        from (
            select l.ctid as tid, l.tenant_id, l.def_id, l.rank, l.job_id
            from live l
            where l.queue_id = p_queue_id and l.state = 0 and l.is_strict
            order by l.rank, l.job_id
            limit 20 * p_jobs
        ) w
        cross join lateral (
            select d.timeout_seconds
            from definition d
            where d.def_id = w.def_id and d.def_id = any (p_defs) and d.is_enabled
                and not is_held_back(d.paused_at, d.paused_until, p_now)
            offset 0
        ) d
        cross join lateral (
            select from tenant_control t
            where t.tenant_id = w.tenant_id and t.suspended_at is null and not is_held_back(t.paused_at, t.paused_until, p_now)
                and not exists (
                    select from tenant_pair p
                    where p.tenant_id = w.tenant_id and p.def_id in (0, w.def_id)
                        and is_held_back(p.paused_at, p.paused_until, p_now)
                )
            offset 0
        ) t
        -- locked one by one, in order, until there are enough
        cross join lateral (
            select l.ctid as tid
            from live l
            where l.ctid = w.tid and l.state + 0 = 0 and (l.expires_at is null or l.expires_at > p_now)
            for update skip locked
        ) x
        order by w.rank, w.job_id
        limit p_jobs
    ),
    taken as (
        update live l
        set state = 1,
            attempt = l.attempt + 1,
            worker_id = p_worker,
            -- a job that has started does not expire any more
            expires_at = null,
            started_at = clock(),
            until = clock() + least(p_lease, make_interval(secs => coalesce(l.timeout_seconds, c.timeout_seconds)) + p_grace),
            deadline = clock() + make_interval(secs => coalesce(l.timeout_seconds, c.timeout_seconds))
        from chosen c
        where l.ctid = c.tid
        returning l.tenant_id, l.job_id, l.def_id, l.attempt, l.max_attempts, l.priority, l.rank,
            coalesce(l.timeout_seconds, c.timeout_seconds) as timeout_seconds
    )
    select t.tenant_id, t.job_id, t.def_id, t.attempt, t.max_attempts, t.priority, t.rank, t.timeout_seconds,
        j.run_at, j.correlation_id, j.trace_id, j.payload
    from taken t
    cross join lateral (
        select j.run_at, j.correlation_id, j.trace_id, j.payload
        from job j
        where j.tenant_id = t.tenant_id and j.def_id = t.def_id and j.id = t.job_id
        offset 0
    ) j
    order by t.rank, t.job_id;
end
$$;
comment on function take_strict(uuid, integer, integer[], integer, timestamptz, interval, interval)
is 'Claims jobs of a strict queue in one order of rank: the one place where an attempt begins in a strict queue.';

create or replace function claim_tenant(
    p_tenant uuid, p_worker uuid, p_queue text, p_defs integer[], p_jobs integer, p_lease_seconds integer default null
) returns table (
    tenant_id uuid, job_id uuid, def_id integer, attempt integer, max_attempts integer, priority smallint, rank timestamptz,
    timeout_seconds integer, run_at timestamptz, correlation_id text, trace_id text, payload jsonb
)
language plpgsql volatile security definer set search_path from current
as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock();
    v_queue queue;
    v_claimer record;
    v_defs integer[];
begin
    perform require_read_committed();
    perform require_claim_size(p_jobs, 1, 1);
    select * into v_claimer from claimer(p_worker, p_lease_seconds);
    select q.* into v_queue from queue q where q.name = p_queue;
    if v_queue.queue_id is null then
        perform refuse('unknown', 'p_queue', p_queue, 'See list_queues(); a sync or set_queue makes one.');
    end if;
    if is_held_back(v_queue.paused_at, v_queue.paused_until, v_now) then
        return;
    end if;
    v_defs := array(select d from unnest(p_defs) d where d = any (v_claimer.defs));
    return query
    select t.* from take_lanes(p_worker, v_queue.queue_id, v_defs, array_fill(p_tenant, array[cardinality(v_defs)]), v_defs,
        array_fill(p_jobs, array[cardinality(v_defs)]), 'tenant', null, v_now, v_claimer.lease, v_claimer.grace) t;
end
$$;
comment on function claim_tenant(uuid, uuid, text, integer[], integer, integer)
is 'Claims up to p_jobs due jobs of one tenant: the second half of the claim in two steps, where lanes are found elsewhere.';

create or replace function find_lanes(
    p_worker uuid, p_queue text, p_jobs integer, p_after uuid default null, p_max_lanes integer default 100
) returns table (tenant_id uuid, def_ids integer[], weight integer)
language plpgsql stable security definer set search_path from current
as $$
#variable_conflict use_column
declare
    v_defs integer[];
    v_lanes record;
begin
    perform require_claim_size(p_jobs, 1, p_max_lanes);
    select c.defs into v_defs from claimer(p_worker, null) c;
    select * into v_lanes from next_lanes(queue_id_of(p_queue), v_defs, clock(),
        coalesce(p_after, '00000000-0000-0000-0000-000000000000'), 2147483647, null, null, p_jobs, 0, 1, p_max_lanes);
    return query
    select u.tenant_id, array_agg(u.def_id order by u.def_id), max(u.weight)
    from unnest(v_lanes.tenants, v_lanes.defs, v_lanes.weights) as u (tenant_id, def_id, weight)
    group by u.tenant_id
    order by u.tenant_id;
end
$$;
comment on function find_lanes(uuid, text, integer, uuid, integer)
is 'Tenants with due work behind p_after, in ring order, with their definitions and weights: the first half of the claim in two steps.';
