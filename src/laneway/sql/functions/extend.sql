-- Leases are kept. 1 ok, 2 cancel (somebody asked for it: the lease is moved all the same), 0 stale, 3 busy (not moved,
-- say it again). Never past the deadline and its grace: a handler that does not end would keep its job for ever.

create or replace function extend(
    p_worker uuid, p_tenants uuid[], p_jobs uuid[], p_attempts integer[], p_lease_seconds integer default null
) returns smallint[]
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_count integer := cardinality(p_jobs);
    v_now timestamptz := clock();
    v_lease interval;
    v_grace interval;
    v_rows tid[];
    v_answers smallint[];
begin
    perform require_read_committed();
    perform require_parallel('p_jobs', v_count, array[array_dims(p_jobs), coalesce(array_dims(p_tenants), 'none'),
        coalesce(array_dims(p_attempts), 'none')]);
    select make_interval(secs => coalesce(p_lease_seconds, s.lease_seconds)), make_interval(secs => s.kill_grace_seconds)
    into v_lease, v_grace
    from setting s;
    if not coalesce(p_lease_seconds, 60) between 5 and 3600 then
        perform refuse('out_of_range', 'p_lease_seconds', p_lease_seconds::text, 'Use 5 to 3600.');
    end if;
    select array_agg(l.tid), array_agg(l.answer order by u.place)
    into v_rows, v_answers
    from (
        select * from unnest(p_tenants, p_jobs, p_attempts) with ordinality as u (tenant_id, job_id, attempt, place)
        order by u.tenant_id, u.job_id
    ) u
    left join lateral (
        select l.ctid as tid, case when l.is_cancel_requested then 2 else 1 end::smallint as answer
        from live l
        where l.tenant_id = u.tenant_id and l.job_id = u.job_id and l.attempt = u.attempt and l.worker_id = p_worker
            and l.state + 0 = 1
        for update skip locked
    ) l on true;
    update live l
    set until = least(v_now + v_lease, l.deadline + v_grace)
    where l.ctid = any (v_rows);
    perform note_worker(p_worker, v_now);
    if array_position(v_answers, null) is null then
        return coalesce(v_answers, '{}');
    end if;
    return array(
        select coalesce(u.answer, (
            select 3::smallint from live l
            where l.tenant_id = u.tenant_id and l.job_id = u.job_id and l.attempt = u.attempt and l.worker_id = p_worker
                and l.state + 0 = 1), 0::smallint)
        from unnest(p_tenants, p_jobs, p_attempts, v_answers) with ordinality as u (tenant_id, job_id, attempt, answer, place)
        order by u.place);
end
$$;
comment on function extend(uuid, uuid[], uuid[], integer[], integer)
is 'Moves the leases of these attempts. Answers per item: 1 ok, 2 cancel, 0 stale, 3 busy.';
