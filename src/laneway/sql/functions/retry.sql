-- What has ended goes on: as the same job (retry: its attempt number goes on), or as a new one (run_again).

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
