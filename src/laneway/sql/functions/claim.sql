-- A job comes out. One fence, three doors: claim() finds lanes and serves them in turns, claim_tenant() serves one
-- tenant of a list the caller has, finish_and_claim() serves lanes the worker knows while it reports. All three pick rows
-- under locks (pick_lanes, pick_shared, pick_strict) and begin their attempts in start_attempts().

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
    c_first constant uuid := before_all_tenants();
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
    v_share record;
    v_picked record;
    v_count integer;
    v_empty integer := 0;
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
                -- a backlog that is held back stands at the front, or jobs became ready while the queue was fair
                v_lanes := next_lanes_of_all(v_queue.queue_id, v_defs, v_now,
                    case when p_after_def is null then c_first else v_after end, coalesce(p_after_def, -1));
                v_after := v_lanes.last_tenant;
                v_def := case when not v_lanes.is_end then v_lanes.last_def end;
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
            v_lanes := next_lanes_around(v_queue.queue_id, v_defs, v_now, v_after, v_from, v_look, v_left, p_quantum, p_max_lanes);
            if cardinality(v_lanes.tenants) = 0 then
                -- 256 lanes that nobody may serve must not look like an empty queue: the next claim goes on behind them
                v_more := not v_lanes.is_ring;
                if v_more then
                    v_after := v_lanes.last_tenant;
                    v_def := v_lanes.last_def;
                    v_left := 0;
                end if;
                exit;
            end if;
            v_share := share_turns(v_lanes.tenants, v_lanes.weights, p_quantum, v_after, v_left, v_wanted, v_lanes.is_ring);
            v_after := v_share.next_after;
            v_left := v_share.next_left;
            if not v_is_known then
                v_is_known := v_lanes.is_ring and v_tenants = '{}';
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
                v_more := not v_lanes.is_ring;
                exit when v_lanes.is_ring or v_empty = 8;
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
is 'Claims up to p_jobs due jobs of a queue for a registered worker, tenants in weighted turns from the cursor on. The last row has no job: it carries the cursor that the next claim must be given (next_after, next_left, next_def), or turns begin with the same tenant each time; whether more may be there, and the lanes found with weights and floors, at least p_look jobs of turns where there are as many; is_ring says that they are all lanes with due work.';

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
        coalesce(p_after, before_all_tenants()), 2147483647, null, null, p_jobs, 0, 1, p_max_lanes);
    return query
    select u.tenant_id, array_agg(u.def_id order by u.def_id), max(u.weight)
    from unnest(v_lanes.tenants, v_lanes.defs, v_lanes.weights) as u (tenant_id, def_id, weight)
    group by u.tenant_id
    order by u.tenant_id;
end
$$;
comment on function find_lanes(uuid, text, integer, uuid, integer)
is 'Tenants with due work behind p_after, in ring order, with their definitions and weights: the first half of the claim in two steps.';
