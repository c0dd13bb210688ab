-- The end of an attempt. Every verb presents the fence (attempt number and worker instance) and answers per item:
-- 1 accepted, 2 duplicate (the same word again, safe to repeat), 0 stale (not yours any more), 3 busy (another session
-- holds the row: nothing done, say it again), 4 refused (the result or error is too large or too deep: report a failure).
-- No verb waits for a row: one that waits stops all jobs of its worker, other tenants' included.

-- What a word that did not find its running attempt is answered: looked at in a snapshot taken after the try.
create or replace function judge_words(
    p_worker uuid, p_tenants uuid[], p_jobs uuid[], p_attempts integer[], p_outcomes smallint[], p_answers smallint[]
) returns smallint[]
language plpgsql stable
as $$
begin
    return array(
        select coalesce(u.answer,
            (select 3::smallint from live l
                where l.tenant_id = u.tenant_id and l.job_id = u.job_id and l.attempt = u.attempt and l.worker_id = p_worker
                    and l.state + 0 = 1),
            (select 2::smallint from attempt a
                where a.tenant_id = u.tenant_id and a.job_id = u.job_id and a.attempt = u.attempt and a.worker_id = p_worker
                    and a.outcome = u.outcome and a.ended_by is null),
            0::smallint)
        from unnest(p_tenants, p_jobs, p_attempts, p_outcomes, p_answers) with ordinality
            as u (tenant_id, job_id, attempt, outcome, answer, place)
        order by u.place
    );
end
$$;
comment on function judge_words(uuid, uuid[], uuid[], integer[], smallint[], smallint[]) is 'busy, duplicate or stale for the words that were not accepted.';

-- By their dimensions, not their lengths: an array that begins at 0 would be read by unnest and by subscript differently.
-- Null stands for an array that was left out.
create or replace function require_parallel(p_field text, p_count integer, p_dimensions text[]) returns void
language plpgsql immutable
as $$
begin
    if p_count is null or p_count > 10000 then
        perform refuse('out_of_range', p_field, coalesce(p_count::text, 'null'), 'Give arrays of at most 10000 items.');
    end if;
    if (case when p_count = 0 then 'none' else '[1:' || p_count || ']' end) <> any (array_remove(p_dimensions, null)) then
        perform refuse('malformed', p_field, array_to_string(p_dimensions, ' '),
            'Give arrays of one dimension, which begin at 1 and have ' || p_count || ' items.');
    end if;
end
$$;
comment on function require_parallel(text, integer, text[]) is 'Refuses a batch whose arrays are not parallel.';

-- complete without its checks of the call, shared with finish_and_claim. One statement: a row that changed between its
-- lock and its delete (an extension that committed in that instant) stays where it is and is answered busy.
create or replace function complete_held(
    p_worker uuid, p_tenants uuid[], p_jobs uuid[], p_attempts integer[], p_results jsonb[], p_now timestamptz
) returns smallint[]
language plpgsql volatile
as $$
declare
    v_count integer := cardinality(p_jobs);
    v_places bigint[];
    v_refused bigint[];
    v_keyed_tenants uuid[];
    v_keyed_jobs uuid[];
    v_answers smallint[];
begin
    with held as materialized (
        select l.tid, u.place, u.result, u.tenant_id, u.job_id, u.attempt,
            l.ready_at, l.started_at, l.def_id, l.queue_id, l.is_keyed
        from (
            -- one order of locks for all verbs: tenant, then job
            select * from unnest(p_tenants, p_jobs, p_attempts, p_results) with ordinality
                as u (tenant_id, job_id, attempt, result, place)
            where u.result is null or judge_document(u.result, 65536) is null
            order by u.tenant_id, u.job_id
        ) u
        cross join lateral (
            select l.ctid as tid, l.ready_at, l.started_at, l.def_id, l.queue_id, l.is_keyed
            from live l
            where l.tenant_id = u.tenant_id and l.job_id = u.job_id and l.attempt = u.attempt and l.worker_id = p_worker
                and l.state + 0 = 1
            for update skip locked
        ) l
    ),
    gone as (
        delete from live l
        using held h
        where l.ctid = h.tid
        returning h.*
    ),
    history as (
        insert into attempt (tenant_id, job_id, ready_at, started_at, ended_at, worker_id, attempt, def_id, queue_id, outcome,
            final_state, result)
        select g.tenant_id, g.job_id, g.ready_at, g.started_at, greatest(p_now, g.started_at), p_worker,
            g.attempt, g.def_id, g.queue_id, 1, 1, g.result
        from gone g
    )
    select array_agg(g.place), array_agg(g.tenant_id) filter (where g.is_keyed), array_agg(g.job_id) filter (where g.is_keyed)
    into v_places, v_keyed_tenants, v_keyed_jobs
    from gone g;
    if v_keyed_jobs is not null then
        perform end_keys(v_keyed_tenants, v_keyed_jobs, p_now);
    end if;
    if cardinality(v_places) = v_count then
        return array_fill(1::smallint, array[v_count]);
    end if;
    v_answers := array_fill(null::smallint, array[v_count]);
    for i in 1..coalesce(cardinality(v_places), 0) loop
        v_answers[v_places[i]] := 1;
    end loop;
    for i in 1..v_count loop
        if judge_document(p_results[i], 65536) is not null then
            v_answers[i] := 4;
        end if;
    end loop;
    return judge_words(p_worker, p_tenants, p_jobs, p_attempts, array_fill(1::smallint, array[v_count]), v_answers);
end
$$;
comment on function complete_held(uuid, uuid[], uuid[], integer[], jsonb[], timestamptz) is 'Ends attempts that this worker owns as succeeded.';

create or replace function complete(
    p_worker uuid, p_tenants uuid[], p_jobs uuid[], p_attempts integer[], p_results jsonb[] default null
) returns smallint[]
language plpgsql volatile security definer set search_path from current
as $$
begin
    perform require_read_committed();
    perform require_parallel('p_jobs', cardinality(p_jobs), array[array_dims(p_jobs), coalesce(array_dims(p_tenants), 'none'),
        coalesce(array_dims(p_attempts), 'none'), array_dims(p_results)]);
    return complete_held(p_worker, p_tenants, p_jobs, p_attempts, p_results, clock());
end
$$;
comment on function complete(uuid, uuid[], uuid[], integer[], jsonb[]) is 'The owner says that these attempts succeeded. Answers per item: 1 accepted, 2 duplicate, 0 stale, 3 busy, 4 refused.';

create or replace function fail(
    p_worker uuid, p_tenants uuid[], p_jobs uuid[], p_attempts integer[], p_errors jsonb[] default null,
    p_permanent boolean[] default null, p_retry_in_seconds double precision[] default null, p_timed_out boolean[] default null,
    p_reasons text[] default null
) returns smallint[]
language plpgsql volatile security definer set search_path from current
as $$
begin
    perform require_parallel('p_timed_out', cardinality(p_jobs), array[array_dims(p_timed_out)]);
    return end_attempts(p_worker, p_tenants, p_jobs, p_attempts,
        array(select case when u.timed_out then 3 else 2 end::smallint
            from unnest(p_jobs, p_timed_out) with ordinality as u (job_id, timed_out, place) order by u.place),
        p_permanent, p_retry_in_seconds, p_errors, p_reasons);
end
$$;
comment on function fail(uuid, uuid[], uuid[], integer[], jsonb[], boolean[], double precision[], boolean[], text[])
is 'The owner says that these attempts failed (or ran out of time): again by the retry policy or after p_retry_in_seconds, never again where permanent. Answers per item: 1 accepted, 2 duplicate, 0 stale, 3 busy, 4 refused.';

create or replace function snooze(
    p_worker uuid, p_tenants uuid[], p_jobs uuid[], p_attempts integer[], p_delays_seconds double precision[], p_reasons text[] default null
) returns smallint[]
language plpgsql volatile security definer set search_path from current
as $$
begin
    if p_delays_seconds is null then
        perform refuse('required', 'p_delays_seconds', null, 'Say for how long: 0 would run the jobs again at once.');
    end if;
    perform require_parallel('p_delays_seconds', cardinality(p_jobs), array[coalesce(array_dims(p_delays_seconds), 'none')]);
    return end_attempts(p_worker, p_tenants, p_jobs, p_attempts, array_fill(7::smallint, array[coalesce(cardinality(p_jobs), 0)]), null,
        array(select coalesce(u.delay, 0) from unnest(p_jobs, p_delays_seconds) with ordinality as u (job_id, delay, place) order by u.place),
        null, p_reasons);
end
$$;
comment on function snooze(uuid, uuid[], uuid[], integer[], double precision[], text[])
is 'The owner puts these jobs off without having spent an attempt. Answers per item as fail does.';

create or replace function release(
    p_worker uuid, p_tenants uuid[], p_jobs uuid[], p_attempts integer[], p_reasons text[] default null
) returns smallint[]
language plpgsql volatile security definer set search_path from current
as $$
begin
    return end_attempts(p_worker, p_tenants, p_jobs, p_attempts, array_fill(6::smallint, array[coalesce(cardinality(p_jobs), 0)]), null,
        array_fill(0::double precision, array[coalesce(cardinality(p_jobs), 0)]), null, p_reasons);
end
$$;
comment on function release(uuid, uuid[], uuid[], integer[], text[])
is 'The owner hands these jobs back, as at shutdown: the attempt is refunded for the first releases of a job. Answers per item as fail does.';

create or replace function cancel_attempt(
    p_worker uuid, p_tenants uuid[], p_jobs uuid[], p_attempts integer[], p_reasons text[] default null
) returns smallint[]
language plpgsql volatile security definer set search_path from current
as $$
begin
    return end_attempts(p_worker, p_tenants, p_jobs, p_attempts, array_fill(4::smallint, array[coalesce(cardinality(p_jobs), 0)]), null,
        null, null, p_reasons);
end
$$;
comment on function cancel_attempt(uuid, uuid[], uuid[], integer[], text[])
is 'The owner ends these jobs as canceled: the handler obeyed a cancel request or gave up by itself. Answers per item as fail does.';
