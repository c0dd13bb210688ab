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

-- Locks the rows of running attempts that this worker owns: the first statement of every owner verb but complete. The
-- second writes by ctid what the first has locked; a write in the statement that locks would miss a version that a
-- concurrent commit made.
create or replace function hold_attempts(
    p_worker uuid, p_tenants uuid[], p_jobs uuid[], p_attempts integer[], p_answers smallint[]
) returns tid[]
language plpgsql volatile
as $$
begin
    return (
        select array_agg(l.tid order by u.place)
        from (
            -- a job that is named twice is ended once; its second word is a duplicate
            select u.*, row_number() over (partition by u.tenant_id, u.job_id, u.attempt order by u.answer nulls first, u.place) as nth
            from unnest(p_tenants, p_jobs, p_attempts, p_answers) with ordinality as u (tenant_id, job_id, attempt, answer, place)
            order by u.tenant_id, u.job_id
        ) u
        left join lateral (
            select l.ctid as tid from live l
            where l.tenant_id = u.tenant_id and l.job_id = u.job_id and l.attempt = u.attempt and l.worker_id = p_worker
                and l.state + 0 = 1 and u.answer is null and u.nth = 1
            for update skip locked
        ) l on true
    );
end
$$;
comment on function hold_attempts(uuid, uuid[], uuid[], integer[], smallint[])
is 'Locks the running attempts of this worker among the items that have no answer yet: a row per item, null where it is not there or held.';

-- The one place where an attempt ends otherwise than by success. Rows are locked by the caller. Per row: outcome (2
-- failed, 3 timeout, 4 canceled, 5 lost, 6 released, 7 snoozed), whether it is for good, the wait (null: by the retry
-- policy). A requested cancel wins over every outcome; attempts that are refunded make max_attempts grow by one, the
-- number itself is never given back.
create or replace function close_attempts(
    p_rows tid[], p_outcomes smallint[], p_permanent boolean[], p_delays double precision[], p_errors jsonb[], p_reasons text[],
    p_ended_by smallint, p_now timestamptz
) returns smallint[]
language plpgsql volatile
as $$
declare
    v_finals smallint[];
    v_keyed_tenants uuid[];
    v_keyed_jobs uuid[];
    v_rung integer[];
begin
    with said as materialized (
        select u.place, u.error, u.reason, l.*, s.free_releases, q.is_strict as in_strict_queue,
            u.outcome, u.delay, coalesce(u.permanent, false) as permanent,
            u.outcome = 7 or (u.outcome = 6 and l.releases < s.free_releases) as is_refunded
        from unnest(p_rows, p_outcomes, p_permanent, p_delays, p_errors, p_reasons) with ordinality
            as u (tid, outcome, permanent, delay, error, reason, place)
        cross join setting s
        cross join lateral (select l.ctid as tid, l.* from live l where l.ctid = u.tid offset 0) l
        join queue q on q.queue_id = l.queue_id
        where u.tid is not null
    ),
    judged as materialized (
        select s.*, case
                when s.outcome = 4 or s.is_cancel_requested then 4
                when s.permanent then 2
                when not s.is_refunded and s.attempt >= s.max_attempts then 3
            end::smallint as final_state,
            s.max_attempts + s.is_refunded::integer as next_max_attempts,
            s.releases + (s.outcome = 6)::integer as next_releases,
            p_now + make_interval(secs => coalesce(s.delay, (
                select backoff_seconds(d.backoff_kind, d.backoff_base_seconds, d.backoff_factor, d.backoff_cap_seconds, d.backoff_jitter,
                    d.backoff_list_seconds, counted_attempts(s.tenant_id, s.def_id, s.job_id, s.attempt, s.max_attempts), random())
                from definition d where d.def_id = s.def_id))) as due_at
        from said s
    ),
    gone as (
        delete from live l using judged j where l.ctid = j.tid
        returning j.*
    ),
    history as (
        insert into attempt (tenant_id, job_id, ready_at, started_at, ended_at, worker_id, attempt, def_id, queue_id, outcome, final_state,
            ended_by, reason, error)
        select g.tenant_id, g.job_id, g.ready_at, g.started_at, greatest(p_now, g.started_at), g.worker_id, g.attempt, g.def_id, g.queue_id, g.outcome,
            g.final_state, p_ended_by, g.reason, g.error
        from gone g
    ),
    parked as (
        insert into later (due_at, tenant_id, job_id, queue_id, def_id, attempt, max_attempts, priority, releases, is_keyed, expires_at,
            timeout_seconds)
        select g.due_at, g.tenant_id, g.job_id, g.queue_id, g.def_id, g.attempt, g.next_max_attempts, g.priority, g.next_releases,
            g.is_keyed, g.expires_at, g.timeout_seconds
        from gone g
        where g.final_state is null and g.due_at > p_now
    ),
    -- what may go on at once keeps its place in the lane
    ready as (
        insert into live (rank, ready_at, tenant_id, job_id, queue_id, def_id, attempt, max_attempts, priority, releases, state,
            is_strict, is_cancel_requested, is_keyed, expires_at, timeout_seconds)
        select g.rank, p_now, g.tenant_id, g.job_id, g.queue_id, g.def_id, g.attempt, g.next_max_attempts, g.priority, g.next_releases, 0,
            g.in_strict_queue, false, g.is_keyed, g.expires_at, g.timeout_seconds
        from gone g
        where g.final_state is null and g.due_at <= p_now
    )
    select array_agg(coalesce(g.final_state, 0) order by g.place),
        array_agg(g.tenant_id) filter (where g.is_keyed and g.final_state is not null),
        array_agg(g.job_id) filter (where g.is_keyed and g.final_state is not null),
        array_agg(distinct g.queue_id) filter (where g.final_state is null and g.due_at <= p_now)
    into v_finals, v_keyed_tenants, v_keyed_jobs, v_rung
    from gone g;
    if v_keyed_jobs is not null then
        perform end_keys(v_keyed_tenants, v_keyed_jobs, p_now);
    end if;
    if v_rung is not null then
        perform ring(v_rung);
    end if;
    return v_finals;
end
$$;
comment on function close_attempts(tid[], smallint[], boolean[], double precision[], jsonb[], text[], smallint, timestamptz)
is 'Ends attempts whose rows are locked: the job goes on, or ends as failed, dead_letter or canceled. Answers the final state of each, 0 where it goes on.';

-- Refunds are what max_attempts has grown by since enqueue: what is left of the number counts for the wait.
create or replace function counted_attempts(p_tenant uuid, p_def integer, p_job uuid, p_attempt integer, p_max_attempts integer) returns integer
language sql stable
as $$
    select greatest(1, p_attempt - p_max_attempts + coalesce((
        select j.max_attempts from job j where j.tenant_id = p_tenant and j.def_id = p_def and j.id = p_job), p_max_attempts))
$$;
comment on function counted_attempts(uuid, integer, uuid, integer, integer) is 'How many attempts of a job count for its backoff.';

-- What fail, snooze, release and cancel_attempt share: hold, close, answer.
create or replace function end_attempts(
    p_worker uuid, p_tenants uuid[], p_jobs uuid[], p_attempts integer[], p_outcomes smallint[], p_permanent boolean[],
    p_delays double precision[], p_errors jsonb[], p_reasons text[]
) returns smallint[]
language plpgsql volatile
as $$
declare
    v_count integer := cardinality(p_jobs);
    v_now timestamptz := clock();
    v_rows tid[];
    v_answers smallint[];
begin
    perform require_read_committed();
    perform require_parallel('p_jobs', v_count, array[array_dims(p_jobs), coalesce(array_dims(p_tenants), 'none'),
        coalesce(array_dims(p_attempts), 'none'), array_dims(p_outcomes), array_dims(p_permanent), array_dims(p_delays),
        array_dims(p_errors), array_dims(p_reasons)]);
    v_answers := array(
        select case when judge_document(u.error, 65536) is not null or not u.delay between 0 and 315360000
                or length(u.reason) > 2000 then 4::smallint end
        from unnest(p_jobs, p_errors, p_delays, p_reasons) with ordinality as u (job_id, error, delay, reason, place)
        order by u.place);
    v_rows := hold_attempts(p_worker, p_tenants, p_jobs, p_attempts, v_answers);
    perform close_attempts(v_rows, p_outcomes, p_permanent, p_delays, p_errors, p_reasons, null, v_now);
    for i in 1..v_count loop
        if v_rows[i] is not null then
            v_answers[i] := 1;
        end if;
    end loop;
    return judge_words(p_worker, p_tenants, p_jobs, p_attempts, p_outcomes, v_answers);
end
$$;
comment on function end_attempts(uuid, uuid[], uuid[], integer[], smallint[], boolean[], double precision[], jsonb[], text[])
is 'Ends attempts that this worker owns otherwise than by success.';

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
    perform require_parallel('p_delays_seconds', cardinality(p_jobs), array[array_dims(p_delays_seconds)]);
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

-- A job that ends while it is queued has no attempt to carry its end: row number 0 does. Rows that somebody else holds
-- are left alone. Answers the jobs that it ended.
create or replace function end_queued(
    p_tenants uuid[], p_jobs uuid[], p_outcome smallint, p_final_state smallint, p_reason text, p_now timestamptz
) returns uuid[]
language plpgsql volatile
as $$
declare
    v_tenants uuid[] := '{}';
    v_ended uuid[] := '{}';
    v_part record;
begin
    with held as materialized (
        select l.* from (select * from unnest(p_tenants, p_jobs) as u (tenant_id, job_id) order by u.tenant_id, u.job_id) u
        cross join lateral (
            select l.ctid as tid, l.tenant_id, l.job_id, l.def_id, l.queue_id, l.is_keyed from live l
            where l.tenant_id = u.tenant_id and l.job_id = u.job_id and l.state + 0 = 0
            for update skip locked
        ) l
    ),
    gone as (delete from live l using held h where l.ctid = h.tid returning h.*)
    select array_agg(g.tenant_id) as tenants, array_agg(g.job_id) as jobs, array_agg(g.def_id) as defs, array_agg(g.queue_id) as queues
    into v_part from gone g;
    perform record_end(v_part.tenants, v_part.jobs, v_part.defs, v_part.queues, p_outcome, p_final_state, p_reason, p_now);
    v_tenants := v_tenants || v_part.tenants;
    v_ended := v_ended || v_part.jobs;
    with held as materialized (
        select l.* from (select * from unnest(p_tenants, p_jobs) as u (tenant_id, job_id) order by u.tenant_id, u.job_id) u
        cross join lateral (
            select l.ctid as tid, l.tenant_id, l.job_id, l.def_id, l.queue_id from later l
            where l.tenant_id = u.tenant_id and l.job_id = u.job_id
            for update skip locked
        ) l
    ),
    gone as (delete from later l using held h where l.ctid = h.tid returning h.*)
    select array_agg(g.tenant_id) as tenants, array_agg(g.job_id) as jobs, array_agg(g.def_id) as defs, array_agg(g.queue_id) as queues
    into v_part from gone g;
    perform record_end(v_part.tenants, v_part.jobs, v_part.defs, v_part.queues, p_outcome, p_final_state, p_reason, p_now);
    v_tenants := v_tenants || v_part.tenants;
    v_ended := v_ended || v_part.jobs;
    with held as materialized (
        select l.* from (select * from unnest(p_tenants, p_jobs) as u (tenant_id, job_id) order by u.tenant_id, u.job_id) u
        cross join lateral (
            select l.ctid as tid, l.tenant_id, l.job_id, l.def_id, l.queue_id from waiting l
            where l.tenant_id = u.tenant_id and l.job_id = u.job_id
            for update skip locked
        ) l
    ),
    gone as (delete from waiting l using held h where l.ctid = h.tid returning h.*)
    select array_agg(g.tenant_id) as tenants, array_agg(g.job_id) as jobs, array_agg(g.def_id) as defs, array_agg(g.queue_id) as queues
    into v_part from gone g;
    perform record_end(v_part.tenants, v_part.jobs, v_part.defs, v_part.queues, p_outcome, p_final_state, p_reason, p_now);
    v_tenants := v_tenants || v_part.tenants;
    v_ended := v_ended || v_part.jobs;
    if cardinality(v_ended) > 0 then
        perform end_keys(v_tenants, v_ended, p_now);
    end if;
    return v_ended;
end
$$;
comment on function end_queued(uuid[], uuid[], smallint, smallint, text, timestamptz)
is 'Ends queued jobs wherever they stand; answers those it ended.';

create or replace function record_end(
    p_tenants uuid[], p_jobs uuid[], p_defs integer[], p_queues integer[], p_outcome smallint, p_final_state smallint, p_reason text,
    p_now timestamptz
) returns void
language plpgsql volatile
as $$
begin
    insert into attempt (tenant_id, job_id, ended_at, attempt, def_id, queue_id, outcome, final_state, reason)
    select u.tenant_id, u.job_id, p_now, 0, u.def_id, u.queue_id, p_outcome, p_final_state, p_reason
    from unnest(p_tenants, p_jobs, p_defs, p_queues) as u (tenant_id, job_id, def_id, queue_id);
end
$$;
comment on function record_end(uuid[], uuid[], integer[], integer[], smallint, smallint, text, timestamptz) is 'Row number 0 of jobs that ended without an attempt.';
