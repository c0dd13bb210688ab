-- A job goes in. Both verbs answer per item and never raise for an item: an exception would roll back the business
-- transaction that carries it. Dedupe and idempotency are decided by the primary key of job_key (dedupe.sql).

-- The checks that need the item alone; null: it can be taken.
create or replace function judge_item(p_payload jsonb, p_priority integer) returns smallint
language sql stable
as $$
    select case when p_priority not between 0 and 1000 then 5::smallint else judge_document(p_payload, 262144) end
$$;
comment on function judge_item(jsonb, integer) is 'What is wrong with a payload or priority, as a number of explain_refusal.';

-- Payloads of less than 256 bytes cannot be deep; their text can be large all the same: a number of 10 bytes may have
-- 131,072 digits. Looked at together: judged one by one they would cost 0.2 us each, the text of the whole array 0.5 us.
-- The first that is not small ends the look, and no text is made of a large one: aggregates would look at all of them.
create or replace function are_small(p_payloads jsonb[]) returns boolean
language sql stable
as $$
    select not exists (
        select from unnest(p_payloads) p where case when pg_column_size(p) < 256 then octet_length(p::text) > 2048 else p is not null end)
$$;
comment on function are_small(jsonb[]) is 'Whether none of these payloads can be too large or too deep; else each is to be judged.';

create or replace function enqueue(
    p_tenant uuid,
    p_definition text,
    p_payload jsonb default '{}',
    p_priority integer default null,
    p_delay_seconds double precision default null,
    p_run_at timestamptz default null,
    p_expires_seconds double precision default null,
    p_max_attempts integer default null,
    p_timeout_seconds integer default null,
    p_dedupe_key text default null,
    p_dedupe text default null,
    p_dedupe_window_seconds double precision default null,
    p_idempotency_key text default null,
    p_labels jsonb default null,
    p_correlation_id text default null,
    p_trace_id text default null,
    p_source_ref text default null,
    p_token text default null,
    out job_id uuid, out created boolean, out refusal text, out field text, out value text, out hint text
)
language plpgsql volatile security definer set search_path from current
as $$
#variable_conflict use_column
declare
    v_actor text := require_tenant('o', p_tenant, p_token);
    v_def record;
begin
    -- everything rare goes the way of the bulk form, where it is written once
    if num_nonnulls(p_delay_seconds, p_run_at, p_expires_seconds, p_max_attempts, p_timeout_seconds, p_dedupe_key, p_dedupe,
        p_dedupe_window_seconds, p_idempotency_key, p_labels, p_correlation_id, p_trace_id, p_source_ref) > 0 then
        select j.job_id, j.created, j.refusal, j.field, j.value, j.hint
        into job_id, created, refusal, field, value, hint
        from put_jobs(p_tenant, 0::smallint, v_actor, null, null, array[p_definition], array[coalesce(p_payload, '{}')], array[p_priority],
            array[p_delay_seconds], array[p_run_at], array[p_expires_seconds], array[p_max_attempts], array[p_timeout_seconds],
            array[p_dedupe_key], array[p_dedupe], array[p_dedupe_window_seconds], array[p_idempotency_key],
            array[p_labels], array[p_correlation_id], array[p_trace_id], array[p_source_ref]) j;
        return;
    end if;
    -- one query for all that is asked before the inserts: each expression or query of its own would cost 3 to 10 us. The
    -- bell as well: a worker that arms it from here on looks once more, and polls until this commits
    select clock() as now, d.def_id, d.queue_id, d.max_attempts, coalesce(p_priority, d.priority) as priority,
        q.is_strict as in_strict_queue, q.ageing_seconds, s.doorbell and is_armed(q.queue_id) as is_bell_armed,
        case
            when d.def_id is null then 1
            when not d.is_enabled then 2
            when coalesce(c.suspended_at is not null, true) then 6
            else judge_item(p_payload, p_priority)
        end::smallint as wrong
    into v_def
    from setting s
    left join definition d on d.key = p_definition
    left join queue q on q.queue_id = d.queue_id
    left join tenant_control c on c.tenant_id = p_tenant
    where s.is_only;
    if v_def.wrong is not null then
        created := false;
        select r.refusal, r.field, r.value, r.hint
        into refusal, field, value, hint
        from explain_refusal(v_def.wrong, p_definition, p_payload, p_priority, null) r;
        return;
    end if;
    insert into job (tenant_id, def_id, id, queue_id, max_attempts, priority, source, run_at, created_by, payload)
    values (p_tenant, v_def.def_id, new_id(), v_def.queue_id, v_def.max_attempts, v_def.priority, 0, v_def.now, v_actor, coalesce(p_payload, '{}'))
    returning id into job_id;
    insert into live (rank, ready_at, tenant_id, job_id, queue_id, def_id, attempt, max_attempts, priority, releases,
        state, is_strict, is_cancel_requested, is_keyed)
    values (v_def.now + make_interval(secs => v_def.priority::double precision * v_def.ageing_seconds), v_def.now, p_tenant, job_id,
        v_def.queue_id, v_def.def_id, 0, v_def.max_attempts, v_def.priority, 0, 0, v_def.in_strict_queue, false, false);
    created := true;
    if v_def.is_bell_armed then
        perform ring_one(v_def.queue_id);
    end if;
end
$$;
comment on function enqueue(uuid, text, jsonb, integer, double precision, timestamptz, double precision, integer, integer, text, text, double precision, text, jsonb, text, text, text, text)
is 'Enqueues one job in the caller''s transaction. SQL checks size and depth of the payload; its JSON Schema is checked by clients before and by workers always.';

create or replace function is_tenant_suspended(p_tenant uuid) returns boolean
language sql stable
as $$
    select coalesce((select c.suspended_at is not null from tenant_control c where c.tenant_id = p_tenant), true)
$$;
comment on function is_tenant_suspended(uuid) is 'Whether nothing may be enqueued for a tenant.';

create or replace function enqueue_many(
    p_tenant uuid,
    p_definitions text[],
    p_payloads jsonb[],
    p_priorities integer[] default null,
    p_delays_seconds double precision[] default null,
    p_run_at timestamptz[] default null,
    p_expires_seconds double precision[] default null,
    p_max_attempts integer[] default null,
    p_timeouts_seconds integer[] default null,
    p_dedupe_keys text[] default null,
    p_dedupe text[] default null,
    p_dedupe_windows_seconds double precision[] default null,
    p_idempotency_keys text[] default null,
    p_labels jsonb[] default null,
    p_correlation_ids text[] default null,
    p_trace_ids text[] default null,
    p_source_refs text[] default null,
    p_token text default null
) returns table (ordinal integer, job_id uuid, created boolean, refusal text, field text, value text, hint text)
language plpgsql volatile security definer set search_path from current
as $$
#variable_conflict use_column
declare
    v_actor text := require_tenant('o', p_tenant, p_token);
    v_now timestamptz := clock();
    v_def_id integer;
    v_queue_id integer;
    v_max_attempts integer;
    v_priority smallint;
    v_strict boolean;
    v_ageing integer;
    v_rank timestamptz;
    v_prefix text;
    v_ids uuid[];
begin
    -- jobs of one definition that are due at once, have no keys and no fault: two plain inserts, since each row that goes
    -- through another function, is sorted or handed from one insert to the next costs a tenth of its insert
    if array_dims(p_definitions) = '[1:1]' and num_nonnulls(p_delays_seconds, p_run_at, p_expires_seconds, p_max_attempts,
        p_timeouts_seconds, p_dedupe_keys, p_dedupe, p_dedupe_windows_seconds, p_idempotency_keys, p_labels, p_correlation_ids,
        p_trace_ids, p_source_refs) = 0 then
        perform require_bulk(p_payloads);
        perform require_parallel('p_payloads', cardinality(p_payloads), array[array_dims(p_payloads), array_dims(p_priorities)]);
        select d.def_id, d.queue_id, d.max_attempts, d.priority, q.is_strict, q.ageing_seconds,
            v_now + make_interval(secs => d.priority::double precision * q.ageing_seconds)
        into v_def_id, v_queue_id, v_max_attempts, v_priority, v_strict, v_ageing, v_rank
        from unnest(p_definitions) as u (key)
        join definition d on d.key = u.key and d.is_enabled
        join queue q on q.queue_id = d.queue_id
        where not is_tenant_suspended(p_tenant)
            and not exists (select from unnest(p_priorities) p where p not between 0 and 1000)
            and (are_small(p_payloads) or not exists (select from unnest(p_payloads) p where judge_document(p, 262144) is not null));
    end if;
    if v_def_id is null then
        return query
        select j.*
        from put_jobs(p_tenant, 0::smallint, v_actor, null, null, p_definitions, p_payloads, p_priorities, p_delays_seconds, p_run_at,
            p_expires_seconds, p_max_attempts, p_timeouts_seconds, p_dedupe_keys, p_dedupe, p_dedupe_windows_seconds,
            p_idempotency_keys, p_labels, p_correlation_ids, p_trace_ids, p_source_refs) j
        order by j.ordinal;
        return;
    end if;
    v_prefix := left(new_id()::text, 32);
    v_ids := array(select id_in_call(v_prefix, g) from generate_series(1, cardinality(p_payloads)) g);
    insert into job (tenant_id, def_id, id, queue_id, max_attempts, priority, source, run_at, created_by, payload)
    select p_tenant, v_def_id, u.id, v_queue_id, v_max_attempts, coalesce(u.priority, v_priority), 0, v_now, v_actor,
        coalesce(u.payload, '{}')
    from unnest(v_ids, p_payloads, p_priorities) as u (id, payload, priority);
    insert into live (rank, ready_at, tenant_id, job_id, queue_id, def_id, attempt, max_attempts, priority, releases,
        state, is_strict, is_cancel_requested, is_keyed)
    select case when coalesce(u.priority, v_priority) = v_priority then v_rank
            else v_now + make_interval(secs => u.priority::double precision * v_ageing) end,
        v_now, p_tenant, u.id, v_queue_id, v_def_id, 0, v_max_attempts, coalesce(u.priority, v_priority), 0, 0, v_strict, false, false
    from unnest(v_ids, p_priorities) as u (id, priority);
    return query
    select u.place::integer, u.id, true, null::text, null::text, null::text, null::text
    from unnest(v_ids) with ordinality as u (id, place);
    perform ring(array[v_queue_id]);
end
$$;
comment on function enqueue_many(uuid, text[], jsonb[], integer[], double precision[], timestamptz[], double precision[], integer[], integer[], text[], text[], double precision[], text[], jsonb[], text[], text[], text[], text)
is 'Enqueues up to 10,000 jobs in the caller''s transaction: parallel arrays in, an answer per item out, in their order; a bad item does not fail the rest. One definition in the array counts for all items.';

create or replace function require_bulk(p_payloads jsonb[]) returns void
language plpgsql stable
as $$
begin
    if coalesce(cardinality(p_payloads), 0) not between 1 and 10000 then
        perform refuse('out_of_range', 'p_payloads', coalesce(cardinality(p_payloads)::text, 'null') || ' items', 'Enqueue 1 to 10000 jobs per call.');
    end if;
    if pg_column_size(p_payloads) > 16777216 then
        perform refuse('too_large', 'p_payloads', pg_column_size(p_payloads) || ' bytes', 'At most 16777216 bytes per call: split it.');
    end if;
end
$$;
comment on function require_bulk(jsonb[]) is 'Refuses a call of no jobs or of too many.';

-- Every door ends here, but for plain jobs: those are two inserts and no more, since every insert node that is not
-- needed would cost, and so would a function between.
create or replace function put_jobs(
    p_tenant uuid, p_source smallint, p_actor text, p_parent uuid, p_rerun_of uuid,
    p_definitions text[], p_payloads jsonb[], p_priorities integer[], p_delays double precision[], p_run_at timestamptz[],
    p_expires double precision[], p_max_attempts integer[], p_timeouts integer[], p_dedupe_keys text[], p_dedupe text[],
    p_windows double precision[], p_idempotency_keys text[], p_labels jsonb[], p_correlation_ids text[], p_trace_ids text[],
    p_source_refs text[]
) returns table (ordinal integer, job_id uuid, created boolean, refusal text, field text, value text, hint text)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock();
    v_count integer := cardinality(p_payloads);
    v_definitions text[] := p_definitions;
begin
    perform require_bulk(p_payloads);
    if cardinality(p_definitions) = 1 and v_count > 1 then
        v_definitions := array_fill((select d from unnest(p_definitions) d), array[v_count]);
    end if;
    perform require_parallel('p_payloads', v_count, array[array_dims(p_payloads), coalesce(array_dims(v_definitions), 'none'),
        array_dims(p_priorities), array_dims(p_delays), array_dims(p_run_at), array_dims(p_expires), array_dims(p_max_attempts),
        array_dims(p_timeouts), array_dims(p_dedupe_keys), array_dims(p_dedupe), array_dims(p_windows),
        array_dims(p_idempotency_keys), array_dims(p_labels), array_dims(p_correlation_ids), array_dims(p_trace_ids),
        array_dims(p_source_refs)]);
    return query
    select j.* from put_special_jobs(p_tenant, p_source, p_actor, p_parent, p_rerun_of, v_definitions, p_payloads, p_priorities, p_delays,
        p_run_at, p_expires, p_max_attempts, p_timeouts, p_dedupe_keys, p_dedupe, p_windows, p_idempotency_keys, p_labels,
        p_correlation_ids, p_trace_ids, p_source_refs, v_now) j;
    perform ring(array(
        select distinct d.queue_id from definition d where d.key = any (p_definitions)));
end
$$;
comment on function put_jobs(uuid, smallint, text, uuid, uuid, text[], jsonb[], integer[], double precision[], timestamptz[], double precision[], integer[], integer[], text[], text[], double precision[], text[], jsonb[], text[], text[], text[])
is 'Enqueues for a tenant that the caller has checked.';
