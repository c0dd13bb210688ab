-- Who calls: a signed token, or a login that is mapped to one tenant. Any doubt is no tenant, and no tenant sees no
-- rows. Only this file reads now(): a running transaction keeps the context it began with, and no test moves this clock.

create or replace function is_made_of(p_text text, p_characters text, p_shortest integer, p_longest integer) returns boolean
language sql immutable parallel safe
as $$
    select length(p_text) between p_shortest and p_longest and translate(p_text, p_characters, '') = ''
$$;
comment on function is_made_of(text, text, integer, integer) is 'Whether a text has only these characters and a length within bounds. Cheaper than a regular expression.';

create or replace function hmac(p_inner_pad bytea, p_outer_pad bytea, p_text text) returns text
language sql immutable parallel safe
as $$
    select encode(sha256(p_outer_pad || sha256(p_inner_pad || convert_to(p_text, 'UTF8'))), 'hex')
$$;
comment on function hmac(bytea, bytea, text) is 'HMAC-SHA256 in lower hex, from the two padded halves of the key: core functions alone.';

-- kid.kind.tenant.scope.limit.actor.mac; kind t is good until a second at most 900 s ahead, kind x in one transaction.
-- Answers nulls when there is any doubt. Called for every enqueue: its parts are cut and compared without regular
-- expressions, and the key comes from the caller's one query.
create or replace function read_token(
    p_token text, p_part text[], p_inner_pad bytea, p_outer_pad bytea, out tenant uuid, out scope text, out actor text
)
language plpgsql stable parallel safe
as $$
declare
    v_limit bigint;
    v_second double precision := extract(epoch from now());
begin
    -- both sides hashed once more: the time of the comparison tells nothing about the right mac
    if p_inner_pad is null or sha256(convert_to(p_part[7], 'UTF8'))
        <> sha256(convert_to(hmac(p_inner_pad, p_outer_pad, left(p_token, length(p_token) - 1 - length(p_part[7]))), 'UTF8'))
        or not is_made_of(p_part[5], '0123456789', 1, 16) then
        return;
    end if;
    v_limit := p_part[5]::bigint;
    if not ((p_part[2] = 't' and v_limit > v_second and v_limit <= v_second + 900)
            or (p_part[2] = 'x' and v_limit = (extract(epoch from now()) * 1000000)::bigint))
        or p_part[4] not in ('r', 'o', 'a')
        or not is_made_of(p_part[6], 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_-', 1, 80)
        or length(p_part[3]) <> 36
        or translate(p_part[3], '0123456789abcdef', '') <> '----'
        or substr(p_part[3], 9, 1) || substr(p_part[3], 14, 1) || substr(p_part[3], 19, 1) || substr(p_part[3], 24, 1) <> '----'
    then
        return;
    end if;
    tenant := p_part[3]::uuid;
    scope := p_part[4];
    actor := p_part[6];
end
$$;
comment on function read_token(text, text[], bytea, bytea) is 'What a signed token says, or nulls when there is any doubt about it.';

create or replace function read_context(out tenant uuid, out scope text, out actor text)
language plpgsql stable parallel safe
as $$
declare
    v_token text := current_setting('laneway.ctx', true);
    v_part text[];
    v_inner bytea;
    v_outer bytea;
    v_tenant uuid;
    v_scope text;
    v_said record;
begin
    if length(v_token) between 110 and 300 then
        v_part := string_to_array(v_token, '.');
    end if;
    select k.inner_pad, k.outer_pad, l.tenant_id, l.scope
    into v_inner, v_outer, v_tenant, v_scope
    from (select) one
    left join context_key k on k.kid = v_part[1] and cardinality(v_part) = 7 and k.not_before <= now()
        and (k.not_after is null or k.not_after > now())
    left join tenant_login l on l.login = session_user;
    if v_token is null or v_token = '' then
        tenant := v_tenant;
        scope := v_scope;
        actor := case when v_tenant is not null then 'login:' || left(session_user, 74) end;
        return;
    end if;
    v_said := read_token(v_token, v_part, v_inner, v_outer);
    if v_said.tenant is null or v_tenant <> v_said.tenant then
        return;
    end if;
    tenant := v_said.tenant;
    actor := v_said.actor;
    -- a mapped login never gets more than its mapping gives
    scope := case when position(v_said.scope in 'roa') > position(v_scope in 'roa') then v_scope else v_said.scope end;
end
$$;
comment on function read_context() is 'Tenant, scope and actor of the caller: mapping of the login, signed token, or nothing.';

create or replace function current_tenant() returns uuid
language sql stable parallel safe security definer set search_path from current
as 'select c.tenant from read_context() c';
comment on function current_tenant() is 'The tenant the caller may see, or null: then it sees no rows. All policies ask this one function.';

create or replace function current_actor() returns text
language sql stable parallel safe
as $$
    select coalesce((select c.actor from read_context() c), 'login:' || session_user)
$$;
comment on function current_actor() is 'Who calls, for the audit: the actor of the context, else the login.';

-- Every tenant function begins with this. A foreign tenant and one that does not exist get the same answer.
create or replace function require_tenant(p_scope text, p_tenant uuid, p_token text default null) returns text
language plpgsql stable
as $$
declare
    v_context record;
    v_set text;
begin
    if p_token is not null then
        v_set := set_config('laneway.ctx', p_token, true);
    end if;
    v_context := read_context();
    if v_context.tenant is null or position(v_context.scope in 'roa') < position(p_scope in 'roa') then
        perform refuse('forbidden', 'context', null, 'Enter a tenant context with the scope this verb needs.');
    end if;
    if p_tenant is null then
        perform refuse('required', 'p_tenant', null, 'Name the tenant of the context.');
    end if;
    if p_tenant <> v_context.tenant then
        perform refuse('unknown', 'p_tenant', p_tenant::text, 'Name the tenant of the context.');
    end if;
    return v_context.actor;
end
$$;
comment on function require_tenant(text, uuid, text) is 'Refuses unless the caller''s context is this tenant with at least this scope; answers the actor.';

create or replace function enter(p_token text) returns void
language plpgsql volatile security definer set search_path from current
as $$
begin
    perform set_config('laneway.ctx', p_token, true);
end
$$;
comment on function enter(text) is 'Enters a tenant context for the rest of the transaction, with a signed token as a bound parameter.';

create or replace function enter_tenant(p_tenant uuid, p_scope text, p_actor text) returns void
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_key context_key;
    v_text text;
begin
    if p_scope is null or p_scope not in ('r', 'o', 'a') then
        perform refuse('malformed', 'p_scope', p_scope, 'Use r (read), o (operate) or a (administer).');
    end if;
    if p_actor is null or p_actor !~ '^[A-Za-z0-9:_-]{1,80}$' then
        perform refuse('malformed', 'p_actor', p_actor, 'Use 1 to 80 of A-Z a-z 0-9 : _ -');
    end if;
    if not exists (select from tenant_control c where c.tenant_id = p_tenant) then
        perform refuse('unknown', 'p_tenant', p_tenant::text, 'Create the tenant first.');
    end if;
    select k.* into v_key
    from context_key k
    where k.not_before <= now() and (k.not_after is null or k.not_after > now())
    order by k.not_before desc, k.kid desc
    limit 1;
    if v_key.kid is null then
        perform refuse('required', 'context_key', null, 'Add a key: select add_context_key(''k1'').');
    end if;
    v_text := concat_ws('.', v_key.kid, 'x', p_tenant, p_scope, (extract(epoch from now()) * 1000000)::bigint, p_actor);
    perform set_config('laneway.ctx', v_text || '.' || hmac(v_key.inner_pad, v_key.outer_pad, v_text), true);
end
$$;
comment on function enter_tenant(uuid, text, text) is 'Trusted mode: enters a tenant without a token, for the rest of this transaction and no other.';

-- Keys are the owner's alone: whoever may add one can sign itself into any tenant. Granted to nobody; `laneway init` and
-- whoever may become the owner call them with the schema on the path.
-- The key is answered once, for the signer's environment. Without one given it comes from the server's strong random.
create or replace function add_context_key(p_kid text, p_key bytea default null) returns text
language plpgsql volatile
as $$
declare
    v_key bytea := coalesce(p_key, sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));
    v_padded bytea;
    v_inner bytea := decode(repeat('36', 64), 'hex');
    v_outer bytea := decode(repeat('5c', 64), 'hex');
begin
    if p_kid is null or p_kid !~ '^[A-Za-z0-9_-]{1,32}$' then
        perform refuse('malformed', 'p_kid', p_kid, 'Use 1 to 32 of A-Z a-z 0-9 _ -');
    end if;
    if octet_length(v_key) not between 32 and 64 then
        perform refuse('out_of_range', 'p_key', octet_length(v_key) || ' bytes', 'Give 32 to 64 random bytes, or none.');
    end if;
    if exists (select from context_key k where k.kid = p_kid) then
        perform refuse('conflict', 'p_kid', p_kid, 'Choose a key id that was never used.');
    end if;
    v_padded := v_key || decode(repeat('00', 64 - octet_length(v_key)), 'hex');
    for i in 0..63 loop
        v_inner := set_byte(v_inner, i, get_byte(v_padded, i) # 54);
        v_outer := set_byte(v_outer, i, get_byte(v_padded, i) # 92);
    end loop;
    insert into context_key (kid, inner_pad, outer_pad, not_before) values (p_kid, v_inner, v_outer, now());
    perform write_audit(system_tenant(), 'add_context_key', 'context_key', p_kid, null, null, null);
    return p_kid || ':' || translate(encode(v_key, 'base64'), E'\n', '');
end
$$;
comment on function add_context_key(text, bytea) is 'Adds a signing key and answers it once as kid:base64.';

create or replace function revoke_context_key(p_kid text, p_after_seconds integer default 0) returns void
language plpgsql volatile
as $$
begin
    if p_after_seconds is null or p_after_seconds not between 0 and 900 then
        perform refuse('out_of_range', 'p_after_seconds', p_after_seconds::text, 'Use 0 (at once) to 900 (tokens run out by themselves).');
    end if;
    update context_key k set not_after = now() + make_interval(secs => p_after_seconds) where k.kid = p_kid;
    if not found then
        perform refuse('unknown', 'p_kid', p_kid, 'See laneway keys list.');
    end if;
    perform write_audit(system_tenant(), 'revoke_context_key', 'context_key', p_kid, null, null, null);
end
$$;
comment on function revoke_context_key(text, integer) is 'Ends a signing key, at once or after a rotation.';
