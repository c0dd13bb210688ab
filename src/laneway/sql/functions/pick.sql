-- Rows of live are picked under locks and their attempts begin: what the three doors of claim.sql share.

-- Locks up to quota jobs of each lane, and says how long an attempt of each may take. The limit stands inside the lateral
-- and under the lock: chosen first and locked after, all claimers would go for the same rows, and all but one come home
-- empty. Floors skip the dead index entries of what was claimed before.
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
