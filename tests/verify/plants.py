"""A violation of every kind: what is done to a correct history, and what `verify` must then say, and nothing else."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plant:
    """`statement` breaks `invariant`, seen as `wrong`; `also`: invariants that cannot but break with it."""

    invariant: str
    wrong: str
    statement: str
    also: frozenset[str] = frozenset()


def plant(invariant: str, wrong: str, *statements: str, also: str = "") -> Plant:
    return Plant(invariant, wrong, ";".join(statements), frozenset(also.split()))


ATTEMPT = """
    insert into attempt
        (tenant_id, job_id, started_at, ended_at, worker_id, attempt, def_id, queue_id, outcome, final_state)
    select {tenant}, {job}, started_at, ended_at, worker_id, {number}, def_id, queue_id, 2, null
    from attempt where job_id = %(done)s"""
AUDIT = """insert into audit (tenant_id, id, at, actor, verb, target_kind, target)
    values ({tenant}, gen_random_uuid(), clock(), 'me', '{verb}', '{kind}', '{target}')"""

PLANTS = (
    plant(
        "I1",
        "starts before the one before it ended",
        "update attempt set ended_at = ended_at + interval '1 hour' where job_id = %(lost_then_done)s and attempt = 1",
    ),
    plant(
        "I1",
        "ends before it starts",
        "update attempt set ended_at = started_at - interval '1 second' where job_id = %(done)s",
    ),
    plant("I2", "has no owner", "update attempt set worker_id = null where job_id = %(done)s"),
    plant(
        "I2",
        "its owner never registered",
        "update attempt set worker_id = gen_random_uuid() where job_id = %(done)s",
    ),
    plant(
        "I2",
        "began before its owner registered",
        "update worker set registered_at = clock() + interval '1 second' where worker_id = %(worker)s",
    ),
    plant(
        "I2",
        "is open, and not the newest",
        ATTEMPT.format(tenant="%(acme)s", job="%(running)s", number=2),
        also="I1 I5",
    ),
    plant(
        "I2",
        "was ended by one who cannot say this",
        "update attempt set ended_by = null where job_id = %(lost_then_done)s and attempt = 1",
    ),
    plant("I2", "was ended by one who cannot say this", "update attempt set ended_by = 1 where job_id = %(done)s"),
    plant(
        "I2",
        "was ended by one who cannot say this",
        "update attempt set ended_by = 2 where job_id = %(failed)s",
        also="I20",
    ),
    plant(
        "I4",
        "ended more often than it was retried",
        "update attempt set final_state = 3 where job_id = %(retrying)s",
    ),
    plant(
        "I4",
        "went on after an end without a retry",
        "update attempt set final_state = 3 where job_id = %(lost_then_done)s and attempt = 1",
    ),
    plant(
        "I4",
        "went on after its success",
        "update attempt set outcome = 1, final_state = 1 where job_id = %(retried)s and attempt = 1",
    ),
    plant(
        "I4",
        "was retried from a state that is none to retry",
        'update audit set before = before || \'{"state": "succeeded"}\''
        " where verb = 'retry' and target = %(retried)s::text",
    ),
    plant("I5", "attempts", "delete from attempt where job_id = %(lost_then_done)s and attempt = 1"),
    plant("I5", "attempts", "update attempt set attempt = 3 where job_id = %(lost_then_done)s and attempt = 2"),
    plant("I5", "number", "update later set attempt = attempt + 1 where job_id = %(retrying)s"),
    plant("I6", "is in a state that is none", "update live set state = 2 where job_id = %(ready)s"),
    plant(
        "I6",
        "runs without owner, lease or deadline",
        "update live set deadline = null where job_id = %(running)s",
    ),
    plant(
        "I6",
        "is to be canceled, and does not run",
        "update live set is_cancel_requested = true where job_id = %(ready)s",
    ),
    plant(
        "I6",
        "has an owner, lease or deadline, and does not run",
        "update live set until = clock() where job_id = %(ready)s",
    ),
    plant(
        "I6",
        "has started, and may still expire",
        "update live set expires_at = clock() where job_id = %(running)s",
    ),
    plant(
        "I6",
        "has an outcome that does not lead to this state",
        "update attempt set outcome = 1 where job_id = %(failed)s",
    ),
    plant(
        "I6",
        "has an outcome that does not lead to this state",
        "update attempt set outcome = 6, final_state = 2 where job_id = %(failed)s",
    ),
    plant(
        "I6",
        "ended without an attempt, and neither canceled nor expired",
        "update attempt set outcome = 5 where job_id = %(canceled)s",
    ),
    plant("I6", "waits, and nothing will wake it", "delete from handover where key = 'k3'"),
    plant(
        "I7",
        "is in more than one phase table",
        "insert into later"
        " (due_at, tenant_id, job_id, queue_id, def_id, attempt, max_attempts, priority, releases, is_keyed)"
        " select clock(), tenant_id, job_id, queue_id, def_id, attempt, max_attempts, priority, releases, is_keyed"
        " from live where job_id = %(ready)s",
    ),
    plant(
        "I7",
        "has another definition in its phase table",
        "update live set def_id = %(mail)s where job_id = %(ready)s",
    ),
    plant("I7", "has another queue in its phase table", "update live set queue_id = 999 where job_id = %(ready)s"),
    plant("I7", "is nowhere: it neither waits nor ran nor ended", "delete from live where job_id = %(ready)s"),
    plant("I7", "is nowhere: its last attempt did not end it", "delete from later where job_id = %(retrying)s"),
    plant("I7", "has no tenant, definition or queue", "update job set queue_id = 999 where id = %(done)s"),
    plant("I7", "names a job of another tenant", "update job set rerun_of = %(foreign)s where id = %(rerun)s"),
    plant("I7", "has no job", "delete from job where id = %(ready)s"),
    plant(
        "I7",
        "has no definition",
        "insert into tenant_pair (tenant_id, def_id) values (%(acme)s, 999)",
    ),
    plant(
        "I7",
        "names a queue or definition that does not exist",
        "update worker set def_ids = def_ids || 999 where worker_id = %(worker)s",
    ),
    plant("I7", "is missing", "delete from tenant_control where tenant_id = %(globex)s"),
    plant(
        "I12",
        "has 2 jobs that are active",
        "update job set dedupe_key = 'k1' where id = %(parked)s",
    ),
    plant(
        "I12",
        "has 2 jobs that are waiting behind it",
        "update job set dedupe_key = 'k2' where id = %(to_be_woken)s",
    ),
    plant(
        "I12",
        "had two active jobs at one time",
        "update attempt set ended_at = ended_at + interval '1 hour' where job_id = %(first_twin)s",
    ),
    plant(
        "I12",
        "is not held by its job that is later",
        "update job_key set is_ended = true, until = clock() where job_id = %(keyed)s",
    ),
    plant(
        "I12",
        "is held as active by a job that is not",
        "insert into job_key (tenant_id, def_id, kind, key, job_id) values (%(acme)s, %(echo)s, 0, 'k9', %(done)s)",
    ),
    plant(
        "I12",
        "is kept for a window that it does not have",
        "update job_key set until = null where job_id = %(windowed)s",
    ),
    plant(
        "I14",
        "its lease is over before it began",
        "update live set until = started_at where job_id = %(running)s",
    ),
    plant(
        "I14",
        "its deadline is over before it began",
        "update live set deadline = started_at, until = started_at + interval '1 second' where job_id = %(running)s",
    ),
    plant(
        "I14",
        "its lease reaches past its deadline",
        "update live set until = deadline + interval '1 minute' where job_id = %(running)s",
    ),
    plant(
        "I14",
        "its deadline is not what its job was given",
        "update live set deadline = deadline + interval '1 second' where job_id = %(running)s",
    ),
    plant(
        "I14",
        "was lost while its lease ran",
        "update attempt set ended_at = started_at + interval '1 second'"
        " where job_id = %(lost_then_done)s and attempt = 1",
    ),
    plant(
        "I14",
        "was timed out before its deadline",
        "update attempt set ended_at = started_at + interval '9 seconds' where job_id = %(timed_out)s",
    ),
    plant(
        "I15",
        "had more attempts than it was given",
        "update job set max_attempts = 1 where id = %(lost_then_done)s",
    ),
    plant(
        "I15",
        "was given attempts that nobody refunded",
        "update later set max_attempts = 50 where job_id = %(retrying)s",
    ),
    plant("I15", "runs without an attempt left", "update live set max_attempts = 0 where job_id = %(running)s"),
    plant(
        "I15",
        "is queued without an attempt left",
        "update later set max_attempts = 1 where job_id = %(retrying)s",
    ),
    plant("I15", "counts its releases wrongly", "update later set releases = 1 where job_id = %(worn)s"),
    plant("I15", "was given up with attempts left", "update job set max_attempts = 9 where id = %(dead)s"),
    plant("I18", "is_keyed", "update later set is_keyed = false where job_id = %(keyed)s"),
    plant("I18", "definition.priority", "update definition set priority = 50 where key = 'mail'"),
    *(
        plant(
            "I20",
            "was done, and no audit row tells of it",
            f"delete from audit where verb = '{verb}' and target_kind = '{kind}' and target = {target}",
        )
        for verb, kind, target in (
            ("cancel", "job", "%(canceled)s::text"),
            ("cancel", "job", "%(canceled_at_failure)s::text"),
            ("cancel", "job", "%(asked)s::text"),
            ("force_cancel", "job", "%(forced)s::text"),
            ("pause", "tenant", "%(globex)s::text"),
            ("suspend", "tenant", "%(globex)s::text"),
            ("pause", "queue", "'held'"),
            ("pause", "definition", "'held'"),
            ("pause", "lane", "'held'"),
            ("override", "definition", "'mail'"),
            ("drain", "worker", "%(drained)s::text"),
            ("map_login", "login", "'someone'"),
        )
    ),
    plant(
        "I20",
        "was done, and no audit row tells of it",
        "delete from audit where verb = 'create' and target = %(acme)s::text",
    ),
    plant(
        "I20",
        "was done, and no audit row tells of it",
        "update audit set at = at - interval '1 day' where verb = 'cancel' and target = %(canceled)s::text",
    ),
    plant(
        "I20",
        "has a weight that no audit row tells of",
        "update tenant_control set weight = 7 where tenant_id = %(globex)s",
    ),
    plant(
        "I20",
        "repeats another job, and no audit row tells of it",
        "delete from audit where verb = 'run_again'",
    ),
    plant(
        "I20",
        "does not say who, or why where that is asked for",
        "update audit set actor = '' where verb = 'set_weight'",
    ),
    plant(
        "I20",
        "does not say who, or why where that is asked for",
        "update audit set reason = null where verb = 'force_cancel'",
    ),
)

# A row of each table that belongs to a tenant, with a tenant or a job that it cannot have.
ORPHANS = {
    "attempt": ATTEMPT.format(tenant="%(globex)s", job="%(done)s", number=1),
    "audit": AUDIT.format(tenant="gen_random_uuid()", verb="cancel", kind="job", target="?"),
    "handover": "insert into handover (tenant_id, id, kind, def_id, key)"
    " values (gen_random_uuid(), gen_random_uuid(), 1, %(echo)s, 'k')",
    "job": "update job set tenant_id = gen_random_uuid() where id = %(rerun)s;"
    "delete from live where job_id = %(rerun)s",
    "job_key": "insert into job_key (tenant_id, def_id, kind, key, job_id)"
    " values (%(globex)s, %(echo)s, 2, 'k', %(done)s)",
    "later": "update later set tenant_id = %(globex)s where job_id = %(parked)s",
    "live": "update live set tenant_id = %(globex)s where job_id = %(ready)s",
    "stuck": "insert into stuck (tenant_id, job_id, failures, not_before, error)"
    " values (gen_random_uuid(), %(done)s, 1, clock(), '')",
    "tenant": "delete from tenant where tenant_id = %(globex)s",
    "tenant_control": "insert into tenant_control (tenant_id) values (gen_random_uuid())",
    "tenant_login": "insert into tenant_login (login, tenant_id) values ('nobody', gen_random_uuid())",
    "tenant_pair": "insert into tenant_pair (tenant_id, def_id) values (gen_random_uuid(), %(echo)s)",
    "waiting": "insert into waiting (tenant_id, job_id, queue_id, def_id, max_attempts, priority, is_keyed, run_at)"
    " values (%(globex)s, %(done)s, 1, %(echo)s, 1, 1, true, clock())",
}
