-- What is queued gets another time. A job moves between tables meanwhile: each place is looked at in a statement of its own.

create or replace function reschedule(
    p_tenant uuid, p_jobs uuid[], p_run_at timestamptz default null, p_delay_seconds double precision default null,
    p_reason text default null, p_token text default null
) returns table (job_id uuid, answer text, state text)
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_actor text := require_tenant('o', p_tenant, p_token);
    v_now timestamptz := clock();
begin
    perform require_job_list(p_jobs, p_reason);
    if num_nonnulls(p_run_at, p_delay_seconds) = 0 then
        perform refuse('required', 'p_run_at', null, 'Give p_run_at or p_delay_seconds, one of them.');
    end if;
    if num_nonnulls(p_run_at, p_delay_seconds) = 2 then
        perform refuse('conflict', 'p_delay_seconds', p_delay_seconds::text, 'Give p_run_at or p_delay_seconds, one of them.');
    end if;
    if not coalesce(p_delay_seconds, 0) between 0 and 315360000 then
        perform refuse('out_of_range', 'p_delay_seconds', p_delay_seconds::text, 'Use 0 to 315360000 (ten years).');
    end if;
    if not coalesce(p_run_at, v_now) between v_now - interval '10 years' and v_now + interval '10 years' then
        perform refuse('out_of_range', 'p_run_at', p_run_at::text, 'Use a time within ten years.');
    end if;
    return query
    select * from move_queued(p_tenant, p_jobs, coalesce(p_run_at, v_now + make_interval(secs => p_delay_seconds)), v_now,
        'reschedule', v_actor, p_reason);
end
$$;
comment on function reschedule(uuid, uuid[], timestamptz, double precision, text, text)
is 'Gives queued jobs another time. Answers per job: queued, running (it cannot), ended, busy or not_found.';

create or replace function run_now(p_tenant uuid, p_jobs uuid[], p_reason text default null, p_token text default null)
returns table (job_id uuid, answer text, state text)
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_actor text := require_tenant('o', p_tenant, p_token);
    v_now timestamptz := clock();
begin
    perform require_job_list(p_jobs, p_reason);
    return query
    select * from move_queued(p_tenant, p_jobs, v_now, v_now, 'run_now', v_actor, p_reason);
end
$$;
comment on function run_now(uuid, uuid[], text, text) is 'Makes queued jobs due at once. Answers per job as reschedule does.';

create or replace function move_queued(
    p_tenant uuid, p_jobs uuid[], p_due timestamptz, p_now timestamptz, p_verb text, p_actor text, p_reason text
) returns table (job_id uuid, answer text, state text)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    v_rest uuid[] := p_jobs;
    v_done uuid[] := '{}';
    v_moved uuid[] := '{}';
    v_dues timestamptz[] := '{}';
    v_part record;
begin
    for v_try in 1..3 loop
        for v_place in 1..3 loop
            exit when cardinality(v_rest) = 0;
            case v_place
                when 1 then select m.* into v_part from move_live(p_tenant, v_rest, p_due, p_now) m;
                when 2 then select m.* into v_part from move_later(p_tenant, v_rest, p_due, p_now) m;
                else select m.* into v_part from move_waiting(p_tenant, v_rest, greatest(p_due, p_now)) m;
            end case;
            v_done := v_done || v_part.unmoved || v_part.moved;
            v_moved := v_moved || v_part.moved;
            v_dues := v_dues || v_part.dues;
            -- what was parked a moment ago is not to be found again in the next place
            v_rest := array(select j from unnest(v_rest) j where j <> all (v_done));
        end loop;
        v_rest := array(select j from unnest(v_rest) j where is_active(p_tenant, j));
        exit when cardinality(v_rest) = 0;
    end loop;
    perform write_audit(p_tenant, p_verb, 'job', m.job_id::text, p_reason, jsonb_build_object('run_at', m.due_at),
        jsonb_build_object('run_at', greatest(p_due, p_now)), p_actor)
    from unnest(v_moved, v_dues) as m (job_id, due_at);
    if cardinality(v_moved) > 0 and p_due <= p_now then
        perform ring(array(select distinct l.queue_id from unnest(v_moved) j join live l on l.tenant_id = p_tenant and l.job_id = j));
    end if;
    return query
    select u.job_id,
        case when u.job_id = any (v_done) then 'queued' when x.state = 'running' then 'running' else x.answer end,
        case when u.job_id = any (v_done) then 'queued' else x.state end
    from unnest(p_jobs) with ordinality as u (job_id, place)
    cross join lateral explain_unchanged(p_tenant, u.job_id) x
    order by u.place;
end
$$;
comment on function move_queued(uuid, uuid[], timestamptz, timestamptz, text, text, text) is 'Gives queued jobs another time, wherever they stand.';

-- Answers the jobs that it moved, when each was due before, and those that are where they were asked to be: a job that is
-- ready keeps its place when it is made due at once.
create or replace function move_live(
    p_tenant uuid, p_jobs uuid[], p_due timestamptz, p_now timestamptz, out moved uuid[], out dues timestamptz[], out unmoved uuid[]
)
language plpgsql volatile
as $$
begin
    with held as materialized (
        select l.* from (select distinct u.job_id from unnest(p_jobs) as u (job_id) order by u.job_id) u
        cross join lateral (
            select l.ctid as tid, l.* from live l
            where l.tenant_id = p_tenant and l.job_id = u.job_id and l.state + 0 = 0
            for update skip locked
        ) l
    ),
    gone as (delete from live l using held h where l.ctid = h.tid and p_due > p_now returning h.*),
    parked as (
        insert into later (due_at, tenant_id, job_id, queue_id, def_id, attempt, max_attempts, priority, releases, is_keyed, expires_at,
            timeout_seconds)
        select p_due, g.tenant_id, g.job_id, g.queue_id, g.def_id, g.attempt, g.max_attempts, g.priority, g.releases, g.is_keyed,
            g.expires_at, g.timeout_seconds
        from gone g
    )
    select coalesce((select array_agg(g.job_id order by g.job_id) from gone g), '{}'),
        coalesce((select array_agg(g.ready_at order by g.job_id) from gone g), '{}'),
        coalesce((select array_agg(h.job_id) from held h where p_due <= p_now), '{}')
    into moved, dues, unmoved;
end
$$;
comment on function move_live(uuid, uuid[], timestamptz, timestamptz) is 'Parks ready jobs until another time.';

create or replace function move_later(
    p_tenant uuid, p_jobs uuid[], p_due timestamptz, p_now timestamptz, out moved uuid[], out dues timestamptz[], out unmoved uuid[]
)
language plpgsql volatile
as $$
begin
    unmoved := '{}';
    with held as materialized (
        select l.*, q.is_strict, q.ageing_seconds
        from (select distinct u.job_id from unnest(p_jobs) as u (job_id) order by u.job_id) u
        cross join lateral (
            select l.ctid as tid, l.* from later l
            where l.tenant_id = p_tenant and l.job_id = u.job_id
            for update skip locked
        ) l
        join queue q on q.queue_id = l.queue_id
    ),
    gone as (delete from later l using held h where l.ctid = h.tid and p_due <= p_now returning h.*),
    put_off as (update later l set due_at = p_due from held h where l.ctid = h.tid and p_due > p_now returning h.job_id, h.due_at),
    ready as (
        insert into live (rank, ready_at, tenant_id, job_id, queue_id, def_id, attempt, max_attempts, priority, releases, state, is_strict,
            is_cancel_requested, is_keyed, expires_at, timeout_seconds)
        select p_now + make_interval(secs => g.priority::double precision * g.ageing_seconds), p_now, g.tenant_id, g.job_id, g.queue_id,
            g.def_id, g.attempt, g.max_attempts, g.priority, g.releases, 0, g.is_strict, false, g.is_keyed, g.expires_at, g.timeout_seconds
        from gone g
    )
    -- what was written, not what was held: a row that changed since this statement began is looked at once more
    select coalesce(array_agg(m.job_id order by m.job_id), '{}'), coalesce(array_agg(m.due_at order by m.job_id), '{}') into moved, dues
    from (select g.job_id, g.due_at from gone g union all select p.job_id, p.due_at from put_off p) m;
end
$$;
comment on function move_later(uuid, uuid[], timestamptz, timestamptz) is 'Gives parked jobs another time, or makes them ready.';

create or replace function move_waiting(
    p_tenant uuid, p_jobs uuid[], p_due timestamptz, out moved uuid[], out dues timestamptz[], out unmoved uuid[]
)
language plpgsql volatile
as $$
declare
    v_rows tid[];
begin
    unmoved := '{}';
    select array_agg(w.tid), coalesce(array_agg(w.job_id order by w.job_id), '{}'), coalesce(array_agg(w.run_at order by w.job_id), '{}')
    into v_rows, moved, dues
    from (select distinct u.job_id from unnest(p_jobs) as u (job_id) order by u.job_id) u
    cross join lateral (
        select w.ctid as tid, w.job_id, w.run_at from waiting w
        where w.tenant_id = p_tenant and w.job_id = u.job_id
        for update skip locked
    ) w;
    update waiting w set run_at = p_due where w.ctid = any (v_rows);
end
$$;
comment on function move_waiting(uuid, uuid[], timestamptz) is 'Gives jobs that wait for another one another time.';
