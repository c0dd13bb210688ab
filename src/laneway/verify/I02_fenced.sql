-- I2 fenced: every attempt has one owner, a registered worker, and only the newest attempt of a job is open; its owner ends it, or the sweep as lost or timed out, or an operator as canceled. That no word of a superseded owner was accepted is judged from the ledgers of workers, outside.
select a.tenant_id, a.job_id, a.attempt, a.worker_id,
    case
        when a.worker_id is null then 'has no owner'
        when w.worker_id is null then 'its owner never registered'
        when a.started_at < w.registered_at then 'began before its owner registered'
        when a.ended_at is null then 'is open, and not the newest'
        else 'was ended by one who cannot say this'
    end as wrong
from (
    select a.*, max(a.attempt) over (partition by a.tenant_id, a.job_id) as newest
    from o_attempt a
) a
left join worker w on w.worker_id = a.worker_id
where a.worker_id is null
    or w.worker_id is null
    or a.started_at < w.registered_at
    or (a.ended_at is null and a.attempt < a.newest)
    or (a.ended_at is not null and not case a.ended_by
        when 'owner' then a.outcome <> 'lost'
        when 'sweep' then a.outcome in ('lost', 'timeout')
        when 'operator' then a.outcome = 'canceled'
        else false
    end)
