-- Partitions of job, attempt and audit are made ahead; one that is missing costs nothing but a row in the default, which
-- an alarm watches. Created alone, then attached: "create .. partition of" would take an exclusive lock on the parent.

create or replace function make_partitions() returns integer
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_now timestamptz := clock();
    v_days integer;
    v_ahead integer;
    v_from timestamptz;
    v_made integer := 0;
begin
    perform from pass_lock p where p.pass = 'partitions' for update skip locked;
    if not found then
        return 0;
    end if;
    select s.partition_days, s.partitions_ahead into v_days, v_ahead from setting s;
    v_from := to_timestamp(floor(extract(epoch from v_now) / (86400 * v_days)) * 86400 * v_days);
    for i in 0..v_ahead - 1 loop
        v_made := v_made
            + make_partition('job', 'id', v_from + make_interval(days => i * v_days), v_from + make_interval(days => (i + 1) * v_days))
            + make_partition('attempt', 'job_id', v_from + make_interval(days => i * v_days), v_from + make_interval(days => (i + 1) * v_days));
    end loop;
    v_from := date_trunc('month', v_now at time zone 'UTC') at time zone 'UTC';
    for i in 0..1 loop
        v_made := v_made + make_partition('audit', 'id',
            (date_trunc('month', v_now at time zone 'UTC') + make_interval(months => i)) at time zone 'UTC',
            (date_trunc('month', v_now at time zone 'UTC') + make_interval(months => i + 1)) at time zone 'UTC');
    end loop;
    return v_made;
end
$$;
comment on function make_partitions() is 'Makes the partitions that the settings ask for and that are missing; answers how many.';

-- Dynamic, because a partition's name and bounds are data: names come from the catalogue and are quoted.
create or replace function make_partition(p_table text, p_column text, p_from timestamptz, p_to timestamptz) returns integer
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
    execute format('alter table %I.%I enable row level security', v_schema, v_name);
    execute format('alter table %I.%I attach partition %I.%I for values from (%L) to (%L)',
        v_schema, p_table, v_schema, v_name, id_at(p_from), id_at(p_to));
    return 1;
end
$$;
comment on function make_partition(text, text, timestamptz, timestamptz) is 'Makes one partition where it is missing.';

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
