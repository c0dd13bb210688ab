-- I12 twins: of one tenant, definition and dedupe key at most one job is active and one waits behind it, now and in all of the history; keys belong to the jobs that hold them.
with keyed as (
    select p.tenant_id, p.def_id, p.job_id, j.dedupe_key as key, p.place,
        case when p.place = 'waiting' then 'successor' else 'active' end as kind
    from o_place p
    join o_job j on j.tenant_id = p.tenant_id and j.job_id = p.job_id
    where j.dedupe_key is not null
),
retried as (
    select distinct t.tenant_id, t.job_id, t.attempt from o_transition t where t.kind = 'retried'
),
ended_queued as (
    select t.tenant_id, t.job_id, min(t.at) as at
    from o_transition t
    where t.kind = 'ended' and t.attempt = 0
    group by t.tenant_id, t.job_id
),
-- a job is active from its first start until it ends, and again after each retry; what is left of an end without an
-- attempt that was retried is the attempt before it
tried as (
    select a.tenant_id, a.def_id, j.dedupe_key as key, a.job_id, a.attempt, a.started_at, a.ended_at,
        a.final_state is not null or r.job_id is not null as is_end
    from o_attempt a
    join o_job j on j.tenant_id = a.tenant_id and j.job_id = a.job_id
    left join retried r on r.tenant_id = a.tenant_id and r.job_id = a.job_id and r.attempt = a.attempt
    where j.dedupe_key is not null
),
numbered as (
    select t.*, count(*) filter (where t.is_end) over (
        partition by t.tenant_id, t.job_id order by t.attempt rows between unbounded preceding and 1 preceding) as life
    from tried t
),
life as (
    select n.tenant_id, n.def_id, n.key, n.job_id, min(n.started_at) as started_at,
        case
            when bool_or(n.is_end) then max(n.ended_at)
            else coalesce(min(e.at), 'infinity')
        end as ended_at
    from numbered n
    left join ended_queued e on e.tenant_id = n.tenant_id and e.job_id = n.job_id
    group by n.tenant_id, n.def_id, n.key, n.job_id, n.life
)
select k.tenant_id, k.def_id, k.key, min(k.job_id::text) as job_id, max(k.job_id::text) as other_job_id,
    'has ' || count(*) || ' jobs that are ' || case k.kind when 'active' then 'active' else 'waiting behind it' end as wrong
from keyed k
group by k.tenant_id, k.def_id, k.key, k.kind
having count(*) > 1
union all
select l.tenant_id, l.def_id, l.key, l.job_id::text, l.other_job_id::text, 'had two active jobs at one time'
from (
    select l.*, lag(l.job_id) over w as other_job_id, lag(l.ended_at) over w as other_end
    from life l
    window w as (partition by l.tenant_id, l.def_id, l.key order by l.started_at, l.ended_at)
) l
where l.other_job_id <> l.job_id and l.other_end > l.started_at
union all
select k.tenant_id, k.def_id, k.key, k.job_id::text, null, 'is not held by its job that is ' || k.place
from keyed k
where not exists (
    select from o_key o
    where o.tenant_id = k.tenant_id and o.def_id = k.def_id and o.key = k.key and o.kind = k.kind and o.job_id = k.job_id and not o.is_ended
)
union all
select o.tenant_id, o.def_id, o.key, o.job_id::text, null, 'is held as ' || o.kind || ' by a job that is not'
from o_key o
where o.kind in ('active', 'successor') and not o.is_ended and not exists (
    select from keyed k where k.tenant_id = o.tenant_id and k.job_id = o.job_id and k.kind = o.kind and k.def_id = o.def_id and k.key = o.key
)
union all
select o.tenant_id, o.def_id, o.key, o.job_id::text, null, 'is kept for a window that it does not have'
from o_key o
where o.kind = 'unknown' or (o.is_ended and (o.kind <> 'active' or o.until is null))
