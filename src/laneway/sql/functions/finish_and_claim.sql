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
    v_defs integer[];
    v_total integer := 0;
    v_quota integer := 0;
    v_is_shared boolean := false;
    v_picked record;
begin
    perform require_read_committed();
    if num_nonnulls(p_lane_tenants, p_lane_defs, p_quotas, p_floors) > 0 then
        perform require_parallel('p_lane_tenants', coalesce(cardinality(p_lane_tenants), 0), array[coalesce(array_dims(p_lane_tenants), 'none'),
            coalesce(array_dims(p_lane_defs), 'none'), coalesce(array_dims(p_quotas), 'none'), array_dims(p_floors)]);
    end if;
    if cardinality(p_lane_tenants) > 0 then
        select c.lease, c.grace, c.defs into v_lease, v_grace, v_defs from claimer(p_worker, p_lease_seconds) c;
        select q.queue_id, q.paused_at, q.paused_until into v_queue.queue_id, v_queue.paused_at, v_queue.paused_until
        from queue q where q.name = p_queue;
        if v_queue.queue_id is null then
            perform refuse('unknown', 'p_queue', p_queue, 'See list_queues(); a sync or set_queue makes one.');
        end if;
        -- lanes of one tenant that stand side by side share the largest of their quotas
        for i in 1..cardinality(p_lane_tenants) loop
            if i > 1 and p_lane_tenants[i] = p_lane_tenants[i - 1] then
                v_is_shared := true;
            else
                v_total := v_total + v_quota;
                v_quota := 0;
            end if;
            v_quota := greatest(v_quota, least(coalesce(p_quotas[i], 0), 1001));
        end loop;
        v_total := v_total + v_quota;
        if v_total not between 1 and 1000 then
            perform refuse('out_of_range', 'p_quotas', v_total || ' jobs', 'Let the quotas of all tenants come to 1 to 1000 jobs.');
        end if;
    end if;
    -- behind all that may refuse the call, which would take the reports back with it
    if num_nonnulls(p_tenants, p_jobs, p_attempts, p_results) > 0 then
        perform require_parallel('p_jobs', coalesce(cardinality(p_jobs), 0), array[coalesce(array_dims(p_jobs), 'none'),
            coalesce(array_dims(p_tenants), 'none'), coalesce(array_dims(p_attempts), 'none'), array_dims(p_results)]);
    end if;
    if cardinality(p_jobs) > 0 then
        v_answers := complete_held(p_worker, p_tenants, p_jobs, p_attempts, p_results, v_now);
    end if;
    if cardinality(p_lane_tenants) > 0 then
        if v_defs <> '{}' and not is_held_back(v_queue.paused_at, v_queue.paused_until, v_now) then
            if v_is_shared then
                v_picked := pick_shared(v_queue.queue_id, v_defs, p_lane_tenants, p_lane_defs, p_quotas, p_floors, false, v_now);
            else
                v_picked := pick_lanes(v_queue.queue_id, v_defs, p_lane_tenants, p_lane_defs, p_quotas, p_floors, v_now);
            end if;
            if v_picked.rows_held is not null then
                return query
                select t.*, null::smallint[]
                from start_attempts(p_worker, v_picked.rows_held, v_picked.timeouts, v_lease, v_grace) t;
            end if;
        end if;
    end if;
    if 3 = any (v_answers) then
        -- another claim that passed over these rows held them for a moment; most often it has gone by now
        v_answers := complete_busy(p_worker, p_tenants, p_jobs, p_attempts, p_results, v_answers, v_now);
    end if;
    return query
    select null::uuid, null::uuid, null::integer, null::integer, null::integer, null::smallint, null::timestamptz, null::integer,
        null::timestamptz, null::text, null::text, null::jsonb, v_answers;
end
$$;
comment on function finish_and_claim(uuid, text, uuid[], uuid[], integer[], jsonb[], uuid[], integer[], integer[], timestamptz[], integer)
is 'Reports successes and claims from known lanes in one call. The last row has no job: it carries the answers to the reports, in their order.';

create or replace function complete_busy(
    p_worker uuid, p_tenants uuid[], p_jobs uuid[], p_attempts integer[], p_results jsonb[], p_answers smallint[], p_now timestamptz
) returns smallint[]
language plpgsql volatile
as $$
declare
    v_answers smallint[] := p_answers;
    v_places integer[] := array(select a.place from unnest(p_answers) with ordinality as a (answer, place) where a.answer = 3 order by 1);
    v_again smallint[];
begin
    v_again := complete_held(p_worker,
        array(select p_tenants[i] from unnest(v_places) with ordinality as p (i, k) order by k),
        array(select p_jobs[i] from unnest(v_places) with ordinality as p (i, k) order by k),
        array(select p_attempts[i] from unnest(v_places) with ordinality as p (i, k) order by k),
        array(select p_results[i] from unnest(v_places) with ordinality as p (i, k) order by k), p_now);
    for i in 1..cardinality(v_places) loop
        v_answers[v_places[i]] := v_again[i];
    end loop;
    return v_answers;
end
$$;
comment on function complete_busy(uuid, uuid[], uuid[], integer[], jsonb[], smallint[], timestamptz) is 'Says the busy ones of a report once more.';
