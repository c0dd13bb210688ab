-- What tables, policies and all other functions lean on. Signatures here never change.

-- The one clock. Tests put another body in its place; nothing else may read the time.
create or replace function clock() returns timestamptz
language sql volatile
as 'select clock_timestamp()';
comment on function clock() is 'The one clock of the system: tests replace its body, nothing else reads the time.';

-- uuidv7() is built in from 18 on. Below, the same shape by hand: milliseconds, twelve bits of the microsecond (ids of
-- one call stay in order), 62 random bits.
do $$
begin
    if current_setting('server_version_num')::integer >= 180000 then
        create or replace function new_id() returns uuid
        language sql volatile
        as 'select uuidv7()';
    else
        create or replace function new_id() returns uuid
        language sql volatile
        as $id$
            select (lpad(to_hex(t.us / 1000), 12, '0') || '7' || lpad(to_hex(t.us % 1000 * 4096 / 1000), 3, '0')
                || right(replace(gen_random_uuid()::text, '-', ''), 16))::uuid
            from (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as us) t
        $id$;
    end if;
end
$$;
comment on function new_id() is 'A new uuid of version 7: ordered by time, and unique.';

-- Ids of one call: the first 112 bits of one new id and the place of the item. A server without OpenSSL opens its source
-- of randomness for every id, 2 us each; this way a call does so once. In order, and distinct from all other calls by
-- time and 46 random bits.
create or replace function id_in_call(p_prefix text, p_place bigint) returns uuid
language sql stable strict parallel safe
as $$
    select (p_prefix || lpad(to_hex(p_place), 4, '0'))::uuid
$$;
comment on function id_in_call(text, bigint) is 'The id of the item at this place (1 to 65535) of a call, from the first 32 characters of a new id.';

-- Bounds of partitions and filters by time are bounds of ids.
create or replace function id_at(p_at timestamptz) returns uuid
language sql immutable strict parallel safe
as $$
    select (lpad(to_hex(floor(extract(epoch from p_at) * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid
$$;
comment on function id_at(timestamptz) is 'The lowest id that could have been made at this time.';

create or replace function id_time(p_id uuid) returns timestamptz
language sql immutable strict parallel safe
as $$
    select to_timestamp(('x' || left(replace(p_id::text, '-', ''), 12))::bit(48)::bigint / 1000.0)
$$;
comment on function id_time(uuid) is 'When this id was made, to the millisecond.';

-- Every refusal of a call: a stable code, the field, the value and the way out, each in a field of its own
-- (constraint, column, message, hint). Never the row: a DETAIL with a payload would leak it.
create or replace function refuse(p_code text, p_field text, p_value text, p_hint text) returns void
language plpgsql stable
as $$
declare
    v_value text := case when length(p_value) > 80 then left(p_value, 77) || '...' else coalesce(p_value, 'null') end;
    v_state text;
    v_text text;
begin
    case p_code
        when 'required' then v_state := '22004'; v_text := 'is missing';
        when 'out_of_range' then v_state := '22003'; v_text := format('%s is out of range', v_value);
        when 'malformed' then v_state := '22023'; v_text := format('"%s" is malformed', v_value);
        when 'too_large' then v_state := '54000'; v_text := format('%s is too large', v_value);
        when 'too_deep' then v_state := '54001'; v_text := format('%s is nested too deep', v_value);
        when 'unknown' then v_state := 'P0002'; v_text := format('"%s" is not known', v_value);
        when 'conflict' then v_state := '55000'; v_text := format('"%s" is in the way', v_value);
        when 'busy' then v_state := '55P03'; v_text := format('"%s" is held by another session', v_value);
        when 'isolation' then v_state := '25001'; v_text := format('"%s" cannot be used here', v_value);
        when 'forbidden' then v_state := '42501'; v_text := 'not allowed';
        else raise exception 'refuse: "%" is not a code', p_code using errcode = 'XX000';
    end case;
    raise exception using
        errcode = v_state,
        message = p_field || ': ' || v_text,
        hint = coalesce(p_hint, ''),
        column = p_field,
        constraint = p_code;
end
$$;
comment on function refuse(text, text, text, text) is 'Refuses a call: stable code, field, value and way out.';

create or replace function is_read_committed() returns boolean
language sql stable parallel safe
as $$
    select current_setting('transaction_isolation') in ('read committed', 'read uncommitted')
$$;
comment on function is_read_committed() is 'Whether each statement of this transaction sees what was committed before it.';

-- Claims count leases and keys of other sessions: an older snapshot misses some. Callers of worker verbs are ours.
create or replace function require_read_committed() returns void
language plpgsql stable
as $$
begin
    if not is_read_committed() then
        perform refuse('isolation', 'transaction_isolation', current_setting('transaction_isolation'),
            'Call worker verbs under read committed.');
    end if;
end
$$;
comment on function require_read_committed() is 'Refuses worker verbs under an older snapshot than the statement''s own.';

-- Depth first: the look for long numbers goes down without a limit. A number of 10 bytes may have 131,072 digits, or 16,383
-- zeros behind the point: one longer than any float is refused where the text could grow beyond reason.
create or replace function judge_large_document(p_document jsonb, p_bytes integer) returns smallint
language plpgsql stable parallel safe
as $$
begin
    if p_document @? 'strict $.**{32} ? (@.type() == "array" || @.type() == "object")' then
        return 4;
    end if;
    -- binary takes at most six times the text: small numbers are the worst
    if pg_column_size(p_document #> '{}') > 7 * p_bytes or exists (
        select from jsonb_path_query(p_document, 'strict $.** ? (@.type() == "number")') as n (value)
        where scale(n.value::numeric) > 1100 or abs(n.value::numeric) > 1e309
    ) or octet_length(concat(p_document)) > p_bytes then
        return 3;
    end if;
    return null;
end
$$;
comment on function judge_large_document(jsonb, integer) is 'judge_document for documents that could hold many long numbers.';

-- What a document may be, for payloads, results, errors and schemas: 3 too large, 4 too deep, null fits. Text is what counts.
-- A document under 256 bytes cannot be deep, a level costs 8 at least. `#> '{}'` gives the document as it is in memory: of
-- one that comes compressed from a table, pg_column_size tells a fraction. Stable, as concat is: else it is not
-- inlined, and a call costs more than the look.
create or replace function judge_document(p_document jsonb, p_bytes integer) returns smallint
language sql stable parallel safe
as $$
    select case
        when pg_column_size(p_document #> '{}') >= 16384 then judge_large_document(p_document, p_bytes)
        when pg_column_size(p_document #> '{}') >= 256
            and p_document @? 'strict $.**{32} ? (@.type() == "array" || @.type() == "object")' then 4::smallint
        when octet_length(concat(p_document)) > p_bytes then 3::smallint
    end
$$;
comment on function judge_document(jsonb, integer) is 'Whether a document is too large (3: its text takes more bytes than this) or too deep (4: more than 32 levels); null: it fits.';

-- What an answer shows of a document that was refused. Its text may be a thousand times what it takes in memory.
create or replace function show_document(p_document jsonb) returns text
language sql stable
as $$
    select case when judge_document(p_document, 65536) is null then left(concat(p_document), 80)
        else jsonb_typeof(p_document) || ' of ' || pg_column_size(p_document #> '{}') || ' bytes' end
$$;
comment on function show_document(jsonb) is 'The beginning of a document, or what it is where its text would be large.';
