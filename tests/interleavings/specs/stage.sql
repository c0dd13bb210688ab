-- What the specs stand on: a worker, a tenant, and in each permutation one job that is struck after it.
create schema spec;
create table spec.claimed (tenant_id uuid, job_id uuid, attempt integer);

create function spec.tenant() returns uuid language sql stable
as $$ select tenant_id from tenant where slug = 'spec' $$;

create function spec.worker() returns uuid language sql immutable
as $$ select '00000000-0000-0000-0000-00000000000a'::uuid $$;

create function spec.enter() returns void language sql volatile
as $$ select enter_tenant(spec.tenant(), 'a', 'spec') $$;

create function spec.claim(p_jobs integer) returns text language sql volatile
as $$ select coalesce(string_agg(c.payload #>> '{}', ' ' order by c.payload #>> '{}'), 'nothing')
    from claim(spec.worker(), 'default', p_jobs) c where c.job_id is not null $$;

create function spec.ready(p_names text[]) returns void language sql volatile
as $$
    select spec.enter();
    select enqueue_many(spec.tenant(), array['echo'], array(select to_jsonb(n) from unnest(p_names) n));
$$;

-- Runs, with its lease over.
create function spec.over() returns void language sql volatile
as $$
    select spec.ready(array['job']);
    insert into spec.claimed
    select c.tenant_id, c.job_id, c.attempt from claim(spec.worker(), 'default', 1) c where c.job_id is not null;
    select setval('laneway_test.clock', pg_sequence_last_value('laneway_test.clock') + 60000000);
$$;

create function spec.word(p_code smallint[]) returns text language sql immutable
as $$ select (array['stale', 'accepted', 'duplicate', 'busy'])[p_code[1] + 1] $$;

create function spec.complete() returns text language sql volatile
as $$ select spec.word(complete(spec.worker(), array[tenant_id], array[job_id], array[attempt])) from spec.claimed $$;

create function spec.extend() returns text language sql volatile
as $$
    select (array['stale', 'ok', 'cancel', 'busy'])[
        (extend(spec.worker(), array[tenant_id], array[job_id], array[attempt]))[1] + 1]
    from spec.claimed
$$;

create function spec.cancel() returns text language sql volatile
as $$
    select spec.enter();
    select a.answer from spec.claimed s cross join lateral cancel(s.tenant_id, array[s.job_id]) a;
$$;

create function spec.enqueue(p_name text, p_policy text) returns text language plpgsql volatile
as $$
declare
    v_answer record;
begin
    perform spec.enter();
    select * into v_answer from enqueue(spec.tenant(), 'echo', to_jsonb(p_name), p_dedupe_key => 'k', p_dedupe => p_policy);
    -- in a statement of its own: the winner may have committed meanwhile
    return case when v_answer.created then 'created'
        else (select 'is ' || (j.payload #>> '{}') from job j where j.id = v_answer.job_id) end;
end
$$;

create function spec.strike() returns table (job text, state text) language plpgsql volatile
as $$
begin
    return query select j.payload #>> '{}', state_of(j.tenant_id, j.id) from job j order by 1;
    delete from live; delete from later; delete from waiting; delete from job_key; delete from handover;
    delete from attempt; delete from job; delete from spec.claimed;
end
$$;

select sync_definitions('spec', '{"echo": {}}');
select create_tenant('spec');
select register_worker(spec.worker(), 'spec', 1, '1', 10, array['default'], array['echo']);
