-- I7 one_place: a job that has not ended is in exactly one phase table, one that has ended in none; no row speaks of a job, tenant, definition or queue that does not exist, or of another tenant's.
with place as (
    select p.tenant_id, p.job_id, count(*) as places, min(p.place) as place, min(p.def_id) as def_id, min(p.queue_id) as queue_id
    from o_place p
    group by p.tenant_id, p.job_id
),
-- row 0 wins over the attempts
last_word as (
    select distinct on (a.tenant_id, a.job_id) a.tenant_id, a.job_id, a.final_state
    from attempt a
    order by a.tenant_id, a.job_id, a.attempt = 0 desc, a.attempt desc
)
select 'job' as relation, j.tenant_id, j.job_id::text as id,
    case
        when p.places > 1 then 'is in more than one phase table'
        when p.places = 1 and p.def_id <> j.def_id then 'has another definition in its phase table'
        when p.places = 1 then 'has another queue in its phase table'
        when w.job_id is null then 'is nowhere: it neither waits nor ran nor ended'
        else 'is nowhere: its last attempt did not end it'
    end as wrong
from o_job j
left join place p on p.tenant_id = j.tenant_id and p.job_id = j.job_id
left join last_word w on w.tenant_id = j.tenant_id and w.job_id = j.job_id
where p.places > 1
    or (p.places = 1 and (p.def_id <> j.def_id or p.queue_id <> j.queue_id))
    or (p.places is null and w.final_state is null)
union all
select 'job', j.tenant_id, j.job_id::text, 'has no tenant, definition or queue'
from o_job j
where not exists (select from tenant t where t.tenant_id = j.tenant_id)
    or not exists (select from definition d where d.def_id = j.def_id)
    or not exists (select from queue q where q.queue_id = j.queue_id)
union all
select 'job', j.tenant_id, j.job_id::text, 'names a job of another tenant'
from (
    select j.tenant_id, j.job_id, j.rerun_of as other_job_id from o_job j where j.rerun_of is not null
    union all
    select j.tenant_id, j.job_id, j.parent_id from o_job j where j.parent_id is not null
) j
join o_job o on o.job_id = j.other_job_id
where o.tenant_id <> j.tenant_id
union all
select p.place, p.tenant_id, p.job_id::text, 'has no job'
from o_place p
where not exists (select from o_job j where j.tenant_id = p.tenant_id and j.job_id = p.job_id)
union all
select 'attempt', a.tenant_id, a.job_id || ' ' || a.attempt, 'has no job of this definition'
from attempt a
where not exists (select from o_job j where j.tenant_id = a.tenant_id and j.job_id = a.job_id and j.def_id = a.def_id)
union all
select 'job_key', k.tenant_id, k.key, 'has no job of this definition'
from o_key k
where not exists (select from o_job j where j.tenant_id = k.tenant_id and j.job_id = k.job_id and j.def_id = k.def_id)
union all
select 'handover', h.tenant_id, h.key, 'has no tenant or definition'
from handover h
where not exists (select from tenant t where t.tenant_id = h.tenant_id)
    or not exists (select from definition d where d.def_id = h.def_id)
union all
select 'tenant_control', t.tenant_id, t.slug, 'is missing'
from tenant t
where not exists (select from tenant_control c where c.tenant_id = t.tenant_id)
union all
select o.relation, o.tenant_id, o.id, 'has no tenant'
from (
    select 'tenant_control' as relation, c.tenant_id, null as id from tenant_control c
    union all
    select 'tenant_pair', p.tenant_id, p.def_id::text from tenant_pair p
    union all
    select 'tenant_login', l.tenant_id, l.login::text from tenant_login l
    union all
    select 'stuck', s.tenant_id, s.job_id::text from stuck s
    union all
    select 'audit', u.tenant_id, u.id::text from o_audit u
) o
where not exists (select from tenant t where t.tenant_id = o.tenant_id)
union all
select 'tenant_pair', p.tenant_id, p.def_id::text, 'has no definition'
from tenant_pair p
where p.def_id <> 0 and not exists (select from definition d where d.def_id = p.def_id)
union all
select distinct 'worker', null::uuid, w.worker_id::text, 'names a queue or definition that does not exist'
from worker w
cross join lateral (
    select q as queue_id, null::integer as def_id from unnest(w.queue_ids) q
    union all
    select null, d from unnest(w.def_ids) d
) n
left join queue q on q.queue_id = n.queue_id
left join definition d on d.def_id = n.def_id
where q.queue_id is null and d.def_id is null
