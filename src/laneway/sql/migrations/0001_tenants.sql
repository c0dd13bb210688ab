-- Tenants, what decides whether and how often they are served, and who may speak for them.

create table tenant (
    tenant_id uuid primary key,
    slug text not null unique check (slug ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
    name text not null default '' check (length(name) <= 200),
    is_system boolean not null default false,
    created_at timestamptz not null
);
comment on table tenant is 'A customer whose jobs these are. Global and rarely written; what changes at run time is in tenant_control.';
comment on column tenant.tenant_id is 'Its id, chosen by whoever creates it, or a new one.';
comment on column tenant.slug is 'Its short name in URLs and commands.';
comment on column tenant.name is 'Its name for people.';
comment on column tenant.is_system is 'True for the one reserved tenant that owns global work.';
comment on column tenant.created_at is 'When it was created.';

create table tenant_control (
    tenant_id uuid primary key,
    weight smallint not null default 1 check (weight between 1 and 1000),
    suspended_at timestamptz,
    suspended_by text,
    suspended_reason text,
    paused_at timestamptz,
    paused_until timestamptz,
    paused_by text,
    paused_reason text
);
comment on table tenant_control is 'What claim and enqueue ask about a tenant. A tenant table, so that one tenant is switched without touching a global row.';
comment on column tenant_control.tenant_id is 'The tenant.';
comment on column tenant_control.weight is 'Jobs per turn in relation to other tenants of the queue.';
comment on column tenant_control.suspended_at is 'When the tenant was last switched off: nothing of it is enqueued or claimed. Null: it is on.';
comment on column tenant_control.suspended_by is 'Who suspended it.';
comment on column tenant_control.suspended_reason is 'Why it is suspended.';
comment on column tenant_control.paused_at is 'Since when an operator holds back its claims. Null: not paused.';
comment on column tenant_control.paused_until is 'When the pause ends by itself. Null: when somebody resumes it.';
comment on column tenant_control.paused_by is 'Who paused it.';
comment on column tenant_control.paused_reason is 'Why it is paused.';

create table tenant_pair (
    tenant_id uuid not null,
    def_id integer not null,
    paused_at timestamptz,
    paused_until timestamptz,
    paused_by text,
    paused_reason text,
    primary key (tenant_id, def_id)
);
comment on table tenant_pair is 'What a tenant decides about its own jobs of one definition (def_id 0: of all).';
comment on column tenant_pair.tenant_id is 'The tenant.';
comment on column tenant_pair.def_id is 'The definition, 0 for all of them.';
comment on column tenant_pair.paused_at is 'Since when the tenant holds these jobs back. Null: not paused.';
comment on column tenant_pair.paused_until is 'When the pause ends by itself. Null: when somebody resumes it.';
comment on column tenant_pair.paused_by is 'Who paused it.';
comment on column tenant_pair.paused_reason is 'Why it is paused.';

create table tenant_login (
    login name primary key,
    tenant_id uuid not null,
    scope text not null default 'o' check (scope in ('r', 'o', 'a'))
);
comment on table tenant_login is 'Strict mode: a database login that speaks for one tenant and no other.';
comment on column tenant_login.login is 'The session user.';
comment on column tenant_login.tenant_id is 'The one tenant it sees.';
comment on column tenant_login.scope is 'What it may do there: r read, o operate, a administer.';

create table context_key (
    kid text primary key check (kid ~ '^[A-Za-z0-9_-]{1,32}$'),
    inner_pad bytea not null check (octet_length(inner_pad) = 64),
    outer_pad bytea not null check (octet_length(outer_pad) = 64),
    not_before timestamptz not null,
    not_after timestamptz
);
comment on table context_key is 'Keys that sign tenant contexts, as the two padded halves of HMAC. Nobody is granted this table; leave it out of dumps.';
comment on column context_key.kid is 'The id that tokens name.';
comment on column context_key.inner_pad is 'key xor 0x36.., 64 bytes.';
comment on column context_key.outer_pad is 'key xor 0x5c.., 64 bytes.';
comment on column context_key.not_before is 'From when tokens of this key count.';
comment on column context_key.not_after is 'Until when tokens of this key count. Null: no end.';

insert into tenant (tenant_id, slug, name, is_system, created_at)
values ('00000000-0000-0000-0000-000000000001', 'system', 'Work of the installation itself', true, clock_timestamp());
insert into tenant_control (tenant_id) values ('00000000-0000-0000-0000-000000000001');
