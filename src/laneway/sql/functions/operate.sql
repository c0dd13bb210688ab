-- What people do to jobs of their tenant. Each verb takes many jobs and answers for each: what was done, or what forbids
-- it. None waits for a row: what somebody holds is answered busy. A job moves between tables, so each verb looks in live,
-- later and waiting, each in a statement of its own, and starts again before it says that a job has ended.

-- The state for readers, in one snapshot.
create or replace function state_of(p_tenant uuid, p_job uuid) returns text
language sql stable
as $$
    select coalesce(
        (select case when l.state = 1 then 'running' else 'queued' end from live l where l.tenant_id = p_tenant and l.job_id = p_job),
        (select 'queued' from later l where l.tenant_id = p_tenant and l.job_id = p_job),
        (select 'queued' from waiting w where w.tenant_id = p_tenant and w.job_id = p_job),
        (select state_word(a.final_state) from attempt a where a.tenant_id = p_tenant and a.job_id = p_job
            order by (a.attempt = 0) desc, a.attempt desc limit 1))
$$;
comment on function state_of(uuid, uuid) is 'The state of a job in the words of the protocol; null when there is none.';

create or replace function is_active(p_tenant uuid, p_job uuid) returns boolean
language sql stable
as $$
    select exists (select from live l where l.tenant_id = p_tenant and l.job_id = p_job)
        or exists (select from later l where l.tenant_id = p_tenant and l.job_id = p_job)
        or exists (select from waiting w where w.tenant_id = p_tenant and w.job_id = p_job)
$$;
comment on function is_active(uuid, uuid) is 'Whether a job is queued or running.';

create or replace function require_job_list(p_jobs uuid[], p_reason text) returns void
language plpgsql immutable
as $$
begin
    if cardinality(p_jobs) is null or cardinality(p_jobs) not between 1 and 1000 then
        perform refuse('out_of_range', 'p_jobs', coalesce(cardinality(p_jobs)::text, 'null') || ' jobs', 'Name 1 to 1000 jobs per call.');
    end if;
    perform require_reason(p_reason);
end
$$;
comment on function require_job_list(uuid[], text) is 'Refuses an operator''s call that names no jobs or too many.';

-- What is answered for jobs that a verb did not change.
create or replace function explain_unchanged(p_tenant uuid, p_job uuid, out answer text, out state text)
language plpgsql stable
as $$
begin
    state := state_of(p_tenant, p_job);
    answer := case
        when state is null then 'not_found'
        when state in ('queued', 'running') then 'busy'
        else 'ended'
    end;
end
$$;
comment on function explain_unchanged(uuid, uuid) is 'not_found, busy (somebody holds it) or ended.';

create or replace function cancel(p_tenant uuid, p_jobs uuid[], p_reason text default null, p_token text default null)
returns table (job_id uuid, answer text, state text)
language plpgsql volatile security definer set search_path from current
as $$
#variable_conflict use_column
declare
    v_actor text := require_tenant('o', p_tenant, p_token);
    v_now timestamptz := clock();
    v_rest uuid[] := p_jobs;
    v_ended uuid[] := '{}';
    v_asked uuid[] := '{}';
    v_changed uuid[] := '{}';
    v_part record;
begin
    perform require_job_list(p_jobs, p_reason);
    for v_try in 1..3 loop
        v_ended := v_ended || end_queued(array_fill(p_tenant, array[cardinality(v_rest)]), v_rest, 4::smallint, 4::smallint,
            coalesce(p_reason, 'canceled by ' || v_actor), v_now);
        select a.asked, a.changed into v_part from ask_to_cancel(p_tenant, v_rest) a;
        v_asked := v_asked || v_part.asked;
        v_changed := v_changed || v_part.changed;
        v_rest := array(select j from unnest(v_rest) j where j <> all (v_ended) and j <> all (v_asked) and is_active(p_tenant, j));
        exit when cardinality(v_rest) = 0;
    end loop;
    perform write_audit(p_tenant, 'cancel', 'job', j::text, p_reason, '{"state": "queued"}', '{"state": "canceled"}', v_actor)
    from unnest(v_ended) j;
    perform write_audit(p_tenant, 'cancel', 'job', j::text, p_reason, '{"state": "running"}',
        '{"state": "running", "is_cancel_requested": true}', v_actor) from unnest(v_changed) j;
    return query
    select u.job_id,
        case when u.job_id = any (v_ended) then 'canceled' when u.job_id = any (v_asked) then 'requested' else x.answer end,
        case when u.job_id = any (v_ended) then 'canceled' when u.job_id = any (v_asked) then 'running' else x.state end
    from unnest(p_jobs) with ordinality as u (job_id, place)
    cross join lateral explain_unchanged(p_tenant, u.job_id) x
    order by u.place;
end
$$;
comment on function cancel(uuid, uuid[], text, text)
is 'Cancels queued jobs and asks running ones to stop. Answers per job: canceled, requested, ended, busy or not_found.';

create or replace function ask_to_cancel(p_tenant uuid, p_jobs uuid[], out asked uuid[], out changed uuid[])
language plpgsql volatile
as $$
declare
    v_rows tid[];
begin
    select array_agg(l.tid) filter (where not l.is_cancel_requested), coalesce(array_agg(l.job_id), '{}'),
        coalesce(array_agg(l.job_id) filter (where not l.is_cancel_requested), '{}')
    into v_rows, asked, changed
    from (select distinct u.job_id from unnest(p_jobs) as u (job_id) order by u.job_id) u
    cross join lateral (
        select l.ctid as tid, l.job_id, l.is_cancel_requested from live l
        where l.tenant_id = p_tenant and l.job_id = u.job_id and l.state + 0 = 1
        for update skip locked
    ) l;
    update live l set is_cancel_requested = true where l.ctid = any (v_rows);
end
$$;
comment on function ask_to_cancel(uuid, uuid[]) is 'Marks running jobs as to be canceled; their workers learn it with the next extension.';

create or replace function force_cancel(p_tenant uuid, p_jobs uuid[], p_reason text)
returns table (job_id uuid, answer text, state text)
language plpgsql volatile security definer set search_path from current
as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock();
    v_rest uuid[] := p_jobs;
    v_ended uuid[] := '{}';
    v_forced uuid[] := '{}';
    v_rows tid[];
    v_jobs uuid[];
begin
    perform require_job_list(p_jobs, p_reason);
    if coalesce(p_reason, '') = '' then
        perform refuse('required', 'p_reason', null, 'Say why: it ends the lease of a worker that may still be at it.');
    end if;
    for v_try in 1..3 loop
        v_ended := v_ended || end_queued(array_fill(p_tenant, array[cardinality(v_rest)]), v_rest, 4::smallint, 4::smallint, p_reason, v_now);
        select array_agg(l.tid), array_agg(l.job_id) into v_rows, v_jobs
        from (select distinct u.job_id from unnest(v_rest) as u (job_id) order by u.job_id) u
        cross join lateral (
            select l.ctid as tid, l.job_id from live l
            where l.tenant_id = p_tenant and l.job_id = u.job_id and l.state + 0 = 1
            for update skip locked
        ) l;
        if v_rows is not null then
            perform close_attempts(v_rows, array_fill(4::smallint, array[cardinality(v_rows)]), null, null, null,
                array_fill(p_reason, array[cardinality(v_rows)]), 2::smallint, v_now);
            v_ended := v_ended || v_jobs;
            v_forced := v_forced || v_jobs;
        end if;
        v_rest := array(select j from unnest(v_rest) j where j <> all (v_ended) and is_active(p_tenant, j));
        exit when cardinality(v_rest) = 0;
    end loop;
    perform write_audit(p_tenant, 'force_cancel', 'job', j::text, p_reason,
        jsonb_build_object('state', case when j = any (v_forced) then 'running' else 'queued' end), '{"state": "canceled"}')
    from unnest(v_ended) j;
    return query
    select u.job_id, case when u.job_id = any (v_ended) then 'canceled' else x.answer end,
        case when u.job_id = any (v_ended) then 'canceled' else x.state end
    from unnest(p_jobs) with ordinality as u (job_id, place)
    cross join lateral explain_unchanged(p_tenant, u.job_id) x
    order by u.place;
end
$$;
comment on function force_cancel(uuid, uuid[], text)
is 'Super-admin: ends jobs and the leases of running ones; a later report of their workers is stale. Answers per job: canceled, ended, busy or not_found.';
