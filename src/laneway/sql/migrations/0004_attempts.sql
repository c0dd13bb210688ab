-- One row per ended attempt; the last one carries the outcome of its job.

create table attempt (
    tenant_id uuid not null,
    job_id uuid not null,
    ready_at timestamptz,
    started_at timestamptz,
    ended_at timestamptz not null,
    worker_id uuid,
    attempt integer not null,
    def_id integer not null,
    queue_id integer not null,
    outcome smallint not null,
    final_state smallint,
    ended_by smallint,
    reason text,
    error jsonb,
    result jsonb,
    primary key (tenant_id, job_id, attempt)
) partition by range (job_id);
create index attempt_bad on attempt (tenant_id, job_id) where final_state > 1;
comment on table attempt is 'History: one row per ended attempt, never changed; a job that ended while it was queued has a row number 0, which a retry takes away. Partitioned like job.';
comment on column attempt.tenant_id is 'Whose job it was.';
comment on column attempt.job_id is 'The job.';
comment on column attempt.ready_at is 'Since when the job could be claimed for this attempt.';
comment on column attempt.started_at is 'When it was claimed.';
comment on column attempt.ended_at is 'When it ended.';
comment on column attempt.worker_id is 'The worker instance that owned it.';
comment on column attempt.attempt is 'Its number. 0: the job ended without an attempt (canceled or expired while queued); such a row wins over the others.';
comment on column attempt.def_id is 'The definition of the job.';
comment on column attempt.queue_id is 'The queue of the job.';
comment on column attempt.outcome is '1 succeeded, 2 failed, 3 timeout, 4 canceled, 5 lost, 6 released, 7 snoozed.';
comment on column attempt.final_state is 'State in which it left the job: 1 succeeded, 2 failed, 3 dead_letter, 4 canceled. Null: the job went on.';
comment on column attempt.ended_by is 'Who ended it: null the worker that owned it (or, in a row number 0, whoever the reason names), 1 the sweep, 2 an operator.';
comment on column attempt.reason is 'Why it ended so, for people.';
comment on column attempt.error is 'What the handler reported.';
comment on column attempt.result is 'What the handler returned.';
create table attempt_default (like attempt including defaults including constraints including storage including comments);
comment on table attempt_default is 'Rows of attempt for which no partition was made in time: an alarm when there are any.';
alter table attempt attach partition attempt_default default;
