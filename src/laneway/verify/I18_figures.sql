-- I18 figures: what is kept to spare a look equals what the look would find: a job's word that it has keys and a definition's fields in force.
select 'is_keyed' as figure, p.tenant_id, p.job_id::text as id, p.is_keyed::text as kept, 'true' as counted
from o_place p
where not p.is_keyed and exists (
    select from o_key k where k.tenant_id = p.tenant_id and k.job_id = p.job_id and k.kind <> 'idempotency'
)
union all
select 'definition.' || f.name, null, d.key, f.kept, f.counted
from definition d
cross join lateral (select d.declared || d.overrides as said) s
cross join lateral (
    values
        ('max_attempts', d.max_attempts::text, s.said ->> 'max_attempts'),
        ('priority', d.priority::text, s.said ->> 'priority'),
        ('timeout_seconds', d.timeout_seconds::text, s.said ->> 'timeout_seconds'),
        ('backoff_kind', d.backoff_kind, s.said ->> 'backoff_kind'),
        ('is_enabled', d.is_enabled::text, s.said ->> 'is_enabled'),
        ('is_system', d.is_system::text, s.said ->> 'is_system')
) as f (name, kept, counted)
where f.kept <> f.counted
