-- What was not due becomes due, and what a verb could not decide is looked at again. One pass at a time; it waits for
-- nobody: what is held stays for the next pass.

create or replace function promote(p_jobs integer default 1000, out promoted integer, out handed_over integer, out next_due_at timestamptz)
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_now timestamptz := clock();
    v_queues integer[];
    v_handover record;
    v_is_done boolean;
    v_slow uuid[] := '{}';
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
    -- behind what is due: an open enqueue of a key costs 5 ms here. Three tenants may cost that much in a pass; what else
    -- those three have goes to the end of the line unlooked at, so that the next pass begins with others
    for v_handover in
        select h.ctid as tid, h.tenant_id, h.def_id, h.key from handover h order by h.id limit p_jobs for update skip locked
    loop
        continue when cardinality(v_slow) = 3 and v_handover.tenant_id <> all (v_slow);
        delete from handover h where h.ctid = v_handover.tid;
        v_is_done := case when v_handover.tenant_id <> all (v_slow)
            then hand_over_key(v_handover.tenant_id, v_handover.def_id, v_handover.key, v_now) else false end;
        if v_is_done then
            handed_over := handed_over + 1;
        else
            -- to the end of the line: a key that is held hides no other
            insert into handover (tenant_id, id, kind, def_id, key)
            values (v_handover.tenant_id, new_id(), 1, v_handover.def_id, v_handover.key);
        end if;
        if v_is_done is null then
            v_slow := v_slow || v_handover.tenant_id;
        end if;
    end loop;
    select min(l.due_at) into next_due_at from later l where l.due_at > v_now;
end
$$;
comment on function promote(integer) is 'Makes up to this many due jobs ready, and decides what was handed over; answers when the next job is due.';
