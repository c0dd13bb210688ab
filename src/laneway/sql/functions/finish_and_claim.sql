-- One call for "these are done, give me the next", over lanes the worker knows from its last full claim: half of the CPU
-- of two calls where batches are small, and one commit. The worker keeps the turns itself (turns.py) and makes a full
-- claim when this one comes home short, at its start, and now and then for lanes that are new. Pauses and switches are
-- looked at here as well; a stale or busy report does not stop the claim. Quotas are the tenant's where its lanes stand
-- side by side, so that rank holds over all of its work.

create or replace function finish_and_claim(
    p_worker uuid,
    p_queue text,
    p_tenants uuid[],
    p_jobs uuid[],
    p_attempts integer[],
    p_results jsonb[],
    p_lane_tenants uuid[],
    p_lane_defs integer[],
    p_quotas integer[],
    p_floors timestamptz[] default null,
    p_lease_seconds integer default null
) returns table (
    tenant_id uuid, job_id uuid, def_id integer, attempt integer, max_attempts integer, priority smallint, rank timestamptz,
    timeout_seconds integer, run_at timestamptz, correlation_id text, trace_id text, payload jsonb, answers smallint[]
)
language plpgsql volatile security definer set search_path from current
as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock();
    v_answers smallint[] := '{}';
    v_queue queue;
    v_lease interval;
    v_grace interval;
    v_draining boolean;
    v_is_shared boolean := false;
begin
    perform require_read_committed();
    if cardinality(p_jobs) > 0 then
        perform require_same_length(cardinality(p_jobs), array[cardinality(p_tenants), cardinality(p_attempts),
            coalesce(cardinality(p_results), cardinality(p_jobs))]);
        v_answers := complete_held(p_worker, p_tenants, p_jobs, p_attempts, p_results, v_now);
    end if;
    if cardinality(p_lane_tenants) > 0 then
        perform require_same_length(cardinality(p_lane_tenants), array[cardinality(p_lane_defs), cardinality(p_quotas),
            coalesce(cardinality(p_floors), cardinality(p_quotas))]);
        select c.lease, c.grace, c.defs = '{}' into v_lease, v_grace, v_draining from claimer(p_worker, p_lease_seconds) c;
        select q.queue_id, q.paused_at, q.paused_until into v_queue.queue_id, v_queue.paused_at, v_queue.paused_until
        from queue q where q.name = p_queue;
        if v_queue.queue_id is null then
            perform refuse('unknown', 'p_queue', p_queue, 'See list_queues(); a sync or set_queue makes one.');
        end if;
        for i in 2..cardinality(p_lane_tenants) loop
            v_is_shared := v_is_shared or p_lane_tenants[i] = p_lane_tenants[i - 1];
        end loop;
        if not v_draining and not is_held_back(v_queue.paused_at, v_queue.paused_until, v_now) then
            return query
            select t.*, null::smallint[]
            from take_lanes(p_worker, v_queue.queue_id, p_lane_tenants, p_lane_defs, p_quotas,
                case when v_is_shared then 'tenant' else 'lane' end, p_floors, v_now, v_lease, v_grace) t;
        end if;
    end if;
    return query
    select null::uuid, null::uuid, null::integer, null::integer, null::integer, null::smallint, null::timestamptz, null::integer,
        null::timestamptz, null::text, null::text, null::jsonb, v_answers;
end
$$;
comment on function finish_and_claim(uuid, text, uuid[], uuid[], integer[], jsonb[], uuid[], integer[], integer[], timestamptz[], integer)
is 'Reports successes and claims from known lanes in one call. The last row has no job: it carries the answers to the reports, in their order.';
