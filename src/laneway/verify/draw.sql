-- Jobs to look at: some of those that have not ended, some of all. With a job come those that share its dedupe key:
-- what an invariant says of twins would be wrong of one alone.
with picked as (
    (select l.tenant_id, l.def_id, l.job_id from live l tablesample system (%(live)s) order by random() limit %(most)s)
    union
    (select l.tenant_id, l.def_id, l.job_id from later l tablesample system (%(later)s) order by random() limit %(most)s)
    union
    (select w.tenant_id, w.def_id, w.job_id from waiting w tablesample system (%(waiting)s) order by random() limit %(most)s)
    union
    (select j.tenant_id, j.def_id, j.id from job j tablesample system (%(job)s) order by random() limit %(most)s)
)
select s.tenant_id, s.def_id, s.job_id from picked s
union
select k.tenant_id, k.def_id, k.job_id
from picked s
join job j on j.tenant_id = s.tenant_id and j.def_id = s.def_id and j.id = s.job_id
join job_key k on k.tenant_id = j.tenant_id and k.def_id = j.def_id and k.kind < 2 and k.key = j.dedupe_key
