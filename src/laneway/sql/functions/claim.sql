-- A job comes out. One fence, three doors: claim() finds lanes and serves them in turns, claim_tenant() serves one
-- tenant of a list the caller has, finish_and_claim() serves lanes the worker knows while it reports. All three pick rows
-- under locks (pick_lanes, pick_shared, pick_strict) and begin their attempts in start_attempts().

-- Locks up to quota jobs of each lane, and says how long an attempt of each may take. The limit stands inside the lateral
-- and under the lock: chosen first and locked after, all claimers would go for the same rows, and all but one come home
-- empty. Floors skip dead index entries under a pinned xmin.
create or replace function pick_lanes(
    p_queue_id integer, p_runnable integer[], p_tenants uuid[], p_defs integer[], p_quotas integer[], p_floors timestamptz[],
    p_now timestamptz, out rows_held tid[], out timeouts integer[]
)
language plpgsql volatile
as $$
begin
    select array_agg(x.tid), array_agg(a.timeout_seconds)
    into rows_held, timeouts
    from unnest(p_tenants, p_defs, p_quotas, p_floors) as u (tenant_id, def_id, quota, floor)
    cross join lateral serve_lane(u.tenant_id, u.def_id, p_runnable, p_now) a
    cross join lateral (
        select l.ctid as tid
        from live l
        where l.queue_id = p_queue_id and l.tenant_id = u.tenant_id and l.def_id = u.def_id
            and l.state = 0 and l.rank >= coalesce(u.floor, '-infinity')
            and (l.expires_at is null or l.expires_at > p_now)
        order by l.rank, l.job_id
        limit u.quota
        for update skip locked
    ) x
    where u.quota > 0;
end
$$;
comment on function pick_lanes(integer, integer[], uuid[], integer[], integer[], timestamptz[], timestamptz)
is 'Locks the first ready jobs of each of these lanes.';

-- Where lanes share a quota (those of one tenant, or all of a queue that has one order), the lowest ranks of the group win.
create or replace function pick_shared(
    p_queue_id integer, p_runnable integer[], p_tenants uuid[], p_defs integer[], p_quotas integer[], p_floors timestamptz[],
    p_is_one_order boolean, p_now timestamptz, out rows_held tid[], out timeouts integer[]
)
language plpgsql volatile
as $$
begin
    -- materialized: run again by a nested loop, the limited scan would take more than the limit
    with picked as materialized (
        select x.tid, x.rank, x.job_id, u.tenant_id, u.quota, a.timeout_seconds
        from unnest(p_tenants, p_defs, p_quotas, p_floors) as u (tenant_id, def_id, quota, floor)
        cross join lateral serve_lane(u.tenant_id, u.def_id, p_runnable, p_now) a
        cross join lateral (
            select l.ctid as tid, l.rank, l.job_id
            from live l
            where l.queue_id = p_queue_id and l.tenant_id = u.tenant_id and l.def_id = u.def_id
                and l.state = 0 and l.rank >= coalesce(u.floor, '-infinity')
                and (l.expires_at is null or l.expires_at > p_now)
            order by l.rank, l.job_id
            limit u.quota
            for update skip locked
        ) x
        where u.quota > 0
    )
    select array_agg(p.tid), array_agg(p.timeout_seconds)
    into rows_held, timeouts
    from (
        select p.*, row_number() over (
            partition by case when not p_is_one_order then p.tenant_id end order by p.rank, p.job_id) as place
        from picked p
    ) p
    where p.place <= p.quota;
end
$$;
comment on function pick_shared(integer, integer[], uuid[], integer[], integer[], timestamptz[], boolean, timestamptz)
is 'Locks the first ready jobs of groups of lanes, by rank over each group.';

-- The one place that says whether a lane may be served at this moment; no row: it may not.
create or replace function serve_lane(p_tenant uuid, p_def_id integer, p_runnable integer[], p_now timestamptz)
returns table (timeout_seconds integer, weight integer)
language sql stable rows 1
as $$
    select d.timeout_seconds, t.weight::integer
    from definition d
    join tenant_control t on t.tenant_id = p_tenant
    where d.def_id = p_def_id and p_def_id = any (p_runnable) and d.is_enabled
        and not is_held_back(d.paused_at, d.paused_until, p_now)
        and t.suspended_at is null and not is_held_back(t.paused_at, t.paused_until, p_now)
        and not exists (
            select from tenant_pair p
            where p.tenant_id = p_tenant and p.def_id in (0, p_def_id) and is_held_back(p.paused_at, p.paused_until, p_now)
        )
$$;
comment on function serve_lane(uuid, integer, integer[], timestamptz)
is 'Whether a lane may be served by a worker that can run these definitions: its time per attempt and its tenant''s weight, or no row.';

-- One order of rank over all tenants. What is held back or not for this worker is walked over: at most 20 rows per job
-- asked for, then claim() goes by lanes. Strict queues are for few tenants.
create or replace function pick_strict(
    p_queue_id integer, p_runnable integer[], p_jobs integer, p_now timestamptz, out rows_held tid[], out timeouts integer[]
)
language plpgsql volatile
as $$
begin
    select array_agg(c.tid), array_agg(c.timeout_seconds)
    into rows_held, timeouts
    from (
        select x.tid, s.timeout_seconds
        from (
            select w.tid, a.timeout_seconds
            from (
                select l.ctid as tid, l.tenant_id, l.def_id, l.rank, l.job_id
                from live l
                where l.queue_id = p_queue_id and l.state = 0 and l.is_strict
                order by l.rank, l.job_id
                limit 20 * p_jobs
            ) w
            cross join lateral serve_lane(w.tenant_id, w.def_id, p_runnable, p_now) a
            order by w.rank, w.job_id
            -- no sort may come above the locks: all rows would be locked before the first is counted
            offset 0
        ) s
        cross join lateral (
            select l.ctid as tid
            from live l
            where l.ctid = s.tid and l.state + 0 = 0 and (l.expires_at is null or l.expires_at > p_now)
            for update skip locked
        ) x
        limit p_jobs
    ) c;
end
$$;
comment on function pick_strict(integer, integer[], integer, timestamptz) is 'Locks the first ready jobs of a strict queue.';

-- The one place where an attempt begins: number, owner, lease and deadline, on rows that the caller has locked in an earlier
-- statement. started_at, until and deadline are of a clock that is read here, after the locks: of one read before them, the
-- history of a correct run would show attempts that overlap by the time between.
create or replace function start_attempts(p_worker uuid, p_rows tid[], p_timeouts integer[], p_lease interval, p_grace interval)
returns table (
    tenant_id uuid, job_id uuid, def_id integer, attempt integer, max_attempts integer, priority smallint, rank timestamptz,
    timeout_seconds integer, run_at timestamptz, correlation_id text, trace_id text, payload jsonb
)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock();
begin
    return query
    with taken as (
        update live l
        set state = 1,
            attempt = l.attempt + 1,
            worker_id = p_worker,
            -- a job that has started does not expire any more
            expires_at = null,
            started_at = v_now,
            until = v_now + least(p_lease, make_interval(secs => coalesce(l.timeout_seconds, c.timeout_seconds)) + p_grace),
            deadline = v_now + make_interval(secs => coalesce(l.timeout_seconds, c.timeout_seconds))
        from unnest(p_rows, p_timeouts) with ordinality as c (tid, timeout_seconds, place)
        where l.ctid = c.tid
        returning l.tenant_id, l.job_id, l.def_id, l.attempt, l.max_attempts, l.priority, l.rank,
            coalesce(l.timeout_seconds, c.timeout_seconds) as timeout_seconds, c.place
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
    order by t.place;
end
$$;
comment on function start_attempts(uuid, tid[], integer[], interval, interval) is 'Begins attempts on locked rows: the one place where a job becomes running.';

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
    lane_weights integer[], lane_floors timestamptz[]
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
    v_def integer;
    v_from integer;
    v_look integer;
    v_defs integer[];
    v_queue queue;
    v_lease interval;
    v_grace interval;
    v_lanes record;
    v_second record;
    v_share record;
    v_picked record;
    v_count integer;
    v_empty integer := 0;
    v_is_ring boolean := true;
    v_is_known boolean := false;
    v_more boolean := false;
    v_tenants uuid[] := '{}';
    v_lane_defs integer[] := '{}';
    v_weights integer[] := '{}';
    v_floors timestamptz[] := '{}';
begin
    perform require_read_committed();
    perform require_claim_size(p_jobs, p_quantum, p_max_lanes);
    perform require_cursor(p_left, p_look);
    select c.defs, c.lease, c.grace into v_defs, v_lease, v_grace from claimer(p_worker, p_lease_seconds) c;
    select q.* into v_queue from queue q where q.name = p_queue;
    if v_queue.queue_id is null then
        perform refuse('unknown', 'p_queue', p_queue, 'See list_queues(); a sync or set_queue makes one.');
    end if;
    if not is_held_back(v_queue.paused_at, v_queue.paused_until, v_now) and cardinality(v_defs) > 0 then
        if v_queue.is_strict then
            v_picked := pick_strict(v_queue.queue_id, v_defs, v_wanted, v_now);
            v_count := coalesce(cardinality(v_picked.rows_held), 0);
            if v_count > 0 then
                return query
                select t.*, null::uuid, null::integer, null::integer, null::boolean, null::boolean, null::uuid[], null::integer[], null::integer[],
                    null::timestamptz[]
                from start_attempts(p_worker, v_picked.rows_held, v_picked.timeouts, v_lease, v_grace) t;
            end if;
            v_wanted := v_wanted - v_count;
            if v_wanted > 0 then
                -- a backlog that is held back stands at the front, or jobs became ready while the queue was fair: the
                -- lowest ranks of the lanes that may be served, up to 256 of them
                -- and behind them, where nobody may serve those
                v_after := case when p_after_def is null then c_first else v_after end;
                v_from := coalesce(p_after_def, -1);
                for v_try in 1..8 loop
                    v_lanes := next_lanes(v_queue.queue_id, v_defs, v_now, v_after, v_from, null, null, 2147483647, 0, 1, 256);
                    v_after := v_lanes.last_tenant;
                    v_from := v_lanes.last_def;
                    exit when cardinality(v_lanes.tenants) > 0 or v_lanes.is_end;
                end loop;
                v_def := case when not v_lanes.is_end then v_from end;
                v_picked := pick_shared(v_queue.queue_id, v_defs, v_lanes.tenants, v_lanes.defs,
                    array_fill(v_wanted, array[cardinality(v_lanes.tenants)]), v_lanes.floors, true, v_now);
                v_count := coalesce(cardinality(v_picked.rows_held), 0);
                if v_count > 0 then
                    return query
                    select t.*, null::uuid, null::integer, null::integer, null::boolean, null::boolean, null::uuid[], null::integer[], null::integer[],
                        null::timestamptz[]
                    from start_attempts(p_worker, v_picked.rows_held, v_picked.timeouts, v_lease, v_grace) t;
                end if;
                v_wanted := v_wanted - v_count;
            end if;
            v_more := v_wanted = 0 or v_def is not null;
            v_wanted := 0;
        end if;
        while v_wanted > 0 loop
            -- more lanes than are needed, for the worker to know: in the first round alone
            v_look := case when v_tenants = '{}' then greatest(v_wanted, p_look) else v_wanted end;
            -- inside a tenant's lanes, at its first, or behind it
            v_from := coalesce(v_def, p_after_def, case when v_left > 0 then -1 else 2147483647 end);
            p_after_def := null;
            v_def := null;
            v_lanes := next_lanes(v_queue.queue_id, v_defs, v_now, v_after, v_from, null, null, v_look, v_left, p_quantum, p_max_lanes);
            v_is_ring := v_lanes.is_end;
            if v_lanes.is_end and v_after <> c_first then
                v_second := next_lanes(v_queue.queue_id, v_defs, v_now, c_first, -1,
                    v_after, v_from,
                    v_look - v_lanes.turns, 0, p_quantum, p_max_lanes);
                v_is_ring := v_second.is_end;
                v_lanes.tenants := v_lanes.tenants || v_second.tenants;
                v_lanes.defs := v_lanes.defs || v_second.defs;
                v_lanes.weights := v_lanes.weights || v_second.weights;
                v_lanes.floors := v_lanes.floors || v_second.floors;
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
            v_share := share_turns(v_lanes.tenants, v_lanes.weights, p_quantum, v_after, v_left, v_wanted, v_is_ring);
            v_after := v_share.next_after;
            v_left := v_share.next_left;
            if not v_is_known then
                v_is_known := v_is_ring and v_tenants = '{}';
                v_tenants := v_tenants || v_lanes.tenants;
                v_lane_defs := v_lane_defs || v_lanes.defs;
                v_weights := v_weights || v_lanes.weights;
                v_floors := v_floors || v_lanes.floors;
            end if;
            if v_share.is_shared then
                v_picked := pick_shared(v_queue.queue_id, v_defs, v_lanes.tenants, v_lanes.defs, v_share.quotas, v_lanes.floors, false, v_now);
            else
                v_picked := pick_lanes(v_queue.queue_id, v_defs, v_lanes.tenants, v_lanes.defs, v_share.quotas, v_lanes.floors, v_now);
            end if;
            v_count := coalesce(cardinality(v_picked.rows_held), 0);
            if v_count > 0 then
                return query
                select t.*, null::uuid, null::integer, null::integer, null::boolean, null::boolean, null::uuid[], null::integer[], null::integer[],
                    null::timestamptz[]
                from start_attempts(p_worker, v_picked.rows_held, v_picked.timeouts, v_lease, v_grace) t;
            end if;
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
        v_tenants, v_lane_defs, v_weights, v_floors;
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

create or replace function require_cursor(p_left integer, p_look integer) returns void
language plpgsql immutable
as $$
begin
    if p_left not between 0 and 1000000 then
        perform refuse('out_of_range', 'p_left', p_left::text, 'Give next_left of the last claim back, 0 to 1000000.');
    end if;
    if p_look not between 0 and 1000000 then
        perform refuse('out_of_range', 'p_look', p_look::text, 'Use 0 to 1000000.');
    end if;
end
$$;
comment on function require_cursor(integer, integer) is 'Refuses a cursor that no claim has answered.';

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
    v_picked record;
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
    v_picked := pick_shared(v_queue.queue_id, v_defs, array_fill(p_tenant, array[cardinality(v_defs)]), v_defs,
        array_fill(p_jobs, array[cardinality(v_defs)]), null, false, v_now);
    return query
    select t.* from start_attempts(p_worker, v_picked.rows_held, v_picked.timeouts, v_claimer.lease, v_claimer.grace) t;
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
