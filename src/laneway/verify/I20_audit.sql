-- I20 audit: what a person changed has a row that says who, when and, where a reason is asked for, why. That a refused verb changed nothing is judged by those who call it, outside.
with told as (
    select u.tenant_id, u.verb, u.target_kind, u.target, max(u.at) as at
    from o_audit u
    group by u.tenant_id, u.verb, u.target_kind, u.target
),
weighed as (
    select distinct on (u.tenant_id) u.tenant_id, (u.after ->> 'weight')::smallint as weight
    from o_audit u
    where u.target_kind = 'tenant' and u.verb in ('create', 'set_weight')
    order by u.tenant_id, u.at desc, u.id desc
),
done as (
    -- replaced: not a person's act but what enqueue was asked to do with a twin
    select t.tenant_id, 'job' as target_kind, t.job_id::text as target, array['cancel', 'force_cancel'] as verbs, t.at as since
    from o_transition t
    where t.kind = 'ended' and t.attempt = 0 and t.state = 'canceled' and coalesce(t.reason, '') not like 'replaced by %'
    union all
    select a.tenant_id, 'job', a.job_id::text, array['cancel', 'force_cancel'], a.started_at
    from o_attempt a
    where a.final_state = 'canceled' and a.outcome <> 'canceled'
    union all
    select a.tenant_id, 'job', a.job_id::text, array['force_cancel'], a.started_at
    from o_attempt a
    where a.ended_by = 'operator'
    union all
    select p.tenant_id, 'job', p.job_id::text, array['cancel'], p.started_at
    from o_place p
    where p.phase = 'running' and p.is_cancel_requested
    union all
    select c.tenant_id, 'tenant', c.tenant_id::text, array['pause'], c.paused_at from tenant_control c where c.paused_at is not null
    union all
    select c.tenant_id, 'tenant', c.tenant_id::text, array['suspend'], c.suspended_at from tenant_control c where c.suspended_at is not null
    union all
    select t.tenant_id, 'tenant', t.tenant_id::text, array['create'], t.created_at from tenant t where not t.is_system
    union all
    select l.tenant_id, 'login', l.login::text, array['map_login'], null from tenant_login l
    union all
    select p.tenant_id, 'lane', coalesce(d.key, '*'), array['pause'], p.paused_at
    from tenant_pair p left join definition d on d.def_id = p.def_id
    where p.paused_at is not null
    union all
    select s.tenant_id, 'queue', q.name, array['pause'], q.paused_at
    from queue q join tenant s on s.is_system
    where q.paused_at is not null
    union all
    select s.tenant_id, 'definition', d.key, array['pause'], d.paused_at
    from definition d join tenant s on s.is_system
    where d.paused_at is not null
    union all
    select s.tenant_id, 'definition', d.key, array['override'], null
    from definition d join tenant s on s.is_system
    where d.overrides <> '{}'
    union all
    select s.tenant_id, 'worker', w.worker_id::text, array['drain'], w.draining_at
    from worker w join tenant s on s.is_system
    where w.draining_at is not null
)
select d.tenant_id, d.target_kind, d.target, d.verbs[1] as verb, d.since as at, 'was done, and no audit row tells of it' as wrong
from done d
where not exists (
    select from told t
    where t.tenant_id = d.tenant_id and t.target_kind = d.target_kind and t.target = d.target and t.verb = any (d.verbs)
        and t.at >= coalesce(d.since, t.at)
)
union all
select c.tenant_id, 'tenant', c.tenant_id::text, 'set_weight', null, 'has a weight that no audit row tells of'
from tenant_control c
join tenant t on t.tenant_id = c.tenant_id and not t.is_system
left join weighed w on w.tenant_id = c.tenant_id
where c.weight is distinct from w.weight
union all
select j.tenant_id, 'job', j.job_id::text, 'run_again', null, 'repeats another job, and no audit row tells of it'
from o_job j
where j.rerun_of is not null and not exists (
    select from o_audit u
    where u.tenant_id = j.tenant_id and u.verb = 'run_again' and u.after ->> 'job' = j.job_id::text
)
union all
select u.tenant_id, u.target_kind, u.target, u.verb, u.at, 'does not say who, or why where that is asked for'
from o_audit u
where coalesce(u.actor, '') = ''
    or (coalesce(u.reason, '') = ''
        and u.verb in ('pause', 'suspend', 'force_cancel', 'drain', 'override', 'force_sync'))
