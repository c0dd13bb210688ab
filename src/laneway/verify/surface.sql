-- What an observer may know of jobs, as plain relations: these CTEs stand before each invariant. Nothing is installed,
-- nothing of ours is called, so that it runs on a standby and for any login that may read the tables. When tables
-- change, this file changes and the invariants stay.

-- every row that says where a job is: exactly one per job that has not ended
o_place as (
    select l.tenant_id, l.job_id, l.def_id, l.queue_id, 'live' as place,
        case l.state when 0 then 'ready' when 1 then 'running' else 'unknown' end as phase,
        l.attempt, l.max_attempts, l.releases, l.is_keyed, l.expires_at, l.is_cancel_requested,
        l.worker_id, l.started_at, l.until, l.deadline
    from live l
    union all
    select l.tenant_id, l.job_id, l.def_id, l.queue_id, 'later',
        'parked', l.attempt, l.max_attempts, l.releases, l.is_keyed, l.expires_at, false, null, null, null, null
    from later l
    union all
    select w.tenant_id, w.job_id, w.def_id, w.queue_id, 'waiting',
        'waiting', 0, w.max_attempts, 0, w.is_keyed, w.expires_at, false, null, null, null, null
    from waiting w
),
-- attempts, the open ones included; row 0, the word that ends a job without an attempt, is none
o_attempt as (
    select a.tenant_id, a.job_id, a.def_id, a.queue_id, a.attempt, a.worker_id, a.started_at, a.ended_at,
        case a.outcome when 1 then 'succeeded' when 2 then 'failed' when 3 then 'timeout' when 4 then 'canceled'
            when 5 then 'lost' when 6 then 'released' when 7 then 'snoozed' else 'unknown' end as outcome,
        case when a.final_state is not null then
            case a.final_state when 1 then 'succeeded' when 2 then 'failed' when 3 then 'dead_letter' when 4 then 'canceled'
                else 'unknown' end
        end as final_state,
        case when a.ended_by is null then 'owner' else case a.ended_by when 1 then 'sweep' when 2 then 'operator' else 'unknown' end
        end as ended_by
    from attempt a
    where a.attempt > 0
    union all
    select l.tenant_id, l.job_id, l.def_id, l.queue_id, l.attempt, l.worker_id, l.started_at, null, 'running', null, null
    from live l
    where l.state = 1
),
-- ends and retries: an end without an attempt (number 0) is forgotten by the retry that follows it
o_transition as (
    select a.tenant_id, a.job_id, 'ended' as kind, a.attempt, a.ended_at as at,
        case a.final_state when 1 then 'succeeded' when 2 then 'failed' when 3 then 'dead_letter' when 4 then 'canceled'
            else 'unknown' end as state,
        case a.outcome when 1 then 'succeeded' when 2 then 'failed' when 3 then 'timeout' when 4 then 'canceled'
            when 5 then 'lost' when 6 then 'released' when 7 then 'snoozed' else 'unknown' end as outcome,
        a.reason
    from attempt a
    where a.final_state is not null or a.attempt = 0
    union all
    select u.tenant_id, case when u.target_kind = 'job' then u.target::uuid end, 'retried', (u.before ->> 'attempt')::integer, u.at,
        u.before ->> 'state', null, u.reason
    from audit u
    where u.verb = 'retry' and u.target_kind = 'job'
),
o_job as (
    select j.tenant_id, j.id as job_id, j.def_id, j.queue_id, j.max_attempts, j.timeout_seconds, j.dedupe_key, j.rerun_of, j.parent_id
    from job j
),
o_key as (
    select k.tenant_id, k.def_id, k.key, k.job_id, k.until, k.is_ended,
        case k.kind when 0 then 'active' when 1 then 'successor' when 2 then 'idempotency' else 'unknown' end as kind
    from job_key k
),
o_audit as (
    select u.tenant_id, u.id, u.at, u.actor, u.verb, u.target_kind, u.target, u.reason, u.before, u.after
    from audit u
)
