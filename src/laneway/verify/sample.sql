-- Stands before the surface when only some jobs are looked at: tables by their own names, cut down to the jobs drawn.
drawn as materialized (
    select d.tenant_id, d.def_id, d.job_id
    from unnest(%(tenants)s::uuid[], %(definitions)s::integer[], %(jobs)s::uuid[]) as d (tenant_id, def_id, job_id)
),
job as (
    select j.* from drawn d join job j on j.tenant_id = d.tenant_id and j.def_id = d.def_id and j.id = d.job_id
),
live as (
    select l.* from drawn d join live l on l.tenant_id = d.tenant_id and l.job_id = d.job_id
),
later as (
    select l.* from drawn d join later l on l.tenant_id = d.tenant_id and l.job_id = d.job_id
),
waiting as (
    select w.* from drawn d join waiting w on w.tenant_id = d.tenant_id and w.job_id = d.job_id
),
attempt as (
    select a.* from drawn d join attempt a on a.tenant_id = d.tenant_id and a.job_id = d.job_id
),
job_key as (
    select k.* from drawn d join job_key k on k.tenant_id = d.tenant_id and k.job_id = d.job_id
),
audit as (
    select u.* from audit u
    where u.target_kind <> 'job'
        or (u.tenant_id, u.target) in (select d.tenant_id, d.job_id::text from drawn d)
        or (u.tenant_id, u.after ->> 'job') in (select d.tenant_id, d.job_id::text from drawn d)
)
