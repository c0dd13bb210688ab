-- How an attempt or a queued job ends otherwise than by success: rows are locked in one statement and written by ctid in the
-- next, what goes on goes back to live or later, what has ended leaves a row of history.

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
    v_defs integer[] := '{}';
    v_queues integer[] := '{}';
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
    v_tenants := v_tenants || v_part.tenants;
    v_ended := v_ended || v_part.jobs;
    v_defs := v_defs || v_part.defs;
    v_queues := v_queues || v_part.queues;
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
    v_tenants := v_tenants || v_part.tenants;
    v_ended := v_ended || v_part.jobs;
    v_defs := v_defs || v_part.defs;
    v_queues := v_queues || v_part.queues;
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
    v_tenants := v_tenants || v_part.tenants;
    v_ended := v_ended || v_part.jobs;
    v_defs := v_defs || v_part.defs;
    v_queues := v_queues || v_part.queues;
    if cardinality(v_ended) > 0 then
        perform record_end(v_tenants, v_ended, v_defs, v_queues, p_outcome, p_final_state, p_reason, p_now);
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
