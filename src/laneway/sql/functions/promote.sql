-- What was not due becomes due, and what a verb could not decide is looked at again. One pass at a time; it waits for
-- nobody: what is held stays for the next pass.

create or replace function promote(p_jobs integer default 1000, out promoted integer, out handed_over integer, out next_due_at timestamptz)
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_now timestamptz := clock();
    v_queues integer[];
begin
    perform require_read_committed();
    perform require_pass_size(p_jobs);
    promoted := 0;
    handed_over := 0;
    perform from pass_lock p where p.pass = 'promote' for update skip locked;
    if not found then
        return;
    end if;
    with due as materialized (
        select l.ctid as tid, l.*, q.is_strict, q.ageing_seconds
        from later l
        join queue q on q.queue_id = l.queue_id
        where l.due_at <= v_now
        order by l.due_at
        limit p_jobs
        for update of l skip locked
    ),
    gone as (delete from later l using due d where l.ctid = d.tid returning d.*),
    ready as (
        insert into live (rank, ready_at, tenant_id, job_id, queue_id, def_id, attempt, max_attempts, priority, releases, state, is_strict,
            is_cancel_requested, is_keyed, expires_at, timeout_seconds)
        select g.due_at + make_interval(secs => g.priority::double precision * g.ageing_seconds), g.due_at, g.tenant_id, g.job_id,
            g.queue_id, g.def_id, g.attempt, g.max_attempts, g.priority, g.releases, 0, g.is_strict, false, g.is_keyed, g.expires_at,
            g.timeout_seconds
        from gone g
    )
    select count(*), array_agg(distinct g.queue_id) into promoted, v_queues from gone g;
    if v_queues is not null then
        perform ring(v_queues);
    end if;
    perform turn_queues(p_jobs);
    handed_over := hand_over(p_jobs, v_now);
    select min(l.due_at) into next_due_at from later l where l.due_at > v_now;
end
$$;
comment on function promote(integer) is 'Makes up to this many due jobs ready, and decides what was handed over; answers when the next job is due.';

-- Tenants in turns, from anywhere in the ring, 50 rows of each: one that holds all its jobs in an open transaction hides no
-- other. What cannot be decided goes to the end of its tenant's line. An open enqueue of a key costs 5 ms to find out; three
-- tenants may cost that much in a pass.
create or replace function hand_over(p_jobs integer, p_now timestamptz) returns integer
language plpgsql volatile
as $$
declare
    c_first constant uuid := '00000000-0000-0000-0000-000000000000';
    v_start uuid := gen_random_uuid();
    v_at uuid := v_start;
    v_is_second boolean := false;
    v_tenant uuid;
    v_row record;
    v_is_done boolean;
    v_looked integer := 0;
    v_done integer := 0;
    v_slow integer := 0;
begin
    while v_looked < p_jobs and v_slow < 3 loop
        v_tenant := (select h.tenant_id from handover h where h.tenant_id > v_at order by h.tenant_id limit 1);
        if v_is_second and (v_tenant is null or v_tenant > v_start) then
            exit;
        elsif v_tenant is null then
            v_is_second := true;
            v_at := c_first;
            continue;
        end if;
        v_at := v_tenant;
        for v_row in
            select h.ctid as tid, h.def_id, h.key
            from handover h
            where h.tenant_id = v_tenant
            order by h.id
            limit least(50, p_jobs - v_looked)
            for update skip locked
        loop
            v_looked := v_looked + 1;
            delete from handover h where h.ctid = v_row.tid;
            v_is_done := hand_over_key(v_tenant, v_row.def_id, v_row.key, p_now);
            if v_is_done then
                v_done := v_done + 1;
            else
                insert into handover (tenant_id, id, kind, def_id, key) values (v_tenant, new_id(), 1, v_row.def_id, v_row.key);
            end if;
            if v_is_done is null then
                v_slow := v_slow + 1;
                exit;
            end if;
        end loop;
    end loop;
    return v_done;
end
$$;
comment on function hand_over(integer, timestamptz) is 'Decides up to this many of what was handed over, tenants in turns; answers how many were decided.';
