-- Workers as they registered themselves. Never one of the small tables that claims read.

create table worker (
    worker_id uuid primary key,
    hostname text not null check (length(hostname) <= 255),
    pid integer not null,
    version text not null check (length(version) <= 100),
    slots integer not null check (slots between 1 and 100000),
    queue_ids integer[] not null,
    def_ids integer[] not null,
    labels jsonb not null default '{}',
    registered_at timestamptz not null,
    seen_at timestamptz not null,
    draining_at timestamptz,
    ended_at timestamptz
) with (fillfactor = 50, vacuum_truncate = off);
comment on table worker is 'One row per start of a worker process.';
comment on column worker.worker_id is 'The instance: a fresh uuid per process start, half of the fence.';
comment on column worker.hostname is 'Where it runs.';
comment on column worker.pid is 'Its process id there.';
comment on column worker.version is 'Its release.';
comment on column worker.slots is 'How many attempts it can run at once.';
comment on column worker.queue_ids is 'The queues it serves.';
comment on column worker.def_ids is 'The definitions it can run.';
comment on column worker.labels is 'What it says about itself.';
comment on column worker.registered_at is 'When it registered.';
comment on column worker.seen_at is 'When it was last heard of.';
comment on column worker.draining_at is 'Since when it takes no more. Null: it does.';
comment on column worker.ended_at is 'When it said goodbye. Null: it has not.';
