-- Whose turn. A lane is (queue, tenant, definition), the prefix of live_ready; a claim hops from lane to lane, about
-- 10 us each, and never looks at a tenant without due work. The answer is a hint: who claims checks again.

create or replace function before_all_tenants() returns uuid
language sql immutable parallel safe
as $$
    select '00000000-0000-0000-0000-000000000000'::uuid
$$;
comment on function before_all_tenants() is 'The cursor from which a ring of tenants begins.';

-- Definitions that this worker cannot run are not looked at one by one: from the first of them the hop goes on to the next
-- one that it can. From (p_after, p_from_def) on, up to (p_until, p_until_def) in the second round of the ring: until the turns of the
-- tenants found reach p_jobs, then the rest of that last tenant's lanes, so that rank holds over all of its work.
create or replace function next_lanes(
    p_queue_id integer, p_defs integer[], p_now timestamptz, p_after uuid, p_from_def integer, p_until uuid, p_until_def integer,
    p_jobs integer, p_left integer, p_quantum integer, p_max_lanes integer,
    out tenants uuid[], out defs integer[], out weights integer[], out floors timestamptz[], out last_tenant uuid,
    out last_def integer, out turns integer, out is_end boolean
)
language plpgsql stable
as $$
begin
    with recursive hop as (
        select p_after as tenant_id, p_from_def as def_id, null::timestamptz as rank, p_from_def as hop_def, 0 as weight, 0 as kept,
            0 as looked, 0 as turns, false as is_counted
        union all
        select n.tenant_id, n.def_id, n.rank, c.hop_def, c.weight, h.kept + (c.weight > 0)::integer, h.looked + 1,
            h.turns + case
                when c.weight = 0 or (n.tenant_id = h.tenant_id and h.is_counted) then 0
                when n.tenant_id = p_after and p_left > 0 then p_left
                else c.weight * p_quantum
            end,
            c.weight > 0 or (n.tenant_id = h.tenant_id and h.is_counted)
        from hop h
        cross join lateral (
            select l.tenant_id, l.def_id, l.rank
            from live l
            where l.queue_id = p_queue_id and l.state = 0
                and (l.tenant_id, l.def_id) > (h.tenant_id, h.hop_def)
            order by l.tenant_id, l.def_id, l.rank
            limit 1
        ) n
        cross join lateral (
            select coalesce((select a.weight from serve_lane(n.tenant_id, n.def_id, p_defs, p_now) a), 0) as weight,
                case when n.def_id = any (p_defs) then n.def_id else coalesce(
                    (select min(d) - 1 from unnest(p_defs) d where d > n.def_id), 2147483647) end as hop_def
            offset 0
        ) c
        -- all lanes of the last tenant, whatever the limits say, or those behind would never be compared by rank
        where case when n.tenant_id = h.tenant_id and h.is_counted then h.looked < 2000
                else h.looked < 256 and h.kept < p_max_lanes and (h.turns < p_jobs or n.tenant_id = h.tenant_id) end
            and (p_until is null or (n.tenant_id, n.def_id) <= (p_until, p_until_def))
    )
    select coalesce(array_agg(h.tenant_id order by h.looked) filter (where h.weight > 0), '{}'),
        coalesce(array_agg(h.def_id order by h.looked) filter (where h.weight > 0), '{}'),
        coalesce(array_agg(h.weight order by h.looked) filter (where h.weight > 0), '{}'),
        coalesce(array_agg(h.rank order by h.looked) filter (where h.weight > 0), '{}'),
        (array_agg(h.tenant_id order by h.looked desc))[1],
        (array_agg(h.hop_def order by h.looked desc))[1],
        max(h.turns),
        -- stopped for want of lanes, not for having enough of them
        max(h.looked) < 256 and max(h.kept) < p_max_lanes and max(h.turns) < p_jobs
    into tenants, defs, weights, floors, last_tenant, last_def, turns, is_end
    from hop h;
end
$$;
comment on function next_lanes(integer, integer[], timestamptz, uuid, integer, uuid, integer, integer, integer, integer, integer)
is 'The next lanes of a queue with due work that this worker may serve, in ring order, with the weights of their tenants and the lowest rank of each.';

-- The ring has no end: where the lanes behind the cursor are not enough, those from its beginning up to the cursor follow.
create or replace function next_lanes_around(
    p_queue_id integer, p_defs integer[], p_now timestamptz, p_after uuid, p_from_def integer, p_jobs integer, p_left integer,
    p_quantum integer, p_max_lanes integer,
    out tenants uuid[], out defs integer[], out weights integer[], out floors timestamptz[], out last_tenant uuid,
    out last_def integer, out is_ring boolean
)
language plpgsql stable
as $$
declare
    v_lanes record;
begin
    v_lanes := next_lanes(p_queue_id, p_defs, p_now, p_after, p_from_def, null, null, p_jobs, p_left, p_quantum, p_max_lanes);
    tenants := v_lanes.tenants;
    defs := v_lanes.defs;
    weights := v_lanes.weights;
    floors := v_lanes.floors;
    if v_lanes.is_end and p_after <> before_all_tenants() then
        v_lanes := next_lanes(p_queue_id, p_defs, p_now, before_all_tenants(), -1, p_after, p_from_def,
            p_jobs - v_lanes.turns, 0, p_quantum, p_max_lanes);
        tenants := tenants || v_lanes.tenants;
        defs := defs || v_lanes.defs;
        weights := weights || v_lanes.weights;
        floors := floors || v_lanes.floors;
    end if;
    last_tenant := v_lanes.last_tenant;
    last_def := v_lanes.last_def;
    is_ring := v_lanes.is_end;
end
$$;
comment on function next_lanes_around(integer, integer[], timestamptz, uuid, integer, integer, integer, integer, integer)
is 'The next lanes of a queue from the cursor on and around the ring; is_ring says that they are all there are.';

-- A strict queue has one order over all tenants: the lowest ranks of its lanes, up to 256 of them, and where nobody may
-- serve those, of the lanes behind them.
create or replace function next_lanes_of_all(
    p_queue_id integer, p_defs integer[], p_now timestamptz, p_after uuid, p_from_def integer,
    out tenants uuid[], out defs integer[], out floors timestamptz[], out last_tenant uuid, out last_def integer, out is_end boolean
)
language plpgsql stable
as $$
declare
    v_lanes record;
begin
    last_tenant := p_after;
    last_def := p_from_def;
    for v_try in 1..8 loop
        v_lanes := next_lanes(p_queue_id, p_defs, p_now, last_tenant, last_def, null, null, 2147483647, 0, 1, 256);
        last_tenant := v_lanes.last_tenant;
        last_def := v_lanes.last_def;
        exit when cardinality(v_lanes.tenants) > 0 or v_lanes.is_end;
    end loop;
    tenants := v_lanes.tenants;
    defs := v_lanes.defs;
    floors := v_lanes.floors;
    is_end := v_lanes.is_end;
end
$$;
comment on function next_lanes_of_all(integer, integer[], timestamptz, uuid, integer)
is 'The next lanes of a queue with due work, whosever turn it is.';

-- How many jobs each lane's tenant gets of p_jobs, walking from the cursor: the first tenant the rest of its turn, the
-- others weight x quantum, the last cut off. Where the lanes are the whole ring and a round is smaller than p_jobs, full
-- rounds come first, exactly: a share computed by division would flatten weights below their sum.
create or replace function share_turns(
    p_tenants uuid[], p_weights integer[], p_quantum integer, p_after uuid, p_left integer, p_jobs integer, p_is_ring boolean,
    out quotas integer[], out next_after uuid, out next_left integer, out is_shared boolean
)
language plpgsql immutable
as $$
declare
    v_lanes integer := cardinality(p_tenants);
    v_round integer := 0;
    v_rounds integer := 0;
    v_rest integer := p_jobs;
    v_turn integer;
    v_due integer;
    v_part integer;
begin
    quotas := array_fill(0, array[v_lanes]);
    next_after := p_after;
    next_left := p_left;
    is_shared := false;
    if p_is_ring then
        for i in 1..v_lanes loop
            if i = 1 or p_tenants[i] <> p_tenants[i - 1] then
                v_round := v_round + p_weights[i] * p_quantum;
            end if;
        end loop;
        v_rounds := p_jobs / v_round;
        v_rest := p_jobs % v_round;
    end if;
    for i in 1..v_lanes loop
        if i > 1 and p_tenants[i] = p_tenants[i - 1] then
            quotas[i] := quotas[i - 1];
            is_shared := true;
        else
            v_turn := p_weights[i] * p_quantum;
            v_due := case when i = 1 and p_tenants[1] = p_after and p_left > 0 then least(p_left, v_turn) else v_turn end;
            v_part := least(v_due, v_rest);
            v_rest := v_rest - v_part;
            quotas[i] := v_rounds * v_turn + v_part;
            if v_part > 0 then
                next_after := p_tenants[i];
                next_left := v_due - v_part;
            end if;
        end if;
    end loop;
    if v_rest > 0 and p_is_ring then
        -- the ring began inside the first tenant's turn and ends with what that turn had given before
        for i in 1..v_lanes loop
            exit when p_tenants[i] <> p_tenants[1];
            quotas[i] := quotas[i] + v_rest;
        end loop;
        next_after := p_tenants[1];
        next_left := p_weights[1] * p_quantum - v_rest;
    end if;
end
$$;
comment on function share_turns(uuid[], integer[], integer, uuid, integer, integer, boolean)
is 'Splits a claim over lanes by weighted turns, and says where the next claim goes on.';
