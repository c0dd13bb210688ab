-- Who calls: a signed token, or a login that is mapped to one tenant. Any doubt is no tenant, and no tenant sees no
-- rows. Only this file reads now(): a running transaction keeps the context it began with, and no test moves this clock.

-- Stable, as convert_to is: declared immutable it would not be inlined.
create or replace function hmac(p_inner_pad bytea, p_outer_pad bytea, p_text text) returns text
language sql stable parallel safe
as $$
    select encode(sha256(p_outer_pad || sha256(p_inner_pad || convert_to(p_text, 'UTF8'))), 'hex')
$$;
comment on function hmac(bytea, bytea, text) is 'HMAC-SHA256 in lower hex, from the two padded halves of the key: core functions alone.';

-- Kind t is good until a second at most 900 s ahead, kind x in the one transaction that began at this microsecond.
create or replace function is_within(p_kind text, p_limit bigint) returns boolean
language plpgsql stable parallel safe
as $$
begin
    if p_kind = 't' then
        return p_limit - extract(epoch from now()) between 0.000001 and 900;
    end if;
    return p_kind = 'x' and p_limit = extract(epoch from now()) * 1000000;
end
$$;
comment on function is_within(text, bigint) is 'Whether a token of this kind and limit is good at this moment.';

-- Strict mode is for whoever types free SQL: the tenant of such a login is that of its mapping. Without one it is nobody,
-- whatever token it found. A superuser is a member of every role and is not meant.
create or replace function is_strict_login() returns boolean
language plpgsql stable parallel safe
as $$
declare
    v_group regrole := to_regrole(quote_ident(current_schema() || '_tenant'));
begin
    return v_group is not null and pg_has_role(session_user, v_group, 'MEMBER')
        and not (select r.rolsuper from pg_roles r where r.rolname = session_user);
end
$$;
comment on function is_strict_login() is 'Whether this login is of the group whose tenant is fixed by a mapping.';

-- A token is kid.kind.tenant.scope.limit.actor.mac. Any doubt answers nulls. Called for every enqueue, where it is the
-- expressions that cost, each made ready anew in each transaction: one query, and as few of them as will do (one regular
-- expression over the whole token cost 30 us more).
create or replace function read_context(
    p_token text default current_setting('laneway.ctx', true), out tenant uuid, out scope text, out actor text
)
language plpgsql stable parallel safe
as $$
declare
    v_part text[];
    v_tenant uuid;
    v_scope text;
begin
    if length(p_token) between 110 and 300 then
        v_part := string_to_array(p_token, '.');
    end if;
    select l.tenant_id, l.scope, case
        -- both sides hashed once more: the time of the comparison tells nothing about the right mac
        when k.kid is null or cardinality(v_part) <> 7
            or sha256(convert_to(v_part[7], 'UTF8')) <> sha256(convert_to(hmac(k.inner_pad, k.outer_pad, left(p_token, -65)), 'UTF8'))
        then null
        when v_part[4] not in ('r', 'o', 'a')
            or length(v_part[5]) not between 1 and 16 or v_part[5] ~ '[^0-9]'
            or length(v_part[6]) not between 1 and 80 or v_part[6] ~ '[^A-Za-z0-9:_-]'
            or v_part[3] not like '________-____-____-____-____________' or translate(v_part[3], '0123456789abcdef', '') <> '----'
            -- the system tenant is administered, not entered
            or v_part[3] = system_tenant()::text
        then null
        else v_part[3]::uuid end
    into v_tenant, v_scope, tenant
    from (select) one
    left join context_key k on k.kid = v_part[1] and k.not_before <= now() and (k.not_after is null or k.not_after > now())
    left join tenant_login l on l.login = session_user;
    if p_token is null or p_token = '' then
        tenant := v_tenant;
        scope := v_scope;
        actor := case when v_tenant is not null then login_actor() end;
    elsif tenant is null then
        return;
    elsif v_tenant <> tenant or not is_within(v_part[2], v_part[5]::bigint) or (v_tenant is null and is_strict_login()) then
        tenant := null;
    else
        actor := v_part[6];
        -- a mapped login never gets more than its mapping gives
        scope := case when position(v_part[4] in 'roa') > position(v_scope in 'roa') then v_scope else v_part[4] end;
    end if;
end
$$;
comment on function read_context(text) is 'Tenant, scope and actor of the caller: mapping of the login, signed token, or nothing.';

create or replace function current_tenant() returns uuid
language sql stable parallel safe security definer set search_path from current
as 'select c.tenant from read_context() c';
comment on function current_tenant() is 'The tenant the caller may see, or null: then it sees no rows. All policies ask this one function.';

-- Verbs over all tenants are written down under the login: the context of a tenant names whoever its token says.
create or replace function login_actor() returns text
language sql stable parallel safe
as $$
    select 'login:' || left(session_user, 74)
$$;
comment on function login_actor() is 'Who calls a verb that needs no context, for the audit.';

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
    if v_context.tenant = p_tenant and position(v_context.scope in 'roa') >= position(p_scope in 'roa') then
        return v_context.actor;
    end if;
    if v_context.tenant is null or position(v_context.scope in 'roa') < position(p_scope in 'roa') then
        perform refuse('forbidden', 'context', null, 'Enter a tenant context with the scope this verb needs.');
    end if;
    if p_tenant is null then
        perform refuse('required', 'p_tenant', null, 'Name the tenant of the context.');
    end if;
    perform refuse('unknown', 'p_tenant', p_tenant::text, 'Name the tenant of the context.');
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
    if p_tenant = system_tenant() then
        perform refuse('forbidden', 'p_tenant', null, 'The system tenant is administered, not entered.');
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
    -- at once means for transactions that began before as well
    update context_key k
    set not_after = case when p_after_seconds = 0 then '-infinity' else now() + make_interval(secs => p_after_seconds) end
    where k.kid = p_kid;
    if not found then
        perform refuse('unknown', 'p_kid', p_kid, 'See laneway keys list.');
    end if;
    perform write_audit(system_tenant(), 'revoke_context_key', 'context_key', p_kid, null, null, null);
end
$$;
comment on function revoke_context_key(text, integer) is 'Ends a signing key, at once or after a rotation.';
