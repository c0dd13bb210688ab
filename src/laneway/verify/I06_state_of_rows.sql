-- I6 state_of_rows: a job runs exactly when it has an owner, a lease and a deadline; one that ended has a last word that fits its state; one that waits has what will wake it.
with woken as (
    select k.tenant_id, k.def_id, k.key from o_key k where k.kind = 'active' and not k.is_ended
    union all
    select h.tenant_id, h.def_id, h.key from handover h
)
select p.tenant_id, p.job_id, p.phase as state, p.attempt, null as outcome,
    case
        when p.phase = 'unknown' then 'is in a state that is none'
        when p.phase = 'running' then 'runs without owner, lease or deadline'
        when p.is_cancel_requested then 'is to be canceled, and does not run'
        else 'has an owner, lease or deadline, and does not run'
    end as wrong
from o_place p
where p.phase = 'unknown'
    or (p.phase = 'running') <> (num_nonnulls(p.worker_id, p.started_at, p.until, p.deadline) = 4)
    or (p.phase <> 'running' and (num_nonnulls(p.worker_id, p.started_at, p.until, p.deadline) > 0 or p.is_cancel_requested))
union all
select p.tenant_id, p.job_id, p.phase, p.attempt, null, 'has started, and may still expire'
from o_place p
where p.attempt > 0 and p.expires_at is not null
union all
select a.tenant_id, a.job_id, a.final_state, a.attempt, a.outcome, 'has an outcome that does not lead to this state'
from o_attempt a
where a.ended_at is not null and not case a.outcome
    when 'succeeded' then coalesce(a.final_state = 'succeeded', false)
    when 'failed' then coalesce(a.final_state in ('failed', 'dead_letter', 'canceled'), true)
    when 'timeout' then coalesce(a.final_state in ('failed', 'dead_letter', 'canceled'), true)
    when 'canceled' then coalesce(a.final_state = 'canceled', false)
    when 'lost' then coalesce(a.final_state in ('dead_letter', 'canceled'), true)
    when 'released' then coalesce(a.final_state in ('dead_letter', 'canceled'), true)
    when 'snoozed' then coalesce(a.final_state = 'canceled', true)
    else false
end
union all
select t.tenant_id, t.job_id, t.state, t.attempt, t.outcome, 'ended without an attempt, and neither canceled nor expired'
from o_transition t
where t.kind = 'ended' and t.attempt = 0 and (t.state, t.outcome) not in (('canceled', 'canceled'), ('failed', 'failed'))
union all
select p.tenant_id, p.job_id, p.phase, null, null, 'waits, and nothing will wake it'
from o_place p
where p.phase = 'waiting' and not exists (
    select
    from o_key s
    join woken w on w.tenant_id = s.tenant_id and w.def_id = s.def_id and w.key = s.key
    where s.tenant_id = p.tenant_id and s.job_id = p.job_id and s.kind = 'successor'
)
