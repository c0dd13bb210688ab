-- What people changed, written inside the verbs.

create or replace function system_tenant() returns uuid
language sql immutable parallel safe
as $$
    select '00000000-0000-0000-0000-000000000001'::uuid
$$;
comment on function system_tenant() is 'The reserved tenant that owns global work.';

create or replace function write_audit(
    p_tenant uuid, p_verb text, p_target_kind text, p_target text, p_reason text, p_before jsonb, p_after jsonb,
    p_actor text default login_actor()
) returns void
language plpgsql volatile
as $$
begin
    insert into audit (tenant_id, id, at, actor, verb, target_kind, target, reason, before, after)
    values (p_tenant, new_id(), clock(), p_actor, p_verb, p_target_kind, p_target, p_reason, p_before, p_after);
end
$$;
comment on function write_audit(uuid, text, text, text, text, jsonb, jsonb, text) is 'One audit row: of the login, or of the actor of a context that was checked.';

create or replace function require_reason(p_reason text) returns void
language plpgsql immutable
as $$
begin
    if length(p_reason) > 1000 then
        perform refuse('too_large', 'p_reason', length(p_reason) || ' characters', 'At most 1000 characters.');
    end if;
end
$$;
comment on function require_reason(text) is 'Refuses a reason that nobody would read; none is for the verb to judge.';
