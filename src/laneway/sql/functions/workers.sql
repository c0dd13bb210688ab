-- Workers say what they can run, that they live, and what they hold.

create or replace function register_worker(
    p_worker uuid, p_hostname text, p_pid integer, p_version text, p_slots integer, p_queues text[], p_definitions text[],
    p_labels jsonb default '{}'
) returns table (def_id integer, definition text, queue text)
language plpgsql volatile security definer set search_path from current
as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock();
    v_defs integer[];
begin
    if p_worker is null then
        perform refuse('required', 'p_worker', null, 'Give a fresh uuid per process start.');
    end if;
    if length(coalesce(p_hostname, '')) not between 1 and 255 then
        perform refuse('malformed', 'p_hostname', left(p_hostname, 80), 'Use 1 to 255 characters.');
    end if;
    if length(coalesce(p_version, '')) not between 1 and 100 then
        perform refuse('malformed', 'p_version', left(p_version, 80), 'Use 1 to 100 characters.');
    end if;
    if p_pid is null then
        perform refuse('required', 'p_pid', null, 'Name the process.');
    end if;
    if p_slots is null or p_slots not between 1 and 100000 then
        perform refuse('out_of_range', 'p_slots', p_slots::text, 'Use 1 to 100000.');
    end if;
    if coalesce(cardinality(p_definitions), 0) = 0 then
        perform refuse('required', 'p_definitions', null, 'Name the definitions it can run.');
    end if;
    if p_labels is not null and not is_label_set(p_labels) then
        perform refuse('malformed', 'p_labels', show_document(p_labels), 'Use a flat object of short texts.');
    end if;
    perform from worker w where w.worker_id = p_worker for no key update skip locked;
    if not found and exists (select from worker w where w.worker_id = p_worker) then
        perform refuse('busy', 'p_worker', p_worker::text, 'Say it again in a moment.');
    end if;
    if exists (select from worker w where w.worker_id = p_worker and w.ended_at is not null) then
        perform refuse('conflict', 'p_worker', p_worker::text, 'That instance has ended; a process start takes a fresh uuid.');
    end if;
    v_defs := array(select def_id_of(d) from unnest(p_definitions) d);
    insert into worker as w (worker_id, hostname, pid, version, slots, queue_ids, def_ids, labels, registered_at, seen_at)
    values (p_worker, p_hostname, p_pid, p_version, p_slots,
        case when cardinality(p_queues) > 0 then array(select queue_id_of(q) from unnest(p_queues) q)
            else array(select distinct d.queue_id from definition d where d.def_id = any (v_defs)) end,
        v_defs, coalesce(p_labels, '{}'), v_now, v_now)
    on conflict (worker_id) do update
    set hostname = excluded.hostname, pid = excluded.pid, version = excluded.version, slots = excluded.slots, queue_ids = excluded.queue_ids, def_ids = excluded.def_ids, labels = excluded.labels, seen_at = excluded.seen_at;
    return query
    select d.def_id, d.key, q.name
    from unnest(p_definitions) u
    join definition d on d.key = u
    join queue q on q.queue_id = d.queue_id;
end
$$;
comment on function register_worker(uuid, text, integer, text, integer, text[], text[], jsonb)
is 'A worker instance says what it can run, and which queues it serves: those of its definitions where it names none. Said again, it replaces what it said. Answers the short ids that claims carry.';

-- Once a second at most, and never waiting: an operator's open transaction on the worker's row must not hold up leases.
create or replace function note_worker(p_worker uuid, p_now timestamptz) returns void
language plpgsql volatile
as $$
begin
    perform from worker w
    where w.worker_id = p_worker and w.ended_at is null and w.seen_at < p_now - interval '1 second'
    for no key update skip locked;
    if found then
        update worker w set seen_at = p_now where w.worker_id = p_worker;
    end if;
end
$$;
comment on function note_worker(uuid, timestamptz) is 'Writes down that a worker was heard of.';

create or replace function beat(p_worker uuid) returns boolean
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_draining boolean;
begin
    perform note_worker(p_worker, clock());
    select w.draining_at is not null into v_draining from worker w where w.worker_id = p_worker and w.ended_at is null;
    if v_draining is null then
        perform refuse('unknown', 'p_worker', p_worker::text, 'Register the instance first: register_worker().');
    end if;
    return v_draining;
end
$$;
comment on function beat(uuid) is 'A worker without leases says that it lives; answers whether it is to drain.';

create or replace function held(p_worker uuid)
returns table (tenant_id uuid, job_id uuid, attempt integer, def_id integer, until timestamptz)
language plpgsql stable security definer set search_path from current
as $$
#variable_conflict use_column
begin
    return query
    select l.tenant_id, l.job_id, l.attempt, l.def_id, l.until from live l where l.state = 1 and l.worker_id = p_worker;
end
$$;
comment on function held(uuid) is 'What an instance holds: asked after a claim whose answer was cut off, to release what it does not know.';

create or replace function end_worker(p_worker uuid) returns boolean
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_now timestamptz := clock();
begin
    if p_worker is null then
        perform refuse('required', 'p_worker', null, 'Name the instance that ends.');
    end if;
    perform from worker w where w.worker_id = p_worker for no key update skip locked;
    if not found then
        return not exists (select from worker w where w.worker_id = p_worker and w.ended_at is null);
    end if;
    update worker w set ended_at = v_now where w.worker_id = p_worker and w.ended_at is null;
    return true;
end
$$;
comment on function end_worker(uuid) is 'A worker says goodbye, after it has released what it held; said again, nothing changes. False: somebody holds its row, say it again.';

create or replace function drain_worker(p_worker uuid, p_reason text) returns void
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_now timestamptz := clock();
begin
    perform require_pause(p_reason, null, v_now);
    update worker w set draining_at = coalesce(w.draining_at, v_now) where w.worker_id = p_worker and w.ended_at is null;
    if not found then
        perform refuse('unknown', 'p_worker', p_worker::text, 'See list_workers().');
    end if;
    perform write_audit(system_tenant(), 'drain', 'worker', p_worker::text, p_reason, null, null);
end
$$;
comment on function drain_worker(uuid, text) is 'Super-admin: this worker is given no more jobs.';
