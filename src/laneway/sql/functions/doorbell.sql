-- Who is woken. A sleeping worker holds a shared advisory lock per queue; a verb that makes a job ready tries the same
-- lock alone: got it = nobody sleeps. Every notifying commit takes one lock of the whole server, so a busy system sends
-- none. It is a hint and nothing else: strangers may hold the key, then each enqueue notifies or each nap is short.

-- The key and the channel are of this install alone: a second schema in the database must not hear it.
create or replace function bell_of_install() returns integer
language sql stable
as $$
    select 'live'::regclass::oid::bigint::bit(32)::integer
$$;
comment on function bell_of_install() is 'The first half of the advisory keys of this install, and the name of its channel.';

-- Locked and unlocked within one expression: an enqueuer that is put aside between the two would look like a sleeper to all
-- others, and each of them would notify.
create or replace function is_armed(p_queue_id integer) returns boolean
language sql volatile
as $$
    select case
        when pg_try_advisory_lock(bell_of_install(), p_queue_id) then not pg_advisory_unlock(bell_of_install(), p_queue_id)
        else true
    end
$$;
comment on function is_armed(integer) is 'Whether a worker sleeps on this queue, or somebody is at its bell.';

create or replace function ring_one(p_queue_id integer) returns void
language plpgsql volatile
as $$
begin
    if pg_notification_queue_usage() <= 0.2 then
        perform pg_notify('laneway_' || bell_of_install(), hashint4(p_queue_id)::text);
    end if;
end
$$;
comment on function ring_one(integer) is 'Notifies the workers that sleep on this queue.';

create or replace function ring(p_queue_ids integer[]) returns void
language plpgsql volatile
as $$
declare
    v_queue integer;
begin
    if not (select s.doorbell from setting s) then return; end if;
    foreach v_queue in array p_queue_ids loop
        if is_armed(v_queue) then
            perform ring_one(v_queue);
        end if;
    end loop;
end
$$;
comment on function ring(integer[]) is 'Notifies the workers that sleep on these queues, if any do.';

create or replace function arm(p_queue text) returns table (armed boolean, channel text, message text)
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_queue integer := queue_id_of(p_queue);
begin
    return query
    select s.doorbell and pg_try_advisory_lock_shared(bell_of_install(), v_queue), 'laneway_' || bell_of_install(), hashint4(v_queue)::text
    from setting s;
end
$$;
comment on function arm(text) is 'Before a nap: asks to be rung for this queue, on a connection of its own that listens to the channel for this message. Look once more after it.';

create or replace function disarm(p_queue text) returns boolean
language plpgsql volatile security definer set search_path from current
as $$
begin
    return pg_advisory_unlock_shared(bell_of_install(), queue_id_of(p_queue));
end
$$;
comment on function disarm(text) is 'First thing after a nap: this connection is not to be rung any more.';
