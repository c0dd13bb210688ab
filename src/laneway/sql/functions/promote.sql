-- What was not due becomes due, and what a verb could not decide is looked at again. One pass at a time; it waits for
-- nobody: what is held stays for the next pass.

create or replace function promote(p_jobs integer default 1000, out promoted integer, out handed_over integer, out next_due_at timestamptz)
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_now timestamptz := clock();
    v_rows tid[];
    v_queues integer[] := '{}';
begin
    perform require_read_committed();
    perform require_pass_size(p_jobs);
    promoted := 0;
    handed_over := 0;
    perform from pass_lock p where p.pass = 'promote' for update skip locked;
    if not found then
        return;
    end if;
    if (select count(*) from (select from later l where l.due_at <= v_now limit p_jobs + 1) d) > p_jobs then
        -- more is due than a pass takes: half of it in turns, or a million jobs of one tenant would keep the one of another
        v_rows := due_in_turns(p_jobs / 2, v_now);
        v_queues := make_due(v_rows);
        promoted := cardinality(v_rows);
    end if;
    v_rows := array(
        select l.ctid from later l where l.due_at <= v_now order by l.due_at limit p_jobs - promoted for update skip locked);
    v_queues := v_queues || make_due(v_rows);
    promoted := promoted + cardinality(v_rows);
    perform ring(v_queues) where v_queues <> '{}';
    perform turn_queues(p_jobs);
    handed_over := hand_over(p_jobs, v_now);
    select min(l.due_at) into next_due_at from later l where l.due_at > v_now;
end
$$;
comment on function promote(integer) is 'Makes up to this many due jobs ready, half of them in turns of tenants where more are due, and decides what was handed over; answers when the next job is due.';

-- Rows of later that an earlier statement has locked; answers the queues they are ready in.
create or replace function make_due(p_rows tid[]) returns integer[]
language plpgsql volatile
as $$
declare
    v_queues integer[];
begin
    with due as materialized (
        select l.*, q.is_strict, q.ageing_seconds
        from unnest(p_rows) as u (tid)
        cross join lateral (select l.ctid as tid, l.* from later l where l.ctid = u.tid offset 0) l
        join queue q on q.queue_id = l.queue_id
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
    select coalesce(array_agg(distinct g.queue_id), '{}') into v_queues from gone g;
    return v_queues;
end
$$;
comment on function make_due(tid[]) is 'Makes parked jobs ready whose rows are locked; answers their queues.';

-- Behind the tenant where the last such look ended: up to 256 tenants that have something parked, 20 due jobs of each.
create or replace function due_in_turns(p_jobs integer, p_now timestamptz) returns tid[]
language plpgsql volatile
as $$
declare
    v_start uuid := (select coalesce(p.reached, before_all_tenants()) from pass_lock p where p.pass = 'promote');
    v_at uuid := v_start;
    v_is_second boolean := false;
    v_next record;
    v_rows tid[] := '{}';
begin
    for v_hop in 1..256 loop
        exit when cardinality(v_rows) >= p_jobs;
        select l.tenant_id, l.due_at into v_next from later l where l.tenant_id > v_at order by l.tenant_id, l.due_at limit 1;
        if v_is_second and (v_next.tenant_id is null or v_next.tenant_id > v_start) then
            exit;
        elsif v_next.tenant_id is null then
            v_is_second := true;
            v_at := before_all_tenants();
            continue;
        end if;
        v_at := v_next.tenant_id;
        if v_next.due_at <= p_now then
            v_rows := v_rows || array(
                select l.ctid
                from later l
                where l.tenant_id = v_at and l.due_at <= p_now
                order by l.due_at
                limit least(20, p_jobs - cardinality(v_rows))
                for update skip locked);
        end if;
    end loop;
    update pass_lock p set reached = v_at where p.pass = 'promote';
    return v_rows;
end
$$;
comment on function due_in_turns(integer, timestamptz) is 'Locks due jobs, a few of each tenant, going on where the last call ended.';

-- Tenants in turns, behind the one where the last pass had to stop, 50 rows of each: one that holds all its jobs in an open
-- transaction hides no other. What cannot be decided goes to the end of its tenant's line. An open enqueue of a key costs
-- 5 ms to find out; three tenants may cost that much in a pass.
create or replace function hand_over(p_jobs integer, p_now timestamptz) returns integer
language plpgsql volatile
as $$
declare
    v_start uuid := (select coalesce(p.reached, before_all_tenants()) from pass_lock p where p.pass = 'handover');
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
            v_at := before_all_tenants();
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
    if v_looked >= p_jobs or v_slow >= 3 then
        update pass_lock p set reached = v_at where p.pass = 'handover';
    end if;
    return v_done;
end
$$;
comment on function hand_over(integer, timestamptz) is 'Decides up to this many of what was handed over, tenants in turns; answers how many were decided.';
