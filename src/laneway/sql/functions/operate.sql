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

create or replace function retry(p_tenant uuid, p_jobs uuid[], p_reason text default null, p_token text default null)
returns table (job_id uuid, answer text, state text, active_twin uuid)
language plpgsql volatile security definer set search_path from current
as $$
#variable_conflict use_column
declare
    v_actor text := require_tenant('o', p_tenant, p_token);
    v_now timestamptz := clock();
    v_job uuid;
begin
    perform require_job_list(p_jobs, p_reason);
    foreach v_job in array p_jobs loop
        return query
        select v_job, r.answer, r.state, r.active_twin from retry_one(p_tenant, v_job, v_actor, p_reason, v_now) r;
    end loop;
end
$$;
comment on function retry(uuid, uuid[], text, text)
is 'Makes failed, dead_letter and canceled jobs ready again; the attempt number goes on. Answers per job: queued, active, succeeded (use run_again), conflict with active_twin, busy or not_found.';

create or replace function retry_one(
    p_tenant uuid, p_job uuid, p_actor text, p_reason text, p_now timestamptz, out answer text, out state text, out active_twin uuid
)
language plpgsql volatile
as $$
declare
    v_held record;
    v_final record;
    v_job job;
    v_queue queue;
    v_attempt integer;
    v_snoozes integer;
    v_releases smallint;
    v_free smallint := (select s.free_releases from setting s);
begin
    -- the row that carries the end is what two retries meet at; the others are read once it is held, the state first: what
    -- ended before that look, with this row as the last, stays so
    select a.attempt, a.def_id into v_held
    from attempt a
    where a.tenant_id = p_tenant and a.job_id = p_job
    order by (a.attempt = 0) desc, a.attempt desc
    limit 1
    for update skip locked;
    state := state_of(p_tenant, p_job);
    select a.attempt, a.def_id, a.final_state into v_final
    from attempt a
    where a.tenant_id = p_tenant and a.job_id = p_job
    order by (a.attempt = 0) desc, a.attempt desc
    limit 1;
    if state is null then
        answer := 'not_found';
        return;
    elsif state in ('queued', 'running') then
        answer := 'active';
        return;
    elsif v_held.attempt is distinct from v_final.attempt or state is distinct from state_word(v_final.final_state) then
        -- somebody holds the row, or the job ended a moment ago, behind the row that is held here
        answer := 'busy';
        return;
    elsif v_final.final_state = 1 then
        answer := 'succeeded';
        return;
    end if;
    select j.* into v_job from job j where j.tenant_id = p_tenant and j.def_id = v_final.def_id and j.id = p_job;
    select q.* into v_queue from queue q where q.queue_id = v_job.queue_id;
    if v_job.dedupe_key is not null then
        active_twin := take_free_key(p_tenant, v_job.def_id, v_job.dedupe_key, p_job, null);
        if active_twin is distinct from p_job then
            answer := case when active_twin is null then 'busy' else 'conflict' end;
            return;
        end if;
        active_twin := null;
    end if;
    delete from attempt a where a.tenant_id = p_tenant and a.job_id = p_job and a.attempt = 0;
    -- written, not only locked: a retry under an older snapshot, which would not see this one, meets a newer version
    update attempt a set ended_at = a.ended_at where a.tenant_id = p_tenant and a.job_id = p_job and a.attempt = v_held.attempt and a.attempt > 0;
    select coalesce(max(a.attempt), 0), (count(*) filter (where a.outcome = 7))::integer, (count(*) filter (where a.outcome = 6))::smallint
    into v_attempt, v_snoozes, v_releases
    from attempt a where a.tenant_id = p_tenant and a.job_id = p_job;
    insert into live (rank, ready_at, tenant_id, job_id, queue_id, def_id, attempt, max_attempts, priority, releases, state, is_strict,
        is_cancel_requested, is_keyed, timeout_seconds)
    values (p_now + make_interval(secs => v_job.priority::double precision * v_queue.ageing_seconds), p_now, p_tenant, p_job, v_job.queue_id,
        v_job.def_id, v_attempt, greatest(v_job.max_attempts + v_snoozes + least(v_releases, v_free), v_attempt + 1), v_job.priority,
        v_releases, 0, v_queue.is_strict, false,
        exists (select from job_key k where k.tenant_id = p_tenant and k.job_id = p_job), v_job.timeout_seconds);
    perform write_audit(p_tenant, 'retry', 'job', p_job::text, p_reason, jsonb_build_object('state', state, 'attempt', v_attempt),
        jsonb_build_object('state', 'queued'), p_actor);
    perform ring(array[v_job.queue_id]);
    state := 'queued';
    answer := 'queued';
end
$$;
comment on function retry_one(uuid, uuid, text, text, timestamptz) is 'Makes one ended job ready again.';

create or replace function run_again(p_tenant uuid, p_job uuid, p_payload jsonb default null, p_reason text default null, p_token text default null)
returns table (job_id uuid, created boolean, refusal text, field text, value text, hint text)
language plpgsql volatile security definer set search_path from current
as $$
#variable_conflict use_column
declare
    v_actor text := require_tenant('o', p_tenant, p_token);
    v_job record;
    v_new record;
begin
    perform require_reason(p_reason);
    select j.*, d.key into v_job
    from definition d
    join job j on j.tenant_id = p_tenant and j.def_id = d.def_id and j.id = p_job;
    if v_job.id is null then
        return query values (null::uuid, false, 'unknown', 'job', p_job::text, 'Name a job of this tenant.');
        return;
    end if;
    select * into v_new
    from put_jobs(p_tenant, 0::smallint, v_actor, null, p_job, array[v_job.key], array[coalesce(p_payload, v_job.payload)],
        array[v_job.priority::integer], null, null, null, array[v_job.max_attempts], array[v_job.timeout_seconds], null, null, null, null,
        array[v_job.labels], array[v_job.correlation_id], array[v_job.trace_id], array[v_job.source_ref]) n;
    if v_new.created then
        perform write_audit(p_tenant, 'run_again', 'job', p_job::text, p_reason, null, jsonb_build_object('job', v_new.job_id), v_actor);
    end if;
    return query values (v_new.job_id, v_new.created, v_new.refusal, v_new.field, v_new.value, v_new.hint);
end
$$;
comment on function run_again(uuid, uuid, jsonb, text, text) is 'A new job from an old one, with its payload or another; rerun_of names the old one. Keys are not taken over.';

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
    if num_nonnulls(p_run_at, p_delay_seconds) <> 1 then
        perform refuse('required', 'p_run_at', null, 'Give p_run_at or p_delay_seconds, one of them.');
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
