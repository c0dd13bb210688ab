-- I14 lease: a lease begins with its attempt, never reaches past the deadline and its grace, and no attempt is lost before the shortest lease there is was over, none timed out by the sweep before its deadline.
select p.tenant_id, p.job_id, p.attempt, p.started_at, p.until, p.deadline, null::timestamptz as ended_at,
    case
        when p.until <= p.started_at then 'its lease is over before it began'
        when p.deadline <= p.started_at then 'its deadline is over before it began'
        when p.until > p.deadline + make_interval(secs => s.kill_grace_seconds) then 'its lease reaches past its deadline'
        else 'its deadline is not what its job was given'
    end as wrong
from o_place p
cross join setting s
left join o_job j on j.tenant_id = p.tenant_id and j.job_id = p.job_id
where p.phase = 'running' and (
    p.until <= p.started_at
    or p.deadline <= p.started_at
    or p.until > p.deadline + make_interval(secs => s.kill_grace_seconds)
    -- a millisecond for the two looks at the clock
    or p.deadline < p.started_at + make_interval(secs => j.timeout_seconds)
    or p.deadline > p.started_at + make_interval(secs => j.timeout_seconds + 0.001)
)
union all
select a.tenant_id, a.job_id, a.attempt, a.started_at, null, null, a.ended_at,
    case a.outcome when 'lost' then 'was lost while its lease ran' else 'was timed out before its deadline' end
from o_attempt a
cross join setting s
left join o_job j on j.tenant_id = a.tenant_id and j.job_id = a.job_id
where (a.outcome = 'lost' and a.ended_at < a.started_at + make_interval(secs => least(5, s.lease_seconds)))
    or (a.outcome = 'timeout' and a.ended_by = 'sweep' and a.ended_at < a.started_at + make_interval(secs => j.timeout_seconds))
