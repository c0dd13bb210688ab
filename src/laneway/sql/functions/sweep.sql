-- Leases that are over end here and nowhere else: a lease ends when it is swept, not when time passes. One pass at a
-- time. Rows that somebody holds are skipped; a row on which the pass fails is left alone for a growing time, so that a
-- full batch of such rows at the front hides nobody.

create or replace function sweep(p_jobs integer default 1000, out swept integer, out lost integer, out timed_out integer, out failed integer)
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_now timestamptz := clock();
    v_rows tid[];
    v_outcomes smallint[];
    v_tenants uuid[];
    v_jobs uuid[];
begin
    perform require_read_committed();
    perform require_pass_size(p_jobs);
    swept := 0; lost := 0; timed_out := 0; failed := 0;
    perform from pass_lock p where p.pass = 'sweep' for update skip locked;
    if not found then
        return;
    end if;
    select array_agg(h.tid), array_agg(h.outcome), array_agg(h.tenant_id), array_agg(h.job_id)
    into v_rows, v_outcomes, v_tenants, v_jobs
    from (
        select l.ctid as tid, case when l.deadline <= v_now then 3 else 5 end::smallint as outcome, l.tenant_id, l.job_id
        from live l
        where l.state = 1 and l.until <= v_now
            and not exists (
                select from stuck s where s.tenant_id = l.tenant_id and s.job_id = l.job_id and s.not_before > v_now
            )
        limit p_jobs
        for update of l skip locked
    ) h;
    if v_rows is null then
        return;
    end if;
    begin
        perform sweep_rows(v_rows, v_outcomes, v_now);
        swept := cardinality(v_rows);
    exception when others then
        -- one by one: whatever is wrong with one row is no matter of the others
        for i in 1..cardinality(v_rows) loop
            begin
                perform sweep_rows(array[v_rows[i]], array[v_outcomes[i]], v_now);
                swept := swept + 1;
            exception when others then
                failed := failed + 1;
                v_outcomes[i] := 0;
                insert into stuck as s (tenant_id, job_id, failures, not_before, error)
                values (v_tenants[i], v_jobs[i], 1, v_now + interval '10 seconds', left(sqlstate || ': ' || sqlerrm, 500))
                on conflict (tenant_id, job_id) do update
                set failures = s.failures + 1,
                    not_before = v_now + make_interval(secs => least(3600, 10 * power(2, least(s.failures, 20)))),
                    error = excluded.error;
            end;
        end loop;
    end;
    select count(*) filter (where o = 5), count(*) filter (where o = 3) into lost, timed_out from unnest(v_outcomes) o;
    delete from stuck s using unnest(v_tenants, v_jobs, v_outcomes) as u (tenant_id, job_id, outcome)
    where s.tenant_id = u.tenant_id and s.job_id = u.job_id and u.outcome <> 0;
end
$$;
comment on function sweep(integer) is 'Ends up to this many leases that are over: attempts become lost, or timeout past their deadline. Any process may call it; one pass runs at a time.';

-- A lost attempt goes on within a second (spread, so that a dead worker's jobs do not return as one wave); one that ran
-- out of its time waits as any failure does.
create or replace function sweep_rows(p_rows tid[], p_outcomes smallint[], p_now timestamptz) returns void
language plpgsql volatile
as $$
begin
    perform close_attempts(p_rows, p_outcomes, null,
        array(select case when u.outcome = 5 then random() end from unnest(p_outcomes) with ordinality as u (outcome, place) order by u.place),
        null,
        array(select case when u.outcome = 5 then 'lease over: its worker was not heard of' else 'deadline over' end
            from unnest(p_outcomes) with ordinality as u (outcome, place) order by u.place),
        1::smallint, p_now);
end
$$;
comment on function sweep_rows(tid[], smallint[], timestamptz) is 'Ends leases whose rows the sweep has locked.';

create or replace function require_pass_size(p_jobs integer) returns void
language plpgsql immutable
as $$
begin
    if p_jobs is null or p_jobs not between 1 and 10000 then
        perform refuse('out_of_range', 'p_jobs', p_jobs::text, 'Use 1 to 10000.');
    end if;
end
$$;
comment on function require_pass_size(integer) is 'Refuses a pass of a size that would not be short.';

create or replace function expire(p_jobs integer default 1000) returns integer
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_now timestamptz := clock();
    v_tenants uuid[];
    v_jobs uuid[];
begin
    perform require_read_committed();
    perform require_pass_size(p_jobs);
    perform from pass_lock p where p.pass = 'expire' for update skip locked;
    if not found then
        return 0;
    end if;
    -- locked here: rows that somebody holds at the front must not hide the rest
    with ready as (
        select l.tenant_id, l.job_id from live l
        where l.expires_at is not null and l.expires_at <= v_now and l.state <> 1
        order by l.expires_at limit p_jobs for update skip locked
    ),
    parked as (
        select l.tenant_id, l.job_id from later l
        where l.expires_at is not null and l.expires_at <= v_now
        order by l.expires_at limit p_jobs for update skip locked
    ),
    blocked as (
        select w.tenant_id, w.job_id from waiting w
        where w.expires_at is not null and w.expires_at <= v_now
        order by w.expires_at limit p_jobs for update skip locked
    )
    select array_agg(e.tenant_id), array_agg(e.job_id) into v_tenants, v_jobs
    from (table ready union all table parked union all table blocked) e;
    -- an open enqueue may be taking such a key over: it is left alone
    with over as materialized (
        select k.ctid as tid from job_key k where k.is_ended and k.until <= v_now limit p_jobs for update skip locked
    )
    delete from job_key k using over o where k.ctid = o.tid;
    if v_jobs is null then
        return 0;
    end if;
    return cardinality(end_queued(v_tenants, v_jobs, 2::smallint, 2::smallint, 'expired before it could start', v_now));
end
$$;
comment on function expire(integer) is 'Ends up to this many jobs that did not start in time as failed, and forgets dedupe windows that are over.';
