-- Gates: places where a session of a test stands still until the test opens them. Which gate, at which points and after
-- how many of them is said by settings of the session; the lock is held by the test.
create or replace function laneway_test.stand(p_point text) returns void
language plpgsql
as $$
declare
    c_gates constant integer := hashtext('laneway_test.gate');
    v_gate integer := hashtext(current_setting('laneway_test.gate'));
    v_skip integer := coalesce(nullif(current_setting('laneway_test.gate_skip', true), ''), '0')::integer;
begin
    if p_point not like coalesce(nullif(current_setting('laneway_test.gate_at', true), ''), '%') then
        return;
    end if;
    if v_skip > 0 then
        perform set_config('laneway_test.gate_skip', (v_skip - 1)::text, false);
        return;
    end if;
    perform pg_advisory_lock_shared(c_gates, v_gate);
    perform pg_advisory_unlock_shared(c_gates, v_gate);
end
$$;

create or replace function laneway_test.stand_at_row() returns trigger
language plpgsql
as $$
begin
    -- the table by argument: a partition has another name
    perform laneway_test.stand(tg_argv[0] || '.' || lower(tg_op) || '.' || lower(tg_when));
    return case when tg_op = 'DELETE' then old else new end;
end
$$;

-- A BEFORE gate stands after the lock of the row and before its write; an AFTER gate at the end of the statement.
do $$
declare
    v_table text;
    v_when text;
begin
    foreach v_table in array array['job', 'live', 'later', 'waiting', 'job_key', 'handover', 'attempt'] loop
        foreach v_when in array array['before', 'after'] loop
            execute format('create or replace trigger laneway_test_%s %s insert or update or delete on laneway.%I'
                ' for each row when (coalesce(current_setting(''laneway_test.gate'', true), '''') <> '''')'
                ' execute function laneway_test.stand_at_row(%L)', v_when, v_when, v_table, v_table);
        end loop;
    end loop;
end
$$;

-- The clock of tests with a gate in front: a verb that stands here has read nothing yet, or stands between two reads.
create or replace function laneway.clock() returns timestamptz
language plpgsql volatile
as $$
begin
    if coalesce(current_setting('laneway_test.gate', true), '') <> '' then
        perform laneway_test.stand('clock');
    end if;
    return timestamptz '2026-01-01 00:00:00+00' + pg_sequence_last_value('laneway_test.clock') * interval '1 microsecond';
end
$$;
