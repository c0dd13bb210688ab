-- Partitions of job, attempt and audit are made ahead; one that is missing costs nothing but a row in the default, which
-- an alarm watches. Created alone, then attached: "create .. partition of" would take an exclusive lock on the parent.
-- An attach locks the default, for which a reader's open transaction stands in the way: it is tried for 100 ms and left for
-- the next pass, or all claims would queue up behind it.

create or replace function make_partitions(out made integer, out missing integer)
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_now timestamptz := clock();
    v_timeout text := current_setting('lock_timeout');
    v_part record;
begin
    made := 0;
    missing := 0;
    perform from pass_lock p where p.pass = 'partitions' for update skip locked;
    if not found then
        return;
    end if;
    for v_part in select * from wanted_partitions(v_now) loop
        begin
            perform set_config('lock_timeout', '100ms', true);
            made := made + make_partition(v_part.of_table, v_part.lower_at, v_part.upper_at);
        exception when lock_not_available then
            missing := missing + 1;
        end;
        -- one reader is in the way of all: the next would wait as long
        exit when missing > 0;
    end loop;
    perform set_config('lock_timeout', v_timeout, true);
end
$$;
comment on function make_partitions() is 'Makes the partitions that the settings ask for; answers how many, and whether one is missing because a reader is in the way.';

-- Bounds by seconds, not by days: a day of the session's time zone may have 23 or 25 hours.
create or replace function wanted_partitions(p_now timestamptz) returns table (of_table text, lower_at timestamptz, upper_at timestamptz)
language plpgsql stable
as $$
#variable_conflict use_column
declare
    v_width double precision;
    v_ahead integer;
begin
    select 86400.0 * s.partition_days, s.partitions_ahead into v_width, v_ahead from setting s;
    return query
    select t.name, to_timestamp((floor(extract(epoch from p_now) / v_width) + i) * v_width),
        to_timestamp((floor(extract(epoch from p_now) / v_width) + i + 1) * v_width)
    from generate_series(0, v_ahead - 1) i
    cross join (values ('job'), ('attempt')) as t (name)
    order by i, t.name;
    return query
    select 'audit', m.lower_at at time zone 'UTC', (m.lower_at + interval '1 month') at time zone 'UTC'
    from generate_series(date_trunc('month', p_now at time zone 'UTC'),
        date_trunc('month', p_now at time zone 'UTC') + interval '1 month', interval '1 month') as m (lower_at);
end
$$;
comment on function wanted_partitions(timestamptz) is 'The partitions that should exist at this time.';

-- Dynamic, because a partition's name and bounds are data: names come from the catalogue and are quoted.
create or replace function make_partition(p_table text, p_from timestamptz, p_to timestamptz) returns integer
language plpgsql volatile
as $$
declare
    v_name text := format('%s_%s', p_table, to_char(p_from at time zone 'UTC', 'YYYYMMDD'));
    v_schema text := (select n.nspname from pg_namespace n join pg_class c on c.relnamespace = n.oid where c.oid = 'live'::regclass);
begin
    if to_regclass(format('%I.%I', v_schema, v_name)) is not null then
        return 0;
    end if;
    if has_rows_between(p_table, p_from, p_to) then
        -- rows that came before their partition stay in the default: moving them would need an exclusive lock
        return 0;
    end if;
    execute format('create table %I.%I (like %I.%I including defaults including constraints including storage including comments)',
        v_schema, v_name, v_schema, p_table);
    execute format('comment on table %I.%I is %L', v_schema, v_name, format('Rows of %s made from %s to %s.', p_table, p_from, p_to));
    execute format('alter table %I.%I enable row level security', v_schema, v_name);
    execute format('alter table %I.%I attach partition %I.%I for values from (%L) to (%L)',
        v_schema, p_table, v_schema, v_name, id_at(p_from), id_at(p_to));
    return 1;
end
$$;
comment on function make_partition(text, timestamptz, timestamptz) is 'Makes one partition where it is missing.';

create or replace function has_rows_between(p_table text, p_from timestamptz, p_to timestamptz) returns boolean
language plpgsql stable
as $$
begin
    return case p_table
        when 'job' then exists (select from job_default d where d.id >= id_at(p_from) and d.id < id_at(p_to))
        when 'attempt' then exists (select from attempt_default d where d.job_id >= id_at(p_from) and d.job_id < id_at(p_to))
        else exists (select from audit_default d where d.id >= id_at(p_from) and d.id < id_at(p_to))
    end;
end
$$;
comment on function has_rows_between(text, timestamptz, timestamptz) is 'Whether a default partition has rows of these ids.';
