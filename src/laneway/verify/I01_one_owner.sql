-- I1 one_owner: a job has at most one open attempt, and no two of its attempts overlap in time.
select a.tenant_id, a.job_id, a.attempt, a.started_at, a.ended_at, a.previous_end,
    case when a.ended_at < a.started_at then 'ends before it starts' else 'starts before the one before it ended' end as wrong
from (
    select a.*, lag(coalesce(a.ended_at, 'infinity')) over (partition by a.tenant_id, a.job_id order by a.attempt) as previous_end
    from o_attempt a
) a
where a.previous_end > a.started_at or a.ended_at < a.started_at
