-- A job by phase of its life. job is written once; live is the one narrow row of a due or running job, updated in
-- place by claim; later holds what is not due; waiting what another job must end first; attempt (0004) the history.
-- No foreign keys between them: a key-share lock on a definition or tenant in every enqueue makes multixacts on the
-- hottest rows. The functions keep the references and `laneway verify` proves them.

create table job (
    tenant_id uuid not null,
    def_id integer not null,
    id uuid not null,
    queue_id integer not null,
    max_attempts integer not null,
    priority smallint not null,
    source smallint not null,
    run_at timestamptz not null,
    timeout_seconds integer,
    expires_at timestamptz,
    rerun_of uuid,
    parent_id uuid,
    source_ref text,
    created_by text,
    correlation_id text,
    trace_id text,
    dedupe_key text,
    labels jsonb,
    payload jsonb not null,
    primary key (tenant_id, def_id, id)
) partition by range (id);
comment on table job is 'What was asked for: written once by enqueue, read by claim and by people. Partitioned by id, which is its time of creation.';
comment on column job.tenant_id is 'Whose job it is.';
comment on column job.def_id is 'Its definition.';
comment on column job.id is 'Its id, a uuid of version 7.';
comment on column job.queue_id is 'The queue it was put in.';
comment on column job.max_attempts is 'Attempts it was given; live and later carry what refunds and retries made of it.';
comment on column job.priority is 'Lower runs first.';
comment on column job.source is 'Who made it: 0 manual, 1 event, 2 schedule, 3 system, 4 another job.';
comment on column job.run_at is 'When it was first due (scheduled_for).';
comment on column job.timeout_seconds is 'How long one attempt may take. Null: as its definition says.';
comment on column job.expires_at is 'When it fails if it has not started by then. Null: never.';
comment on column job.rerun_of is 'The job that this one repeats (run_again).';
comment on column job.parent_id is 'The job whose handler enqueued it.';
comment on column job.source_ref is 'What made it, in words of the source: event, trigger or request id.';
comment on column job.created_by is 'The actor of the context that enqueued it.';
comment on column job.correlation_id is 'What it belongs to, in words of the application.';
comment on column job.trace_id is 'The trace it belongs to.';
comment on column job.dedupe_key is 'The key under which it has at most one active twin.';
comment on column job.labels is 'Words to find it by: a flat object of texts.';
comment on column job.payload is 'What its handler gets.';
create table job_default (like job including defaults including constraints including storage including comments);
comment on table job_default is 'Rows of job for which no partition was made in time: an alarm when there are any.';
alter table job attach partition job_default default;

create table live (
    rank timestamptz not null,
    ready_at timestamptz not null,
    tenant_id uuid not null,
    job_id uuid not null,
    queue_id integer not null,
    def_id integer not null,
    attempt integer not null,
    max_attempts integer not null,
    priority smallint not null,
    releases smallint not null,
    state smallint not null,
    is_strict boolean not null,
    is_cancel_requested boolean not null,
    is_keyed boolean not null,
    until timestamptz,
    started_at timestamptz,
    deadline timestamptz,
    worker_id uuid,
    expires_at timestamptz,
    timeout_seconds integer,
    -- each claim puts a second version of its row into the index: without room for it, clearing dead entries out of full
    -- pages was the dearest line of a drain, 8 %
    primary key (tenant_id, job_id) with (fillfactor = 70)
) with (
    fillfactor = 85,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0.2,
    -- giving space back takes an exclusive lock, for a table that fills again in the next second
    vacuum_truncate = off
);
create index live_ready on live (queue_id, tenant_id, def_id, rank, job_id) with (deduplicate_items = off) where state = 0;
create index live_strict on live (queue_id, rank, job_id) with (deduplicate_items = off) where state = 0 and is_strict;
create index live_lease on live (tenant_id, def_id) with (deduplicate_items = off) where state = 1;
create index live_expire on live (expires_at) where expires_at is not null and state <> 1;
comment on table live is 'One narrow row per due or running job. The primary key is the promise that a job exists once.';
comment on column live.rank is 'Place in its lane: ready_at plus priority times the ageing of the queue.';
comment on column live.ready_at is 'Since when it could be claimed.';
comment on column live.tenant_id is 'Whose job it is.';
comment on column live.job_id is 'The job.';
comment on column live.queue_id is 'Its queue.';
comment on column live.def_id is 'Its definition.';
comment on column live.attempt is 'Number of the last claim; with worker_id the fence. It only grows.';
comment on column live.max_attempts is 'Attempts it has, refunds included.';
comment on column live.priority is 'Lower runs first.';
comment on column live.releases is 'Releases so far; the first ones are refunded.';
comment on column live.state is '0 ready, 1 running.';
comment on column live.is_strict is 'Whether its queue was strict when it became ready: such a job is in the index of one global order as well.';
comment on column live.is_cancel_requested is 'Somebody canceled it while it was running.';
comment on column live.is_keyed is 'Whether it has rows in job_key, to be looked at when it ends.';
comment on column live.until is 'When its lease is over.';
comment on column live.started_at is 'When the running attempt was claimed.';
comment on column live.deadline is 'When the running attempt has used up its time.';
comment on column live.worker_id is 'The worker instance that owns it.';
comment on column live.expires_at is 'When it fails if it has not started by then.';
comment on column live.timeout_seconds is 'How long one attempt may take. Null: as its definition says.';

create table later (
    due_at timestamptz not null,
    tenant_id uuid not null,
    job_id uuid not null,
    queue_id integer not null,
    def_id integer not null,
    attempt integer not null,
    max_attempts integer not null,
    priority smallint not null,
    releases smallint not null,
    is_keyed boolean not null,
    expires_at timestamptz,
    timeout_seconds integer,
    primary key (tenant_id, job_id)
) with (
    fillfactor = 90,
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0,
    vacuum_truncate = off
);
create index later_due on later (due_at);
create index later_by_tenant on later (tenant_id, due_at);
create index later_expire on later (expires_at) where expires_at is not null;
comment on table later is 'Jobs that are not due: scheduled, snoozed or waiting for their next attempt. They cost a claim nothing.';
comment on column later.due_at is 'When promote makes it ready.';
comment on column later.tenant_id is 'Whose job it is.';
comment on column later.job_id is 'The job.';
comment on column later.queue_id is 'Its queue.';
comment on column later.def_id is 'Its definition.';
comment on column later.attempt is 'Number of the last claim, 0 before the first.';
comment on column later.max_attempts is 'Attempts it has, refunds included.';
comment on column later.priority is 'Lower runs first.';
comment on column later.releases is 'Releases so far.';
comment on column later.is_keyed is 'Whether it has rows in job_key.';
comment on column later.expires_at is 'When it fails if it has not started by then.';
comment on column later.timeout_seconds is 'How long one attempt may take. Null: as its definition says.';

create table waiting (
    tenant_id uuid not null,
    job_id uuid not null,
    queue_id integer not null,
    def_id integer not null,
    max_attempts integer not null,
    priority smallint not null,
    is_keyed boolean not null,
    run_at timestamptz not null,
    expires_at timestamptz,
    timeout_seconds integer,
    primary key (tenant_id, job_id)
) with (vacuum_truncate = off);
create index waiting_expire on waiting (expires_at) where expires_at is not null;
comment on table waiting is 'Jobs that wait for another job to end: the successor of a running twin (dedupe requeue).';
comment on column waiting.tenant_id is 'Whose job it is.';
comment on column waiting.job_id is 'The job.';
comment on column waiting.queue_id is 'Its queue.';
comment on column waiting.def_id is 'Its definition.';
comment on column waiting.max_attempts is 'Attempts it has.';
comment on column waiting.priority is 'Lower runs first.';
comment on column waiting.is_keyed is 'Whether it has rows in job_key.';
comment on column waiting.run_at is 'When it is due once nothing is in its way.';
comment on column waiting.expires_at is 'When it fails if it has not started by then.';
comment on column waiting.timeout_seconds is 'How long one attempt may take. Null: as its definition says.';

create table job_key (
    tenant_id uuid not null,
    def_id integer not null,
    kind smallint not null,
    key text not null,
    job_id uuid not null,
    until timestamptz,
    is_ended boolean not null default false,
    primary key (tenant_id, def_id, kind, key)
) with (vacuum_truncate = off);
create index job_key_by_job on job_key (tenant_id, job_id);
create index job_key_over on job_key (until) where is_ended;
comment on table job_key is 'Dedupe and idempotency keys, only for jobs that have one. Its primary key decides who is first, never a read before.';
comment on column job_key.tenant_id is 'Whose key it is.';
comment on column job_key.def_id is 'The definition it counts for.';
comment on column job_key.kind is '0 active dedupe key, 1 successor of the active one, 2 idempotency key.';
comment on column job_key.key is 'The key.';
comment on column job_key.job_id is 'The job that holds it.';
comment on column job_key.until is 'End of the dedupe window. Null: it ends with its job (dedupe) or with retention (idempotency).';
comment on column job_key.is_ended is 'Its job has ended; only the window keeps it.';

create table handover (
    tenant_id uuid not null,
    id uuid not null,
    kind smallint not null,
    def_id integer not null,
    key text not null,
    primary key (tenant_id, id)
) with (vacuum_truncate = off);
comment on table handover is '"Look at this again": written by a verb that could not decide, drained by promote.';
comment on column handover.tenant_id is 'Whose it is.';
comment on column handover.id is 'Its own id, so that two never conflict.';
comment on column handover.kind is '1: a successor that may become the active job of its key.';
comment on column handover.def_id is 'The definition.';
comment on column handover.key is 'The dedupe key.';

create table stuck (
    tenant_id uuid not null,
    job_id uuid not null,
    failures integer not null,
    not_before timestamptz not null,
    error text not null,
    primary key (tenant_id, job_id)
) with (vacuum_truncate = off);
comment on table stuck is 'Leases that are over and that the sweep could not end: left alone for a growing time, so that they hide no other.';
comment on column stuck.tenant_id is 'Whose job it is.';
comment on column stuck.job_id is 'The job.';
comment on column stuck.failures is 'How often the sweep failed on it.';
comment on column stuck.not_before is 'When the sweep tries again.';
comment on column stuck.error is 'What it said.';

create table pass_lock (
    pass text primary key,
    reached uuid
);
insert into pass_lock (pass) values ('sweep'), ('promote'), ('handover'), ('expire'), ('partitions');
comment on table pass_lock is 'One row per pass that runs alone. A row lock of ours cannot be held by a stranger as an advisory lock can.';
comment on column pass_lock.pass is 'The pass.';
comment on column pass_lock.reached is 'The tenant behind which the next pass goes on: only where one had more to do than it may.';
