-- I15 attempts_bound: a job has no more attempts than it was given, refunds for snoozes and for its first releases and what retries added included; what runs had one left, and none was given up early.
with retried as (
    select t.tenant_id, t.job_id, max(t.attempt) as attempt
    from o_transition t
    where t.kind = 'retried'
    group by t.tenant_id, t.job_id
),
-- the setting may have changed meanwhile: neither bound cries wolf then
free as (
    select greatest(s.free_releases, 10) as most, least(s.free_releases, 10) as least from setting s
),
tried as (
    select a.tenant_id, a.job_id, max(a.attempt) as highest,
        count(*) filter (where a.outcome = 'snoozed' and a.attempt <= coalesce(r.attempt, 0)) as snoozes_before,
        count(*) filter (where a.outcome = 'snoozed' and a.attempt > coalesce(r.attempt, 0)) as snoozes_after,
        count(*) filter (where a.outcome = 'released' and a.attempt <= coalesce(r.attempt, 0)) as releases_before,
        count(*) filter (where a.outcome = 'released') as releases,
        -- those that went before the last one: what the last one ended was decided with them
        count(*) filter (where a.outcome = 'released' and a.final_state is null) as earlier_releases,
        max(a.attempt) filter (where a.final_state = 'dead_letter') as given_up
    from o_attempt a
    left join retried r on r.tenant_id = a.tenant_id and r.job_id = a.job_id
    group by a.tenant_id, a.job_id
),
bound as (
    select j.tenant_id, j.job_id, coalesce(t.highest, 0) as attempts, coalesce(r.attempt, 0) as retried_after, t.given_up,
        coalesce(t.releases, 0) as releases, p.phase, p.max_attempts, p.releases as counted_releases,
        -- the last retry raised it where needed, what was refunded since came on top
        greatest(j.max_attempts + coalesce(t.snoozes_before, 0) + least(coalesce(t.releases_before, 0), f.most),
            case when r.attempt is not null then r.attempt + 1 else 0 end)
            + coalesce(t.snoozes_after, 0) + least(coalesce(t.releases, 0), f.most) - least(coalesce(t.releases_before, 0), f.most) as allowed,
        greatest(j.max_attempts + coalesce(t.snoozes_before, 0) + least(coalesce(t.releases_before, 0), f.least),
            case when r.attempt is not null then r.attempt + 1 else 0 end)
            + coalesce(t.snoozes_after, 0) + greatest(0, least(coalesce(t.earlier_releases, 0), f.least) - least(coalesce(t.releases_before, 0), f.least))
            as due
    from o_job j
    cross join free f
    left join tried t on t.tenant_id = j.tenant_id and t.job_id = j.job_id
    left join retried r on r.tenant_id = j.tenant_id and r.job_id = j.job_id
    left join o_place p on p.tenant_id = j.tenant_id and p.job_id = j.job_id
)
select b.tenant_id, b.job_id, b.phase as state, b.attempts, b.allowed, b.max_attempts,
    case
        when b.attempts > b.allowed then 'had more attempts than it was given'
        when b.max_attempts > b.allowed then 'was given attempts that nobody refunded'
        when b.phase = 'running' and b.attempts > b.max_attempts then 'runs without an attempt left'
        when b.phase in ('ready', 'parked') and b.attempts >= b.max_attempts then 'is queued without an attempt left'
        when b.counted_releases is not null and b.counted_releases <> b.releases then 'counts its releases wrongly'
        else 'was given up with attempts left'
    end as wrong
from bound b
where b.attempts > b.allowed
    or b.max_attempts > b.allowed
    or (b.phase = 'running' and b.attempts > b.max_attempts)
    or (b.phase in ('ready', 'parked') and b.attempts >= b.max_attempts)
    or b.counted_releases <> b.releases
    or (b.phase is null and b.given_up = b.attempts and b.given_up > b.retried_after and b.attempts < b.due)
