-- Who changed what, when and why: written inside the verbs themselves.

create table audit (
    tenant_id uuid not null,
    id uuid not null,
    at timestamptz not null,
    actor text not null,
    verb text not null,
    target_kind text not null,
    target text not null,
    reason text,
    before jsonb,
    after jsonb,
    primary key (tenant_id, id)
) partition by range (id);
comment on table audit is 'Append-only: one row per verb that a person said with effect, or said again. Partitioned by id.';
comment on column audit.tenant_id is 'The tenant it is about; the system tenant for global things.';
comment on column audit.id is 'Its id, a uuid of version 7.';
comment on column audit.at is 'When.';
comment on column audit.actor is 'Who.';
comment on column audit.verb is 'Which verb.';
comment on column audit.target_kind is 'What kind of thing it changed.';
comment on column audit.target is 'Which one.';
comment on column audit.reason is 'Why, in the words of who did it.';
comment on column audit.before is 'What it was.';
comment on column audit.after is 'What it became.';
create table audit_default (like audit including defaults including constraints including storage including comments);
comment on table audit_default is 'Rows of audit for which no partition was made in time: an alarm when there are any.';
alter table audit attach partition audit_default default;
