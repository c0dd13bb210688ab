-- Words of callers to ids of ours and back.

create or replace function queue_id_of(p_queue text) returns integer
language plpgsql stable
as $$
declare
    v_queue_id integer;
begin
    select q.queue_id into v_queue_id from queue q where q.name = p_queue;
    if v_queue_id is null then
        perform refuse('unknown', 'p_queue', p_queue, 'See list_queues(); a sync or set_queue makes one.');
    end if;
    return v_queue_id;
end
$$;
comment on function queue_id_of(text) is 'The short id of a queue.';

create or replace function def_id_of(p_definition text) returns integer
language plpgsql stable
as $$
declare
    v_def_id integer;
begin
    select d.def_id into v_def_id from definition d where d.key = p_definition;
    if v_def_id is null then
        perform refuse('unknown', 'p_definition', p_definition, 'See list_definitions(); a sync makes one.');
    end if;
    return v_def_id;
end
$$;
comment on function def_id_of(text) is 'The short id of a definition.';

create or replace function state_word(p_code smallint) returns text
language sql immutable parallel safe
as $$
    select case p_code when 1 then 'succeeded' when 2 then 'failed' when 3 then 'dead_letter' when 4 then 'canceled' end
$$;
comment on function state_word(smallint) is 'The word for a final state.';

create or replace function outcome_word(p_code smallint) returns text
language sql immutable parallel safe
as $$
    select case p_code when 1 then 'succeeded' when 2 then 'failed' when 3 then 'timeout' when 4 then 'canceled'
        when 5 then 'lost' when 6 then 'released' when 7 then 'snoozed' end
$$;
comment on function outcome_word(smallint) is 'The word for the outcome of an attempt.';

create or replace function source_word(p_code smallint) returns text
language sql immutable parallel safe
as $$
    select case p_code when 0 then 'manual' when 1 then 'event' when 2 then 'schedule' when 3 then 'system' when 4 then 'job' end
$$;
comment on function source_word(smallint) is 'The word for what made a job.';

create or replace function is_held_back(p_paused_at timestamptz, p_paused_until timestamptz, p_now timestamptz) returns boolean
language sql immutable parallel safe
as $$
    select p_paused_at is not null and (p_paused_until is null or p_paused_until > p_now)
$$;
comment on function is_held_back(timestamptz, timestamptz, timestamptz) is 'Whether a pause is in force.';
