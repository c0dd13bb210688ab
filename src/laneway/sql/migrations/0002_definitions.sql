-- Queues, definitions, settings: global, read by every claim, written rarely.

create table setting (
    is_only boolean primary key default true check (is_only),
    lease_seconds integer not null default 60 check (lease_seconds between 5 and 3600),
    kill_grace_seconds integer not null default 5 check (kill_grace_seconds between 1 and 60),
    free_releases smallint not null default 10 check (free_releases between 0 and 1000),
    doorbell boolean not null default true,
    partition_days integer not null default 1 check (partition_days between 1 and 366),
    partitions_ahead integer not null default 14 check (partitions_ahead between 1 and 60)
);
insert into setting default values;
comment on table setting is 'The stored settings: one row.';
comment on column setting.is_only is 'Always true: there is one row.';
comment on column setting.lease_seconds is 'How long a claim owns its job without an extension.';
comment on column setting.kill_grace_seconds is 'How far past its deadline a lease may be extended, so that a worker can end the handler in order.';
comment on column setting.free_releases is 'How many releases of a job are refunded before they count as attempts.';
comment on column setting.doorbell is 'Whether enqueue sends a NOTIFY to sleeping workers. Off where NOTIFY cannot be used.';
comment on column setting.partition_days is 'Width of one partition of job and attempt, in days.';
comment on column setting.partitions_ahead is 'How many partitions are made ahead.';

create table queue (
    queue_id integer generated always as identity primary key,
    name text not null unique check (name ~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,119}$'),
    is_strict boolean not null default false,
    ageing_seconds integer not null default 60 check (ageing_seconds between 0 and 240000000),
    paused_at timestamptz,
    paused_until timestamptz,
    paused_by text,
    paused_reason text,
    turned_in xid8,
    created_at timestamptz not null
);
comment on table queue is 'A named line of work.';
comment on column queue.queue_id is 'Short id used in hot tables.';
comment on column queue.name is 'Its name.';
comment on column queue.is_strict is 'True: one order of priority over all tenants. False: tenants take turns.';
comment on column queue.ageing_seconds is 'How many seconds of waiting outweigh one step of priority. 0: time alone decides; huge: priority alone.';
comment on column queue.paused_at is 'Since when an operator holds back its claims. Null: not paused.';
comment on column queue.paused_until is 'When the pause ends by itself. Null: when somebody resumes it.';
comment on column queue.paused_by is 'Who paused it.';
comment on column queue.paused_reason is 'Why it is paused.';
comment on column queue.turned_in is 'The transaction that last turned it from fair to strict or back, until all its ready jobs have followed.';
comment on column queue.created_at is 'When it was created.';

create table definition (
    def_id integer generated always as identity primary key,
    key text not null unique check (key ~ '^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,119}$'),
    app text not null default 'main' check (app ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$'),
    queue_id integer not null references queue,
    description text not null default '',
    tags text[] not null default '{}',
    payload_schema jsonb,
    max_attempts integer not null default 3 check (max_attempts between 1 and 100),
    priority smallint not null default 100 check (priority between 0 and 1000),
    timeout_seconds integer not null default 3600 check (timeout_seconds between 1 and 604800),
    backoff_kind text not null default 'exponential' check (backoff_kind in ('exponential', 'linear', 'fixed', 'list')),
    backoff_base_seconds double precision not null default 5 check (backoff_base_seconds between 0 and 3600),
    backoff_factor double precision not null default 2 check (backoff_factor between 1 and 10),
    backoff_cap_seconds double precision not null default 3600 check (backoff_cap_seconds between 1 and 86400),
    backoff_jitter double precision not null default 0.2 check (backoff_jitter between 0 and 1),
    backoff_list_seconds double precision[],
    is_enabled boolean not null default true,
    is_system boolean not null default false,
    declared jsonb not null default '{}',
    overrides jsonb not null default '{}',
    definition_hash text not null default '',
    is_deleted_from_code boolean not null default false,
    paused_at timestamptz,
    paused_until timestamptz,
    paused_by text,
    paused_reason text,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    check (backoff_kind <> 'list' or cardinality(backoff_list_seconds) between 1 and 100)
);
create index definition_by_queue on definition (queue_id);
comment on table definition is 'A kind of job. Code declares it, an operator may override it; the columns hold what is in force.';
comment on column definition.def_id is 'Short id used in hot tables.';
comment on column definition.key is 'Its name in code, commands and URLs.';
comment on column definition.app is 'The code base that declares it: a sync of one never marks the definitions of another as deleted.';
comment on column definition.queue_id is 'The queue its new jobs go to.';
comment on column definition.description is 'What it does, for people.';
comment on column definition.tags is 'Words to find it by.';
comment on column definition.payload_schema is 'JSON Schema of its payload. Clients check it before they enqueue and workers before they run; SQL checks size and depth alone.';
comment on column definition.max_attempts is 'Attempts a new job gets.';
comment on column definition.priority is 'Priority of a new job that names none; lower runs first.';
comment on column definition.timeout_seconds is 'How long one attempt may take.';
comment on column definition.backoff_kind is 'How the wait before the next attempt grows.';
comment on column definition.backoff_base_seconds is 'The first wait.';
comment on column definition.backoff_factor is 'What each further wait is multiplied by (exponential).';
comment on column definition.backoff_cap_seconds is 'The longest wait.';
comment on column definition.backoff_jitter is 'Share of the wait that is drawn at random.';
comment on column definition.backoff_list_seconds is 'The waits themselves (list); the last one repeats.';
comment on column definition.is_enabled is 'False: nothing of it is enqueued or claimed.';
comment on column definition.is_system is 'True: belongs to the installation itself.';
comment on column definition.declared is 'What the code says, as synced.';
comment on column definition.overrides is 'What an operator set instead; sync leaves it alone unless forced.';
comment on column definition.definition_hash is 'Hash of declared, to see a change.';
comment on column definition.is_deleted_from_code is 'True when the last sync did not name it any more.';
comment on column definition.paused_at is 'Since when an operator holds back its claims. Null: not paused.';
comment on column definition.paused_until is 'When the pause ends by itself. Null: when somebody resumes it.';
comment on column definition.paused_by is 'Who paused it.';
comment on column definition.paused_reason is 'Why it is paused.';
comment on column definition.created_at is 'When it was first synced.';
comment on column definition.updated_at is 'When a sync or an operator last changed it.';
comment on sequence queue_queue_id_seq is 'Short ids of queues.';
comment on sequence definition_def_id_seq is 'Short ids of definitions.';
