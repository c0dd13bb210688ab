-- I5 numbers: the attempts of a job are 1 to n without a gap, and n is the number that the job carries.
select coalesce(a.tenant_id, p.tenant_id) as tenant_id, coalesce(a.job_id, p.job_id) as job_id,
    coalesce(a.attempts, 0) as attempts, a.lowest, a.highest, p.attempt as number, p.phase
from (
    select a.tenant_id, a.job_id, count(*) as attempts, min(a.attempt) as lowest, max(a.attempt) as highest
    from o_attempt a
    group by a.tenant_id, a.job_id
) a
full join o_place p on p.tenant_id = a.tenant_id and p.job_id = a.job_id
where a.lowest <> 1
    or a.highest <> a.attempts
    or (p.job_id is not null and p.attempt <> coalesce(a.highest, 0))
