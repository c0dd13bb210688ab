-- Who is woken. A sleeping worker holds a shared advisory lock per queue; a verb that makes a job ready tries the same
-- lock alone: got it = nobody sleeps. Every notifying commit takes one lock of the whole server, so a busy system sends
-- none. It is a hint and nothing else: strangers may hold the key, then each enqueue notifies or each nap is short.

create or replace function ring(p_queue_ids integer[]) returns void
language plpgsql volatile
as $$
declare
    v_queue integer;
begin
    if not (select s.doorbell from setting s) then return; end if;
    foreach v_queue in array p_queue_ids loop
        perform ring_one(v_queue);
    end loop;
end
$$;
comment on function ring(integer[]) is 'Notifies the workers that sleep on these queues, if any do.';

create or replace function ring_one(p_queue_id integer) returns boolean
language plpgsql volatile
as $$
declare
    -- of this install alone: a second schema in the database must not hear it
    c_install constant integer := 'live'::regclass::oid::bigint::bit(32)::integer;
begin
    if pg_try_advisory_lock(c_install, p_queue_id) then
        return not pg_advisory_unlock(c_install, p_queue_id);
    end if;
    if pg_notification_queue_usage() <= 0.2 then
        perform pg_notify('laneway_' || c_install, hashint4(p_queue_id)::text);
    end if;
    return true;
end
$$;
comment on function ring_one(integer) is 'Notifies the workers that sleep on this queue; answers whether any did.';

create or replace function arm(p_queue text) returns table (armed boolean, channel text, message text)
language plpgsql volatile security definer set search_path from current
as $$
declare
    c_install constant integer := 'live'::regclass::oid::bigint::bit(32)::integer;
    v_queue integer := queue_id_of(p_queue);
begin
    return query
    select s.doorbell and pg_try_advisory_lock_shared(c_install, v_queue), 'laneway_' || c_install, hashint4(v_queue)::text
    from setting s;
end
$$;
comment on function arm(text) is 'Before a nap: asks to be rung for this queue, on a connection of its own that listens to the channel for this message. Look once more after it.';

create or replace function disarm(p_queue text) returns boolean
language plpgsql volatile security definer set search_path from current
as $$
begin
    return pg_advisory_unlock_shared('live'::regclass::oid::bigint::bit(32)::integer, queue_id_of(p_queue));
end
$$;
comment on function disarm(text) is 'First thing after a nap: this connection is not to be rung any more.';
