-- Keys of jobs. The primary key of job_key decides who is first; a read before an insert decides nothing. Only who holds
-- the row of a job touches its keys. Enqueues of one key wait for each other's commit, and for nothing else.

-- Idempotency first, then dedupe, each kind in key order: two bulk calls with crossed keys never wait in a circle.
create or replace function settle_keys(
    p_tenant uuid, p_ids uuid[], p_defs integer[], p_wrongs smallint[], p_dedupe_keys text[], p_dedupe text[],
    p_windows double precision[], p_idempotency_keys text[], p_now timestamptz,
    out holders uuid[], out wrongs smallint[], out waits boolean[]
)
language plpgsql volatile
as $$
declare
    v_first uuid[];
    v_askers bigint[];
    v_leaders bigint[];
    v_order integer[];
    v_place integer;
    v_holder uuid;
    v_met record;
    i integer;
begin
    holders := p_ids;
    wrongs := p_wrongs;
    waits := array_fill(false, array[cardinality(p_ids)]);
    if p_idempotency_keys is not null then
        -- a repeat of what went in before its definition or tenant was switched off is answered with that job
        for i in 1..cardinality(p_ids) loop
            continue when wrongs[i] is null or wrongs[i] not in (2, 6) or p_idempotency_keys[i] is null;
            select k.job_id into v_holder
            from job_key k
            where k.tenant_id = p_tenant and k.def_id = p_defs[i] and k.kind = 2 and k.key = p_idempotency_keys[i];
            if v_holder is not null then
                holders[i] := v_holder;
                wrongs[i] := null;
            end if;
        end loop;
        v_first := take_keys(p_tenant, 2::smallint, p_ids, p_defs, wrongs, p_idempotency_keys, null, p_now);
        for i in 1..cardinality(p_ids) loop
            if wrongs[i] is null and p_idempotency_keys[i] is not null then
                holders[i] := v_first[i];
                if v_first[i] is null then wrongs[i] := 19; end if;
            end if;
        end loop;
    end if;
    if p_dedupe_keys is null then
        return;
    end if;
    -- items of one call with one key are judged as if they came one after the other: the last replace is what becomes of
    -- them, else the first. That one item asks for the key
    v_askers := array(
        select case when u.is_asking then coalesce(max(u.place) filter (where u.policy = 'replace') over key, min(u.place) over key) end
        from (
            select u.*, u.wrong is null and u.holder = u.id and u.key is not null as is_asking
            from unnest(p_ids, p_defs, p_dedupe_keys, p_dedupe, wrongs, holders) with ordinality
                as u (id, def_id, key, policy, wrong, holder, place)
        ) u
        window key as (partition by u.def_id, u.key, u.is_asking)
        order by u.place);
    v_first := take_keys(p_tenant, 0::smallint, p_ids, p_defs, wrongs,
        array(select case when a.asker = a.place then a.key end
            from unnest(p_dedupe_keys, v_askers) with ordinality as a (key, asker, place) order by a.place),
        p_windows, p_now);
    v_first := array(select v_first[a.asker] from unnest(v_askers) with ordinality as a (asker, place) order by a.place);
    -- of those that change something (requeue, replace) one meets the twin, and the others are answered with it
    v_leaders := array(
        select case when u.is_loser then coalesce(max(u.place) filter (where u.policy = 'replace') over key,
            min(u.place) filter (where u.policy = 'requeue') over key) end
        from (
            select u.*, u.asker is not null and u.first is distinct from u.id as is_loser
            from unnest(p_ids, p_defs, p_dedupe_keys, p_dedupe, v_askers, v_first) with ordinality
                as u (id, def_id, key, policy, asker, first, place)
        ) u
        window key as (partition by u.def_id, u.key, u.is_loser)
        order by u.place);
    -- leaders first, in key order: a place behind a twin is a key as well, for which two calls may wait
    v_order := array(
        select l.place
        from unnest(v_leaders, v_askers, v_first, p_ids, p_defs, p_dedupe_keys) with ordinality
            as l (leader, asker, first, id, def_id, key, place)
        where l.asker is not null and l.first is distinct from l.id
        order by l.leader is distinct from l.place, l.def_id, l.key, l.place);
    foreach i in array v_order loop
        if v_first[i] is null then
            wrongs[i] := 19;
        elsif v_leaders[i] <> i and (p_dedupe[i] in ('requeue', 'replace') or i > v_leaders[i]) then
            holders[i] := holders[v_leaders[i]];
            wrongs[i] := case when p_dedupe[i] = 'error' then 18 else wrongs[v_leaders[i]] end;
        else
            select * into v_met
            from meet_twin(p_tenant, p_defs[i], p_dedupe_keys[i], coalesce(p_dedupe[i], 'skip'), p_ids[i], v_first[i],
                p_windows[i], v_first[i] = any (p_ids), p_now);
            holders[i] := v_met.holder;
            wrongs[i] := v_met.wrong;
            waits[i] := v_met.waits;
        end if;
        -- a refused item leaves no idempotency key behind; where an earlier job answers, the key names that one
        if p_idempotency_keys[i] is not null and wrongs[i] is not null then
            delete from job_key k
            where k.tenant_id = p_tenant and k.def_id = p_defs[i] and k.kind = 2 and k.key = p_idempotency_keys[i] and k.job_id = p_ids[i];
        elsif p_idempotency_keys[i] is not null and holders[i] <> p_ids[i] then
            update job_key k
            set job_id = holders[i]
            where k.tenant_id = p_tenant and k.def_id = p_defs[i] and k.kind = 2 and k.key = p_idempotency_keys[i] and k.job_id = p_ids[i];
        end if;
    end loop;
    -- an item that was answered with another item of this call says what became of that one
    if p_idempotency_keys is not null then
        for i in 1..cardinality(p_ids) loop
            continue when wrongs[i] is not null or holders[i] = p_ids[i];
            v_place := array_position(p_ids, holders[i]);
            if v_place is not null then
                wrongs[i] := wrongs[v_place];
                holders[i] := holders[v_place];
            end if;
        end loop;
    end if;
end
$$;
comment on function settle_keys(uuid, uuid[], integer[], smallint[], text[], text[], double precision[], text[], timestamptz)
is 'Who holds each item''s keys: the item itself (it is new), an earlier job, or nobody that could be found (busy).';

-- Inserts the keys of one kind and answers, per item, the job that holds the key afterwards.
create or replace function take_keys(
    p_tenant uuid, p_kind smallint, p_ids uuid[], p_defs integer[], p_wrongs smallint[], p_keys text[], p_windows double precision[],
    p_now timestamptz
) returns uuid[]
language plpgsql volatile
as $$
declare
    v_holders uuid[];
    v_missing integer;
    v_timeout text := current_setting('lock_timeout');
begin
    for v_try in 1..3 loop
        -- in key order, so that two calls never wait in a circle; a key that vanished since is behind keys that this call
        -- holds by now, so the second and third try wait for nobody
        begin
            perform set_config('lock_timeout', case when v_try = 1 then v_timeout else '5ms' end, true);
            insert into job_key as k (tenant_id, def_id, kind, key, job_id, until)
            select p_tenant, u.def_id, p_kind, u.key, u.id, p_now + make_interval(secs => u.dedupe_window)
            from unnest(p_ids, p_defs, p_wrongs, p_keys, p_windows, v_holders) as u (id, def_id, wrong, key, dedupe_window, holder)
            where u.wrong is null and u.key is not null and u.holder is null
            order by u.def_id, u.key
            on conflict do nothing;
            perform set_config('lock_timeout', v_timeout, true);
        exception when lock_not_available then
            if v_try = 1 then
                raise;
            end if;
            exit;
        end;
        -- a window that is over, of a job that has ended: its key is taken over
        update job_key k
        set job_id = u.id, until = p_now + make_interval(secs => u.dedupe_window), is_ended = false
        from (
            select distinct on (u.def_id, u.key) u.* from unnest(p_ids, p_defs, p_wrongs, p_keys, p_windows)
                as u (id, def_id, wrong, key, dedupe_window)
            where u.wrong is null and u.key is not null and p_kind = 0
            order by u.def_id, u.key
        ) u
        where k.tenant_id = p_tenant and k.def_id = u.def_id and k.kind = p_kind and k.key = u.key
            and k.is_ended and k.until <= p_now;
        -- in a statement of its own: the insert cannot see the winner of its own conflict
        select array_agg(k.job_id order by u.place), count(*) filter (where u.wrong is null and u.key is not null and k.job_id is null)
        into v_holders, v_missing
        from unnest(p_ids, p_defs, p_wrongs, p_keys) with ordinality as u (id, def_id, wrong, key, place)
        left join lateral (
            -- above read committed a row that ended since the snapshot is seen beside the one just written: that one counts
            select k.job_id
            from job_key k
            where k.tenant_id = p_tenant and k.def_id = u.def_id and k.kind = p_kind and k.key = u.key
                and u.wrong is null and u.key is not null
            order by (k.job_id = u.id) desc
            limit 1
        ) k on true;
        exit when v_missing = 0;
    end loop;
    return v_holders;
end
$$;
comment on function take_keys(uuid, smallint, uuid[], integer[], smallint[], text[], double precision[], timestamptz)
is 'Takes keys for jobs where they are free; answers the holder of each, null where it vanished three times.';

-- The key is held by p_twin: what that means for a new job, by the policy of the call.
create or replace function meet_twin(
    p_tenant uuid, p_def integer, p_key text, p_policy text, p_new uuid, p_twin uuid, p_window double precision, p_is_of_call boolean,
    p_now timestamptz, out holder uuid, out wrong smallint, out waits boolean
)
language plpgsql volatile
as $$
declare
    v_until timestamptz := p_now + make_interval(secs => p_window);
    v_successor uuid;
begin
    holder := p_twin;
    waits := false;
    if p_policy = 'error' then
        wrong := 18;
        return;
    elsif p_policy = 'skip' or p_is_of_call or exists (
        -- the window of a job that has ended: whatever the policy, there is to be no other before it is over
        select from job_key k
        where k.tenant_id = p_tenant and k.def_id = p_def and k.kind = 0 and k.key = p_key and k.is_ended
    ) then
        return;
    elsif p_policy = 'requeue' then
        if not is_held_queued(p_tenant, p_twin) then
            select s.holder, s.wrong, s.waits into holder, wrong, waits
            from succeed_twin(p_tenant, p_def, p_key, p_new, p_twin, false, v_until, p_now) s;
        end if;
        return;
    end if;
    if cardinality(end_queued(array[p_tenant], array[p_twin], 4::smallint, 4::smallint, 'replaced by ' || p_new, p_now)) = 0 then
        select s.holder, s.wrong, s.waits into holder, wrong, waits
        from succeed_twin(p_tenant, p_def, p_key, p_new, p_twin, true, v_until, p_now) s;
        return;
    end if;
    -- what waited behind the twin is older than this one: it must not run after it
    select k.job_id into v_successor from job_key k where k.tenant_id = p_tenant and k.def_id = p_def and k.kind = 1 and k.key = p_key;
    perform end_queued(array[p_tenant], array[v_successor], 4::smallint, 4::smallint, 'replaced by ' || p_new, p_now)
    where v_successor is not null;
    -- no window is shortened by who comes after
    insert into job_key as k (tenant_id, def_id, kind, key, job_id, until)
    values (p_tenant, p_def, 0, p_key, p_new, v_until)
    on conflict (tenant_id, def_id, kind, key) do update
    set job_id = excluded.job_id, until = greatest(k.until, excluded.until), is_ended = false;
    holder := p_new;
end
$$;
comment on function meet_twin(uuid, integer, text, text, uuid, uuid, double precision, boolean, timestamptz)
is 'What becomes of a job whose dedupe key is held: the twin''s id, a refusal, its place, or a place behind it.';

-- requeue: whoever changes something while the twin is still queued may rely on the twin seeing the change. So it is
-- locked until the commit: else it could start before the change is visible, and the change would be lost.
create or replace function is_held_queued(p_tenant uuid, p_job uuid) returns boolean
language plpgsql volatile
as $$
begin
    perform from live l where l.tenant_id = p_tenant and l.job_id = p_job and l.state + 0 = 0 for share skip locked;
    if found then return true; end if;
    perform from later l where l.tenant_id = p_tenant and l.job_id = p_job for share skip locked;
    return found;
end
$$;
comment on function is_held_queued(uuid, uuid) is 'Locks a queued job where it stands, until the commit; false when it runs or somebody holds it.';

-- At most one successor waits behind a twin that runs: the first one (requeue), or the last one (replace).
create or replace function succeed_twin(
    p_tenant uuid, p_def integer, p_key text, p_new uuid, p_twin uuid, p_takes_place boolean, p_until timestamptz, p_now timestamptz,
    out holder uuid, out wrong smallint, out waits boolean
)
language plpgsql volatile
as $$
begin
    insert into job_key (tenant_id, def_id, kind, key, job_id, until) values (p_tenant, p_def, 1, p_key, p_new, p_until) on conflict do nothing;
    select k.job_id into holder
    from job_key k
    where k.tenant_id = p_tenant and k.def_id = p_def and k.kind = 1 and k.key = p_key
    order by (k.job_id = p_new) desc
    limit 1;
    waits := holder = p_new;
    if waits then
        return;
    end if;
    if holder is not null and not p_takes_place then
        -- as with a queued twin: it must not start before this commit is seen
        perform from waiting w where w.tenant_id = p_tenant and w.job_id = holder for share skip locked;
        wrong := case when not found then 19 end;
        return;
    end if;
    if holder is not null and cardinality(end_queued(array[p_tenant], array[holder], 4::smallint, 4::smallint,
        'replaced by ' || p_new, p_now)) = 1 then
        insert into job_key as k (tenant_id, def_id, kind, key, job_id, until) values (p_tenant, p_def, 1, p_key, p_new, p_until)
        on conflict (tenant_id, def_id, kind, key) do update
        set job_id = excluded.job_id, until = greatest(k.until, excluded.until);
        holder := p_new;
        waits := true;
    else
        holder := p_twin;
        wrong := 19;
        waits := false;
    end if;
end
$$;
comment on function succeed_twin(uuid, integer, text, uuid, uuid, boolean, timestamptz, timestamptz) is 'A place behind a running twin.';

-- Called by every end of a keyed job, in the statement after the one that took its row.
create or replace function end_keys(p_tenants uuid[], p_jobs uuid[], p_now timestamptz) returns void
language plpgsql volatile
as $$
begin
    with held as materialized (
        select k.tid, k.tenant_id, k.def_id, k.kind, k.key, k.until
        from unnest(p_tenants, p_jobs) as u (tenant_id, job_id)
        cross join lateral (
            select k.ctid as tid, k.* from job_key k
            where k.tenant_id = u.tenant_id and k.job_id = u.job_id and k.kind < 2 and not k.is_ended
            offset 0
        ) k
        order by k.tenant_id, k.def_id, k.kind, k.key
    ),
    over as (
        delete from job_key k using held h where k.ctid = h.tid and (h.kind = 1 or h.until is null or h.until <= p_now)
    ),
    kept as (
        update job_key k set is_ended = true from held h where k.ctid = h.tid and h.kind = 0 and h.until > p_now
    )
    insert into handover (tenant_id, id, kind, def_id, key)
    select h.tenant_id, new_id(), 1, h.def_id, h.key
    from held h
    where h.kind = 0 and (
        -- an older snapshot may not see the successor: promote looks
        not is_read_committed()
        or exists (
            select from job_key s
            where s.tenant_id = h.tenant_id and s.def_id = h.def_id and s.kind = 1 and s.key = h.key
        )
    );
end
$$;
comment on function end_keys(uuid[], uuid[], timestamptz) is 'Frees the dedupe keys of jobs that ended, keeps those whose window runs, and hands over to successors.';

-- The active key for a job that exists already (a successor, a retry): taken where no active job holds it, whatever
-- window an ended one left. Null: somebody is at it (an enqueue of this key that is still open, an end), come back. A key
-- that is an active job's is left alone, unlocked: the end of that job would wait for it.
create or replace function take_free_key(p_tenant uuid, p_def integer, p_key text, p_job uuid, p_until timestamptz) returns uuid
language plpgsql volatile
as $$
declare
    v_timeout text := current_setting('lock_timeout');
    v_count integer;
    v_row tid;
    v_key job_key;
begin
    begin
        perform set_config('lock_timeout', '5ms', true);
        insert into job_key (tenant_id, def_id, kind, key, job_id, until) values (p_tenant, p_def, 0, p_key, p_job, p_until)
        on conflict do nothing;
        get diagnostics v_count = row_count;
        perform set_config('lock_timeout', v_timeout, true);
        if v_count = 1 then
            return p_job;
        end if;
    exception when lock_not_available then
        return null;
    end;
    select k.ctid into v_row
    from job_key k
    where k.tenant_id = p_tenant and k.def_id = p_def and k.kind = 0 and k.key = p_key and k.is_ended
    for update skip locked;
    if v_row is not null then
        update job_key k
        set job_id = p_job, until = greatest(k.until, p_until), is_ended = false
        where k.ctid = v_row;
        return case when found then p_job end;
    end if;
    select k.* into v_key
    from job_key k where k.tenant_id = p_tenant and k.def_id = p_def and k.kind = 0 and k.key = p_key;
    return case when not v_key.is_ended then v_key.job_id end;
end
$$;
comment on function take_free_key(uuid, integer, text, uuid, timestamptz)
is 'Gives the active dedupe key to a job where no active job holds it; answers the holder, null when somebody is at it.';

-- promote's part: the successor of a key becomes its active job. Answers false when
-- somebody holds what must be decided, null when that was found out by waiting.
create or replace function hand_over_key(p_tenant uuid, p_def integer, p_key text, p_now timestamptz) returns boolean
language plpgsql volatile
as $$
declare
    v_successor uuid;
    v_until timestamptz;
    v_holder uuid;
    v_twin uuid;
    v_waiting waiting;
begin
    select k.job_id, k.until into v_successor, v_until
    from job_key k where k.tenant_id = p_tenant and k.def_id = p_def and k.kind = 1 and k.key = p_key;
    if v_successor is null then return true; end if;
    select k.job_id into v_twin
    from job_key k where k.tenant_id = p_tenant and k.def_id = p_def and k.kind = 0 and k.key = p_key and not k.is_ended;
    if v_twin is not null then
        -- alive and not held: it cannot end before this lock goes, and will see its successor then
        perform from live l where l.tenant_id = p_tenant and l.job_id = v_twin for update skip locked;
        if found then return true; end if;
        perform from later l where l.tenant_id = p_tenant and l.job_id = v_twin for update skip locked;
        return found;
    end if;
    select w.* into v_waiting from waiting w where w.tenant_id = p_tenant and w.job_id = v_successor for update skip locked;
    if v_waiting.job_id is null then
        return not exists (select from waiting w where w.tenant_id = p_tenant and w.job_id = v_successor);
    end if;
    v_holder := take_free_key(p_tenant, p_def, p_key, v_successor, v_until);
    if v_holder is distinct from v_successor then
        return case when v_holder is not null then false end;
    end if;
    delete from job_key k where k.tenant_id = p_tenant and k.def_id = p_def and k.kind = 1 and k.key = p_key;
    delete from waiting w where w.tenant_id = p_tenant and w.job_id = v_successor;
    -- in line from now on: what came while its twin ran goes first
    insert into later (due_at, tenant_id, job_id, queue_id, def_id, attempt, max_attempts, priority, releases, is_keyed, expires_at,
        timeout_seconds)
    values (greatest(v_waiting.run_at, p_now), p_tenant, v_successor, v_waiting.queue_id, p_def, 0, v_waiting.max_attempts, v_waiting.priority, 0, true,
        v_waiting.expires_at, v_waiting.timeout_seconds);
    return true;
end
$$;
comment on function hand_over_key(uuid, integer, text, timestamptz) is 'Makes the successor of a dedupe key its active job, where nobody is in the way.';
