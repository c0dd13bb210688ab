-- I4 one_end: a job ends once, and once more for each retry; only a retry changes an ended job, and never a success.
with word as (
    select t.tenant_id, t.job_id,
        count(*) filter (where t.kind = 'ended') as ends,
        count(*) filter (where t.kind = 'retried') as retries,
        bool_or(t.kind = 'retried' and t.state not in ('failed', 'dead_letter', 'canceled')) as is_retry_of_no_end,
        min(t.attempt) filter (where t.kind = 'ended' and t.state = 'succeeded') as success,
        bool_or(t.kind = 'ended' and t.attempt = 0) as has_end_without_attempt
    from o_transition t
    group by t.tenant_id, t.job_id
),
newest as (
    select a.tenant_id, a.job_id, max(a.attempt) as attempt from o_attempt a group by a.tenant_id, a.job_id
),
-- ends after which something came: another attempt, a place, an end without an attempt
left_behind as (
    select t.tenant_id, t.job_id, t.attempt
    from o_transition t
    join word w on w.tenant_id = t.tenant_id and w.job_id = t.job_id
    left join newest n on n.tenant_id = t.tenant_id and n.job_id = t.job_id
    left join o_place p on p.tenant_id = t.tenant_id and p.job_id = t.job_id
    where t.kind = 'ended'
        and (p.job_id is not null or (t.attempt > 0 and (n.attempt > t.attempt or w.has_end_without_attempt)))
)
select w.tenant_id, w.job_id, null::integer as attempt, w.ends, w.retries,
    case when w.is_retry_of_no_end then 'was retried from a state that is none to retry' else 'ended more often than it was retried' end as wrong
from word w
left join o_place p on p.tenant_id = w.tenant_id and p.job_id = w.job_id
where w.is_retry_of_no_end or w.ends > w.retries + (p.job_id is null)::integer
union all
select b.tenant_id, b.job_id, b.attempt, w.ends, w.retries, 'went on after its success'
from left_behind b
join word w on w.tenant_id = b.tenant_id and w.job_id = b.job_id
where b.attempt = w.success
union all
select b.tenant_id, b.job_id, b.attempt, w.ends, w.retries, 'went on after an end without a retry'
from left_behind b
join word w on w.tenant_id = b.tenant_id and w.job_id = b.job_id
where b.attempt is distinct from w.success
    and not exists (
        select from o_transition r
        -- an end without an attempt is gone when it was retried
        where r.tenant_id = b.tenant_id and r.job_id = b.job_id and r.kind = 'retried' and r.attempt = nullif(b.attempt, 0)
    )
