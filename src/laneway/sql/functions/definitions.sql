-- Code declares, sync writes it down. What an operator set (overrides) wins over what the code says until it is taken
-- back or a forced sync takes it back. A definition that left the code is marked, never deleted; one that is back loses
-- the mark, hash changed or not.

-- What may be declared, with what it is when nothing is said: one list for sync, override and drift.
create or replace function definition_defaults() returns jsonb
language sql immutable parallel safe
as $$
    select '{"queue": "default", "description": "", "tags": [], "schema": null, "max_attempts": 3, "priority": 100,
        "timeout_seconds": 3600, "backoff_kind": "exponential", "backoff_base_seconds": 5, "backoff_factor": 2,
        "backoff_cap_seconds": 3600, "backoff_jitter": 0.2, "backoff_list_seconds": null, "is_enabled": true,
        "is_system": false}'::jsonb
$$;
comment on function definition_defaults() is 'Every field of a definition with its default.';

create or replace function require_definition(p_declared jsonb, p_field text) returns void
language plpgsql stable
as $$
declare
    v_name text;
    v_all jsonb := definition_defaults() || p_declared;
begin
    if jsonb_typeof(p_declared) is distinct from 'object' then
        perform refuse('malformed', p_field, show_document(p_declared), 'Give an object.');
    end if;
    -- before any field is looked at as text, which may be a thousand times what it takes here
    if judge_document(p_declared, 1048576) = 3 then
        perform refuse('too_large', p_field, show_document(p_declared), 'Declare a definition in at most 1048576 bytes.');
    end if;
    select k into v_name from jsonb_object_keys(p_declared) k where not definition_defaults() ? k limit 1;
    if v_name is not null then
        perform refuse('unknown', p_field || '.' || v_name, v_name,
            'Use: ' || (select string_agg(k, ', ' order by k) from jsonb_object_keys(definition_defaults()) k) || '.');
    end if;
    perform require_number(p_field || '.max_attempts', v_all -> 'max_attempts', 1, 100, true);
    perform require_number(p_field || '.priority', v_all -> 'priority', 0, 1000, true);
    perform require_number(p_field || '.timeout_seconds', v_all -> 'timeout_seconds', 1, 604800, true);
    perform require_number(p_field || '.backoff_base_seconds', v_all -> 'backoff_base_seconds', 0, 3600, false);
    perform require_number(p_field || '.backoff_factor', v_all -> 'backoff_factor', 1, 10, false);
    perform require_number(p_field || '.backoff_cap_seconds', v_all -> 'backoff_cap_seconds', 1, 86400, false);
    perform require_number(p_field || '.backoff_jitter', v_all -> 'backoff_jitter', 0, 1, false);
    if coalesce(v_all ->> 'backoff_kind', '') not in ('exponential', 'linear', 'fixed', 'list') then
        perform refuse('malformed', p_field || '.backoff_kind', show_document(v_all -> 'backoff_kind'), 'Use exponential, linear, fixed or list.');
    end if;
    if v_all ->> 'backoff_kind' = 'list' or v_all -> 'backoff_list_seconds' <> 'null' then
        if jsonb_typeof(v_all -> 'backoff_list_seconds') <> 'array'
            or jsonb_array_length(v_all -> 'backoff_list_seconds') not between 1 and 100 then
            perform refuse('malformed', p_field || '.backoff_list_seconds', show_document(v_all -> 'backoff_list_seconds'), 'Give 1 to 100 waits in seconds.');
        end if;
        perform require_number(p_field || '.backoff_list_seconds', w, 0, 86400, false) from jsonb_array_elements(v_all -> 'backoff_list_seconds') w;
    end if;
    foreach v_name in array array['is_enabled', 'is_system'] loop
        if jsonb_typeof(v_all -> v_name) <> 'boolean' then
            perform refuse('malformed', p_field || '.' || v_name, show_document(v_all -> v_name), 'Use true or false.');
        end if;
    end loop;
    if jsonb_typeof(v_all -> 'description') <> 'string' or length(v_all ->> 'description') > 2000 then
        perform refuse('malformed', p_field || '.description', show_document(v_all -> 'description'), 'Give at most 2000 characters.');
    end if;
    if jsonb_typeof(v_all -> 'queue') <> 'string' or v_all ->> 'queue' !~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,119}$' then
        perform refuse('malformed', p_field || '.queue', show_document(v_all -> 'queue'), 'Use 1 to 120 of A-Z a-z 0-9 _ . : -, beginning with a letter or digit.');
    end if;
    if jsonb_typeof(v_all -> 'tags') <> 'array' or jsonb_array_length(v_all -> 'tags') > 50
        or exists (select from jsonb_array_elements(v_all -> 'tags') t where jsonb_typeof(t) <> 'string' or length(t #>> '{}') not between 1 and 63) then
        perform refuse('malformed', p_field || '.tags', show_document(v_all -> 'tags'), 'Give at most 50 words of 1 to 63 characters.');
    end if;
    if v_all -> 'schema' <> 'null' and (jsonb_typeof(v_all -> 'schema') not in ('object', 'boolean')
        or judge_document(v_all -> 'schema', 262144) is not null) then
        perform refuse('malformed', p_field || '.schema', show_document(v_all -> 'schema'), 'Give a JSON Schema of at most 262144 bytes and 32 levels.');
    end if;
end
$$;
comment on function require_definition(jsonb, text) is 'Refuses a declaration or override with a field or value that is none.';

create or replace function require_number(p_field text, p_value jsonb, p_least numeric, p_most numeric, p_is_whole boolean) returns void
language plpgsql immutable
as $$
begin
    if jsonb_typeof(p_value) is distinct from 'number' then
        perform refuse('malformed', p_field, show_document(p_value), format('Give a number from %s to %s.', p_least, p_most));
    end if;
    if p_value::numeric not between p_least and p_most or scale(p_value::numeric) > 1000
        or (p_is_whole and p_value::numeric <> trunc(p_value::numeric)) or (p_value::numeric <> 0 and p_value::numeric < 1e-300) then
        perform refuse('out_of_range', p_field, show_document(p_value),
            format('Use %s%s to %s.', case when p_is_whole then 'a whole number from ' else '' end, p_least, p_most));
    end if;
end
$$;
comment on function require_number(text, jsonb, numeric, numeric, boolean) is 'Refuses what is no number within bounds.';

-- Writes what is in force: what is declared, and over it what an operator set.
create or replace function put_definition_in_force(p_def_id integer, p_now timestamptz) returns void
language plpgsql volatile
as $$
declare
    v_all jsonb;
    v_queue_id integer;
begin
    select definition_defaults() || d.declared || d.overrides into v_all from definition d where d.def_id = p_def_id;
    v_queue_id := ensure_queue(v_all ->> 'queue', p_now);
    update definition d
    set queue_id = v_queue_id,
        description = v_all ->> 'description',
        tags = array(select jsonb_array_elements_text(v_all -> 'tags')),
        payload_schema = nullif(v_all -> 'schema', 'null'),
        max_attempts = (v_all -> 'max_attempts')::integer,
        priority = (v_all -> 'priority')::smallint,
        timeout_seconds = (v_all -> 'timeout_seconds')::integer,
        backoff_kind = v_all ->> 'backoff_kind',
        backoff_base_seconds = (v_all ->> 'backoff_base_seconds')::double precision,
        backoff_factor = (v_all ->> 'backoff_factor')::double precision,
        backoff_cap_seconds = (v_all ->> 'backoff_cap_seconds')::double precision,
        backoff_jitter = (v_all ->> 'backoff_jitter')::double precision,
        backoff_list_seconds = case when v_all -> 'backoff_list_seconds' <> 'null'
            then array(select w::double precision from jsonb_array_elements_text(v_all -> 'backoff_list_seconds') w) end,
        is_enabled = (v_all ->> 'is_enabled')::boolean,
        is_system = (v_all ->> 'is_system')::boolean,
        updated_at = p_now
    where d.def_id = p_def_id;
end
$$;
comment on function put_definition_in_force(integer, timestamptz) is 'Recomputes the columns of a definition from code and overrides.';

create or replace function ensure_queue(p_queue text, p_now timestamptz) returns integer
language plpgsql volatile
as $$
begin
    -- looked at first: an insert would wait for an operator's open transaction on a queue that is there
    if not exists (select from queue q where q.name = p_queue) then
        insert into queue (name, created_at) values (p_queue, p_now) on conflict do nothing;
    end if;
    return queue_id_of(p_queue);
end
$$;
comment on function ensure_queue(text, timestamptz) is 'The id of a queue, made with default settings where it is missing.';

create or replace function definition_hash(p_declared jsonb) returns text
language sql immutable parallel safe
as $$
    select encode(sha256(convert_to(p_declared::text, 'UTF8')), 'hex')
$$;
comment on function definition_hash(jsonb) is 'Hash of what code declares.';

-- What a sync would do: one row per definition of the code base that is named or known.
create or replace function compare_definitions(p_app text, p_definitions jsonb)
returns table (key text, change text, declared jsonb, hash text)
language plpgsql stable
as $$
#variable_conflict use_column
declare
    v_key text;
    v_other text;
begin
    if p_app is null or p_app !~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$' then
        perform refuse('malformed', 'p_app', p_app, 'Name the code base in 1 to 63 of A-Z a-z 0-9 _ . -');
    end if;
    if jsonb_typeof(p_definitions) is distinct from 'object' then
        perform refuse('malformed', 'p_definitions', show_document(p_definitions), 'Give an object: key to declaration.');
    end if;
    for v_key in select k from jsonb_object_keys(p_definitions) k loop
        if v_key !~ '^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,119}$' then
            perform refuse('malformed', 'p_definitions', v_key, 'A key has 1 to 120 of A-Z a-z 0-9 _ . : / -, beginning with a letter or digit.');
        end if;
        perform require_definition(p_definitions -> v_key, v_key);
        perform require_definition((p_definitions -> v_key) || d.overrides, v_key) from definition d where d.key = v_key;
        select d.app into v_other from definition d where d.key = v_key and d.app <> p_app;
        if v_other is not null then
            perform refuse('conflict', 'p_definitions', v_key, format('Code base "%s" declares this key: choose another.', v_other));
        end if;
    end loop;
    return query
    select coalesce(c.key, d.key),
        case
            when d.key is null then 'added'
            when c.key is null then case when d.is_deleted_from_code then 'gone' else 'removed' end
            when d.is_deleted_from_code then 'restored'
            when d.definition_hash <> definition_hash(c.value) then 'changed'
            else 'unchanged'
        end,
        c.value, definition_hash(c.value)
    from jsonb_each(p_definitions) c
    full join (select * from definition d where d.app = p_app) d on d.key = c.key
    order by 1;
end
$$;
comment on function compare_definitions(text, jsonb) is 'What differs between what code declares and what is stored.';

create or replace function check_definitions(p_app text, p_definitions jsonb) returns table (key text, change text, overrides jsonb)
language plpgsql stable security definer set search_path from current
as $$
#variable_conflict use_column
begin
    return query
    select c.key, c.change, coalesce(d.overrides, '{}')
    from compare_definitions(p_app, p_definitions) c
    left join definition d on d.key = c.key;
end
$$;
comment on function check_definitions(text, jsonb) is 'What a sync would change, and what operators have set instead: added, changed, restored, removed, unchanged, gone.';

create or replace function sync_definitions(p_app text, p_definitions jsonb) returns table (key text, change text, overrides jsonb)
language plpgsql volatile security definer set search_path from current
as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock();
    v_row record;
begin
    for v_row in select * from compare_definitions(p_app, p_definitions) loop
        case v_row.change
            when 'added' then
                insert into definition (key, app, queue_id, declared, definition_hash, created_at, updated_at)
                values (v_row.key, p_app, ensure_queue(coalesce(v_row.declared ->> 'queue', 'default'), v_now), v_row.declared, v_row.hash, v_now, v_now)
                on conflict do nothing;
                -- another code base declared it since it was looked up
                perform refuse('conflict', 'p_definitions', v_row.key, format('Code base "%s" declares this key: choose another.', d.app))
                from definition d where d.key = v_row.key and d.app <> p_app;
            when 'changed', 'restored' then
                update definition d
                set declared = v_row.declared, definition_hash = v_row.hash, is_deleted_from_code = false
                where d.key = v_row.key;
            when 'removed' then
                update definition d set is_deleted_from_code = true, updated_at = v_now where d.key = v_row.key;
            else
                null;
        end case;
        if v_row.change in ('added', 'changed', 'restored') then
            perform put_definition_in_force(def_id_of(v_row.key), v_now);
        end if;
        if v_row.change in ('added', 'changed', 'restored', 'removed') then
            perform write_audit(system_tenant(), 'sync', 'definition', v_row.key, null, null,
                jsonb_build_object('change', v_row.change, 'hash', v_row.hash));
        end if;
        key := v_row.key;
        change := v_row.change;
        select d.overrides into overrides from definition d where d.key = v_row.key;
        return next;
    end loop;
end
$$;
comment on function sync_definitions(text, jsonb) is 'Writes down what a code base declares; operators'' overrides stay in force.';

create or replace function force_definitions(p_app text, p_definitions jsonb, p_reason text) returns table (key text, change text, overrides jsonb)
language plpgsql volatile security definer set search_path from current
as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock();
    v_definition definition;
begin
    perform require_pause(p_reason, null, v_now);
    for v_definition in select d.* from definition d where d.app = p_app and d.overrides <> '{}' and p_definitions ? d.key loop
        update definition d set overrides = '{}' where d.def_id = v_definition.def_id;
        perform put_definition_in_force(v_definition.def_id, v_now);
        perform write_audit(system_tenant(), 'force_sync', 'definition', v_definition.key, p_reason, v_definition.overrides, '{}');
    end loop;
    return query select s.key, s.change, s.overrides from sync_definitions(p_app, p_definitions) s;
end
$$;
comment on function force_definitions(text, jsonb, text) is 'Super-admin: a sync that takes back what operators had set for these definitions.';

create or replace function override_definition(p_definition text, p_overrides jsonb, p_reason text) returns void
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_now timestamptz := clock();
    v_def_id integer := def_id_of(p_definition);
    v_before jsonb;
    v_declared jsonb;
    v_after jsonb;
begin
    perform require_pause(p_reason, null, v_now);
    if jsonb_typeof(p_overrides) is distinct from 'object' then
        perform refuse('malformed', 'p_overrides', show_document(p_overrides), 'Give an object.');
    end if;
    select d.overrides, d.declared into v_before, v_declared from definition d where d.def_id = v_def_id for update;
    -- a null takes a field back; nulls inside a schema are the schema's own
    select coalesce(jsonb_object_agg(o.key, o.value), '{}') into v_after
    from jsonb_each(v_before || p_overrides) o
    where o.value <> 'null';
    -- together with what the code says: a kind of backoff and its list may come from two places
    perform require_definition(v_declared || v_after, 'p_overrides');
    update definition d set overrides = v_after where d.def_id = v_def_id;
    perform put_definition_in_force(v_def_id, v_now);
    perform write_audit(system_tenant(), 'override', 'definition', p_definition, p_reason, v_before, v_after);
    perform ring(array(select d.queue_id from definition d where d.def_id = v_def_id));
end
$$;
comment on function override_definition(text, jsonb, text)
is 'Super-admin: sets fields of a definition instead of the code; a field with null is the code''s again. is_enabled switches it off and on.';

create or replace function set_queue(p_queue text, p_is_strict boolean, p_ageing_seconds integer, p_reason text) returns void
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_now timestamptz := clock();
    v_before jsonb;
begin
    perform require_pause(p_reason, null, v_now);
    if p_queue is null or p_queue !~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,119}$' then
        perform refuse('malformed', 'p_queue', p_queue, 'Use 1 to 120 of A-Z a-z 0-9 _ . : -, beginning with a letter or digit.');
    end if;
    if p_ageing_seconds not between 0 and 240000000 then
        perform refuse('out_of_range', 'p_ageing_seconds', p_ageing_seconds::text, 'Use 0 (time alone) to 240000000 (priority alone).');
    end if;
    perform ensure_queue(p_queue, v_now);
    select jsonb_build_object('is_strict', q.is_strict, 'ageing_seconds', q.ageing_seconds) into v_before
    from queue q where q.name = p_queue for update;
    update queue q
    set is_strict = coalesce(p_is_strict, q.is_strict), ageing_seconds = coalesce(p_ageing_seconds, q.ageing_seconds),
        turned_in = case when p_is_strict <> q.is_strict then pg_current_xact_id() else q.turned_in end
    where q.name = p_queue;
    perform turn_jobs(q.queue_id, 10000) from queue q where q.name = p_queue and q.turned_in is not null;
    perform write_audit(system_tenant(), 'set', 'queue', p_queue, p_reason, v_before,
        (select jsonb_build_object('is_strict', q.is_strict, 'ageing_seconds', q.ageing_seconds) from queue q where q.name = p_queue));
end
$$;
comment on function set_queue(text, boolean, integer, text)
is 'Super-admin: makes a queue or changes it (null: as it is). Ageing counts for jobs that become ready after it; a change of kind rewrites the ready jobs of the queue.';

-- Ready jobs change over with the kind of their queue: the first of them at once, the others with the next passes of
-- promote, in short transactions. Jobs that an open transaction holds or has yet to commit are found when all that was
-- open at the change has ended: only then is the queue done.
create or replace function turn_jobs(p_queue_id integer, p_jobs integer) returns integer
language plpgsql volatile
as $$
declare
    v_is_strict boolean;
    v_turned integer;
begin
    select q.is_strict into v_is_strict from queue q where q.queue_id = p_queue_id;
    with ready as materialized (
        select l.ctid as tid
        from live l
        where l.queue_id = p_queue_id and l.state = 0 and l.is_strict <> v_is_strict
        limit p_jobs
        for update of l skip locked
    )
    update live l set is_strict = v_is_strict from ready r where l.ctid = r.tid;
    get diagnostics v_turned = row_count;
    return v_turned;
end
$$;
comment on function turn_jobs(integer, integer) is 'Gives up to this many ready jobs of a queue the kind of their queue; answers how many.';

create or replace function turn_queues(p_jobs integer) returns integer
language plpgsql volatile
as $$
declare
    v_queue record;
    v_turned integer := 0;
begin
    for v_queue in
        select q.queue_id, q.is_strict, q.turned_in < pg_snapshot_xmin(pg_current_snapshot()) as is_settled
        from queue q where q.turned_in is not null
        for update skip locked
    loop
        v_turned := v_turned + turn_jobs(v_queue.queue_id, p_jobs);
        -- what is held at this moment is looked for again
        if v_queue.is_settled and not exists (
            select from live l where l.queue_id = v_queue.queue_id and l.state = 0 and l.is_strict <> v_queue.is_strict
        ) then
            update queue q set turned_in = null where q.queue_id = v_queue.queue_id;
        end if;
    end loop;
    return v_turned;
end
$$;
comment on function turn_queues(integer) is 'promote''s part: ready jobs of queues that were turned from fair to strict or back.';
