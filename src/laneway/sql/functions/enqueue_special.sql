-- The general form of enqueue: several definitions, delays, expiry, keys, labels. Judged in one query, then keys by their
-- primary key (dedupe.sql), then one insert per table.

create or replace function put_special_jobs(
    p_tenant uuid, p_source smallint, p_actor text, p_parent uuid, p_rerun_of uuid,
    p_definitions text[], p_payloads jsonb[], p_priorities integer[], p_delays double precision[], p_run_at timestamptz[],
    p_expires double precision[], p_max_attempts integer[], p_timeouts integer[], p_dedupe_keys text[], p_dedupe text[],
    p_windows double precision[], p_idempotency_keys text[], p_labels jsonb[], p_correlation_ids text[], p_trace_ids text[],
    p_source_refs text[], p_now timestamptz
) returns table (ordinal integer, job_id uuid, created boolean, refusal text, field text, value text, hint text)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    v_prefix text := left(new_id()::text, 32);
    v_suspended boolean := is_tenant_suspended(p_tenant);
    v_ids uuid[];
    v_defs integer[];
    v_queues integer[];
    v_priorities integer[];
    v_attempts integer[];
    v_due timestamptz[];
    v_stricts boolean[];
    v_ranks timestamptz[];
    v_wrongs smallint[];
    v_holders uuid[];
    v_waits boolean[];
    v_settled record;
begin
    select array_agg(i.id order by i.place), array_agg(i.def_id order by i.place), array_agg(i.queue_id order by i.place),
        array_agg(i.priority order by i.place), array_agg(i.attempts order by i.place), array_agg(i.due_at order by i.place),
        array_agg(i.is_strict order by i.place), array_agg(i.rank order by i.place), array_agg(i.wrong order by i.place)
    into v_ids, v_defs, v_queues, v_priorities, v_attempts, v_due, v_stricts, v_ranks, v_wrongs
    from (
        select u.place, id_in_call(v_prefix, u.place) as id, d.def_id, d.queue_id, coalesce(u.priority, d.priority) as priority,
            coalesce(u.max_attempts, d.max_attempts) as attempts, t.due_at, d.is_strict,
            case when d.def_id is not null and coalesce(u.priority, 0) between 0 and 1000 then
                t.due_at + make_interval(secs => coalesce(u.priority, d.priority)::double precision * d.ageing_seconds) end as rank,
            case
                when d.def_id is null then 1
                when not d.is_enabled then 2
                when v_suspended then 6
                else coalesce(judge_item(u.payload, u.priority), judge_options(u.delay, u.run_at, u.expires, u.max_attempts, u.timeout,
                    u.dedupe_key, u.dedupe, u.dedupe_window, u.idempotency_key, u.labels, u.correlation_id, u.trace_id, u.source_ref, p_now))
            end::smallint as wrong
        from unnest(p_definitions, p_payloads, p_priorities, p_delays, p_run_at, p_expires, p_max_attempts, p_timeouts,
            p_dedupe_keys, p_dedupe, p_windows, p_idempotency_keys, p_labels, p_correlation_ids, p_trace_ids, p_source_refs)
            with ordinality
            as u (definition, payload, priority, delay, run_at, expires, max_attempts, timeout, dedupe_key, dedupe, dedupe_window,
                idempotency_key, labels, correlation_id, trace_id, source_ref, place)
        left join lateral (
            select d.def_id, d.queue_id, d.max_attempts, d.priority, d.is_enabled, q.is_strict, q.ageing_seconds
            from definition d
            join queue q on q.queue_id = d.queue_id
            where d.key = u.definition
            offset 0
        ) d on true
        cross join lateral (
            select case
                when u.delay between 0 and 315360000 then p_now + make_interval(secs => u.delay)
                when u.run_at between p_now - interval '10 years' and p_now + interval '10 years' then greatest(u.run_at, p_now)
                else p_now
            end as due_at
        ) t
    ) i;
    v_holders := v_ids;
    v_waits := array_fill(false, array[cardinality(v_ids)]);
    if num_nonnulls(p_dedupe_keys, p_idempotency_keys) > 0 then
        select k.holders, k.wrongs, k.waits into v_settled
        from settle_keys(p_tenant, v_ids, v_defs, v_wrongs, p_dedupe_keys, p_dedupe, p_windows, p_idempotency_keys, p_now) k;
        v_holders := v_settled.holders;
        v_wrongs := v_settled.wrongs;
        v_waits := v_settled.waits;
    end if;
    insert into job (tenant_id, def_id, id, queue_id, max_attempts, priority, source, run_at, timeout_seconds, expires_at, parent_id,
        rerun_of, source_ref, created_by, correlation_id, trace_id, dedupe_key, labels, payload)
    select p_tenant, u.def_id, u.id, u.queue_id, u.attempts, u.priority, p_source, u.due_at, u.timeout,
        p_now + make_interval(secs => u.expires), p_parent, p_rerun_of, u.source_ref, p_actor, u.correlation_id, u.trace_id, u.dedupe_key,
        u.labels, coalesce(u.payload, '{}')
    from unnest(v_ids, v_defs, v_queues, v_priorities, v_attempts, v_due, v_wrongs, v_holders, p_payloads, p_timeouts, p_expires,
        p_source_refs, p_correlation_ids, p_trace_ids, p_dedupe_keys, p_labels)
        as u (id, def_id, queue_id, priority, attempts, due_at, wrong, holder, payload, timeout, expires,
            source_ref, correlation_id, trace_id, dedupe_key, labels)
    where u.wrong is null and u.holder = u.id;
    insert into live (rank, ready_at, tenant_id, job_id, queue_id, def_id, attempt, max_attempts, priority, releases,
        state, is_strict, is_cancel_requested, is_keyed, expires_at, timeout_seconds)
    select u.rank, p_now, p_tenant, u.id, u.queue_id, u.def_id, 0, u.attempts, u.priority, 0, 0, u.is_strict, false,
        num_nonnulls(u.dedupe_key, u.idempotency_key) > 0, p_now + make_interval(secs => u.expires), u.timeout
    from unnest(v_ids, v_defs, v_queues, v_priorities, v_attempts, v_due, v_wrongs, v_holders, v_waits, v_stricts, v_ranks,
        p_timeouts, p_expires, p_dedupe_keys, p_idempotency_keys)
        as u (id, def_id, queue_id, priority, attempts, due_at, wrong, holder, waits, is_strict, rank, timeout, expires,
            dedupe_key, idempotency_key)
    where u.wrong is null and u.holder = u.id and not u.waits and u.due_at <= p_now;
    insert into later (due_at, tenant_id, job_id, queue_id, def_id, attempt, max_attempts, priority, releases, is_keyed, expires_at,
        timeout_seconds)
    select u.due_at, p_tenant, u.id, u.queue_id, u.def_id, 0, u.attempts, u.priority, 0,
        num_nonnulls(u.dedupe_key, u.idempotency_key) > 0, p_now + make_interval(secs => u.expires), u.timeout
    from unnest(v_ids, v_defs, v_queues, v_priorities, v_attempts, v_due, v_wrongs, v_holders, v_waits, p_timeouts, p_expires,
        p_dedupe_keys, p_idempotency_keys)
        as u (id, def_id, queue_id, priority, attempts, due_at, wrong, holder, waits, timeout, expires, dedupe_key, idempotency_key)
    where u.wrong is null and u.holder = u.id and not u.waits and u.due_at > p_now;
    if true = any (v_waits) then
        insert into waiting (tenant_id, job_id, queue_id, def_id, max_attempts, priority, is_keyed, run_at, expires_at, timeout_seconds)
        select p_tenant, u.id, u.queue_id, u.def_id, u.attempts, u.priority, true, u.due_at,
            p_now + make_interval(secs => u.expires), u.timeout
        from unnest(v_ids, v_defs, v_queues, v_priorities, v_attempts, v_due, v_waits, p_timeouts, p_expires)
            as u (id, def_id, queue_id, priority, attempts, due_at, waits, timeout, expires)
        where u.waits;
        -- always: the twin may end before this commits, and would not see its successor
        insert into handover (tenant_id, id, kind, def_id, key)
        select p_tenant, new_id(), 1, u.def_id, u.dedupe_key
        from unnest(v_defs, v_waits, p_dedupe_keys) as u (def_id, waits, dedupe_key)
        where u.waits;
    end if;
    return query
    select u.place::integer, case when u.wrong is null or u.wrong = 18 then u.holder end, u.wrong is null and u.holder = u.id,
        null::text, null::text, null::text, null::text
    from unnest(v_ids, v_holders, v_wrongs) with ordinality as u (id, holder, wrong, place)
    where u.wrong is null
    union all
    select u.place::integer, case when u.wrong = 18 then u.holder end, false, r.refusal, r.field, r.value, r.hint
    from unnest(p_definitions, p_payloads, p_priorities, v_holders, v_wrongs, p_delays, p_expires, p_max_attempts, p_timeouts,
        p_dedupe_keys, p_idempotency_keys, p_dedupe, p_windows, p_labels, p_correlation_ids, p_run_at, p_trace_ids, p_source_refs)
        with ordinality
        as u (definition, payload, priority, holder, wrong, delay, expires, max_attempts, timeout, dedupe_key, idempotency_key, dedupe,
            dedupe_window, labels, correlation_id, run_at, trace_id, source_ref, place)
    cross join lateral explain_refusal(u.wrong, u.definition, u.payload, u.priority, case u.wrong
        when 7 then u.delay::text when 8 then u.expires::text when 9 then u.max_attempts::text when 10 then u.timeout::text
        when 11 then u.dedupe_key when 12 then u.idempotency_key when 13 then u.dedupe when 14 then u.dedupe_window::text
        when 15 then show_document(u.labels) when 16 then u.correlation_id when 17 then u.run_at::text
        when 20 then u.trace_id when 21 then u.source_ref when 18 then u.dedupe_key when 19 then coalesce(u.dedupe_key, u.idempotency_key) end) r
    where u.wrong is not null;
end
$$;
comment on function put_special_jobs(uuid, smallint, text, uuid, uuid, text[], jsonb[], integer[], double precision[], timestamptz[], double precision[], integer[], integer[], text[], text[], double precision[], text[], jsonb[], text[], text[], text[], timestamptz)
is 'Enqueues jobs of any kind: delays, keys, several definitions.';

create or replace function is_label_set(p_labels jsonb) returns boolean
language plpgsql immutable
as $$
begin
    return jsonb_typeof(p_labels) = 'object'
        and (select count(*) <= 32 and coalesce(bool_and(length(l.key) between 1 and 63 and jsonb_typeof(l.value) = 'string'
                and length(l.value #>> '{}') <= 200), true)
            from jsonb_each(case when jsonb_typeof(p_labels) = 'object' then p_labels else '{}' end) l);
end
$$;
comment on function is_label_set(jsonb) is 'Whether a document is a flat object of short texts.';

-- The checks of everything that a plain job does not have; null: it can be taken.
create or replace function judge_options(
    p_delay double precision, p_run_at timestamptz, p_expires double precision, p_max_attempts integer, p_timeout integer,
    p_dedupe_key text, p_dedupe text, p_window double precision, p_idempotency_key text, p_labels jsonb, p_correlation_id text,
    p_trace_id text, p_source_ref text, p_now timestamptz
) returns smallint
language sql stable
as $$
    select case
        when not p_delay between 0 and 315360000 then 7
        when p_run_at is not null and (p_delay is not null
            or not p_run_at between p_now - interval '10 years' and p_now + interval '10 years') then 17
        when not (p_expires > 0 and p_expires <= 315360000) then 8
        when not p_max_attempts between 1 and 100 then 9
        when not p_timeout between 1 and 604800 then 10
        when not length(p_dedupe_key) between 1 and 500 then 11
        when not length(p_idempotency_key) between 1 and 500 then 12
        when p_dedupe is not null and (p_dedupe_key is null or p_dedupe not in ('skip', 'replace', 'requeue', 'error')) then 13
        when p_window is not null and (p_dedupe_key is null or not p_window between 0 and 31536000) then 14
        when p_labels is not null and not is_label_set(p_labels) then 15
        when not length(p_correlation_id) between 1 and 200 then 16
        when not length(p_trace_id) between 1 and 200 then 20
        when not length(p_source_ref) between 1 and 500 then 21
    end::smallint
$$;
comment on function judge_options(double precision, timestamptz, double precision, integer, integer, text, text, double precision, text, jsonb, text, text, text, timestamptz)
is 'What is wrong with the options of an item, as a number of explain_refusal.';
