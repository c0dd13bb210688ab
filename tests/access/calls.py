"""How every function that is granted to somebody is called: one line each. A function without one fails the tests.

Placeholders are ids of the seeded world: those of a job are of the tenant that the test means, of another,
or of nobody.
"""

from dataclasses import dataclass

__all__ = ["CALLS", "SCOPES", "Call"]

SCOPES = ("r", "o", "a")


@dataclass(frozen=True, slots=True)
class Call:
    arguments: str
    scope: str | None = None
    """The least scope of the context; None where the context does not matter."""
    keeps_ids: bool = False
    """Whether the answer names new ids or times, which differ from call to call."""

    @property
    def names_jobs(self) -> bool:
        """Whether it names something of a tenant besides the tenant itself."""
        return any(
            f"%({name})s" in self.arguments for name in ("queued", "scheduled", "running", "failed", "succeeded")
        )


_OWNED = "p_worker => %(worker)s, p_tenants => array[%(tenant)s]::uuid[], p_jobs => array[%(running)s]::uuid[]"
_REPORT = f"{_OWNED}, p_attempts => array[1]"

CALLS = {
    # of the caller's tenant
    "enqueue": Call("p_tenant => %(tenant)s, p_definition => 'echo'", "o", keeps_ids=True),
    "enqueue_many": Call(
        "p_tenant => %(tenant)s, p_definitions => array['echo'], p_payloads => array['{}']::jsonb[]",
        "o",
        keeps_ids=True,
    ),
    "cancel": Call(
        "p_tenant => %(tenant)s, p_jobs => array[%(queued)s, %(scheduled)s, %(running)s, %(failed)s]::uuid[]", "o"
    ),
    "retry": Call("p_tenant => %(tenant)s, p_jobs => array[%(failed)s, %(succeeded)s, %(running)s]::uuid[]", "o"),
    "run_again": Call("p_tenant => %(tenant)s, p_job => %(succeeded)s", "o", keeps_ids=True),
    "reschedule": Call(
        "p_tenant => %(tenant)s, p_jobs => array[%(queued)s, %(scheduled)s]::uuid[], p_delay_seconds => 60", "o"
    ),
    "run_now": Call("p_tenant => %(tenant)s, p_jobs => array[%(scheduled)s, %(running)s]::uuid[]", "o"),
    "pause_lane": Call("p_tenant => %(tenant)s, p_definition => 'echo', p_reason => 'a test'", "a"),
    "resume_lane": Call("p_tenant => %(tenant)s, p_definition => 'echo'", "a"),
    "list_jobs": Call("p_tenant => %(tenant)s", "r"),
    "get_job": Call("p_tenant => %(tenant)s, p_job => %(failed)s", "r"),
    "list_attempts": Call("p_tenant => %(tenant)s, p_job => %(failed)s", "r"),
    "count_jobs": Call("p_tenant => %(tenant)s", "r"),
    "list_audit": Call("p_tenant => %(tenant)s", "a"),
    # of whoever is granted them
    "current_tenant": Call(""),
    "enter": Call("p_token => null"),
    "enter_tenant": Call("p_tenant => %(tenant)s, p_scope => 'o', p_actor => 'somebody'"),
    "arm": Call("p_queue => 'default'"),
    "disarm": Call("p_queue => 'default'"),
    "claim": Call("p_worker => %(worker)s, p_queue => 'default', p_jobs => 1"),
    "claim_tenant": Call(
        "p_tenant => %(tenant)s, p_worker => %(worker)s, p_queue => 'default', p_defs => array[1], p_jobs => 1"
    ),
    "find_lanes": Call("p_worker => %(worker)s, p_queue => 'default', p_jobs => 1"),
    "complete": Call(_REPORT),
    "fail": Call(_REPORT),
    "snooze": Call(f"{_REPORT}, p_delays_seconds => array[1]"),
    "release": Call(_REPORT),
    "cancel_attempt": Call(_REPORT),
    "extend": Call(_REPORT),
    "finish_and_claim": Call(
        f"{_REPORT}, p_queue => 'default', p_results => null, p_lane_tenants => array[%(tenant)s]::uuid[],"
        " p_lane_defs => array[1], p_quotas => array[1]"
    ),
    "sweep": Call(""),
    "expire": Call(""),
    "promote": Call(""),
    "register_worker": Call(
        "p_worker => %(nobody)s, p_hostname => 'here', p_pid => 1, p_version => '1', p_slots => 1,"
        " p_queues => array['default'], p_definitions => array['echo']"
    ),
    "beat": Call("p_worker => %(worker)s"),
    "held": Call("p_worker => %(worker)s"),
    "end_worker": Call("p_worker => %(worker)s"),
    "drain_worker": Call("p_worker => %(worker)s, p_reason => 'a test'"),
    "force_cancel": Call(
        "p_tenant => %(tenant)s, p_jobs => array[%(queued)s, %(running)s]::uuid[], p_reason => 'a test'"
    ),
    "pause_queue": Call("p_queue => 'default', p_reason => 'a test'"),
    "resume_queue": Call("p_queue => 'default', p_reason => 'a test'"),
    "pause_definition": Call("p_definition => 'echo', p_reason => 'a test'"),
    "resume_definition": Call("p_definition => 'echo', p_reason => 'a test'"),
    "pause_tenant": Call("p_tenant => %(tenant)s, p_reason => 'a test'"),
    "resume_tenant": Call("p_tenant => %(tenant)s, p_reason => 'a test'"),
    "create_tenant": Call("p_slug => 'newcomer'"),
    "set_tenant_weight": Call("p_tenant => %(tenant)s, p_weight => 2, p_reason => 'a test'"),
    "suspend_tenant": Call("p_tenant => %(tenant)s, p_reason => 'a test'"),
    "unsuspend_tenant": Call("p_tenant => %(tenant)s, p_reason => 'a test'"),
    "map_login": Call("p_login => 'somebody', p_tenant => %(tenant)s"),
    "unmap_login": Call("p_login => 'lw_test_strict_1'"),
    "check_definitions": Call("""p_app => 'main', p_definitions => '{"echo": {}}'"""),
    "sync_definitions": Call("""p_app => 'main', p_definitions => '{"echo": {}}'"""),
    "force_definitions": Call("""p_app => 'main', p_definitions => '{"echo": {}}', p_reason => 'a test'"""),
    "override_definition": Call("p_definition => 'echo', p_overrides => '{}', p_reason => 'a test'"),
    "set_queue": Call("p_queue => 'default', p_is_strict => null, p_ageing_seconds => null, p_reason => 'a test'"),
    "make_partitions": Call(""),
    "list_queues": Call(""),
    "list_definitions": Call(""),
    "list_workers": Call(""),
    "list_tenants": Call(""),
}
