"""What an operator of the installation says: tenants, definitions, queues, pauses, forced ends."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from kit.answers import JobAnswer, Promoted, Swept
from kit.owner_verbs import id_of
from kit.speaker import Speaker, typed


class AdminVerbs(Speaker):
    """Verbs without a tenant's context."""

    def tenant(self, slug: str = "acme", *, weight: int = 1, id: UUID | None = None) -> UUID:  # noqa: A002
        return self.value("create_tenant", slug=slug, tenant=id, weight=weight)

    def define(self, key: str = "echo", *, app: str = "main", **fields: Any) -> int:
        """Declares one definition beside those that this code base declared before; answers its short id."""
        declared = dict(
            self.rows("select key, declared from definition where app = %s and not is_deleted_from_code", [app])
        )
        self.sync(declared | {key: fields}, app=app)
        return self.def_id(key)

    def sync(self, definitions: dict[str, Any], *, app: str = "main") -> list[tuple[str, str, Any]]:
        """(key, change, overrides) of what code declares; what is not named any more is marked."""
        return self.call("sync_definitions", "key", "change", "overrides", app=app, definitions=Jsonb(definitions))

    def override(self, definition: str = "echo", *, reason: str = "test", **overrides: Any) -> None:
        self.call("override_definition", definition=definition, overrides=Jsonb(overrides), reason=reason)

    def def_id(self, key: str = "echo") -> int:
        return self.one("select def_id from definition where key = %s", [key])[0]

    def queue_id(self, name: str = "default") -> int:
        return self.one("select queue_id from queue where name = %s", [name])[0]

    def set_queue(
        self, queue: str = "default", *, is_strict: bool | None = None, ageing_seconds: int | None = None
    ) -> None:
        self.rows("select set_queue(%s, %s, %s, 'test')", [queue, is_strict, ageing_seconds])

    def set_setting(self, **settings: Any) -> None:
        """Writes stored settings: lease_seconds, kill_grace_seconds, free_releases, doorbell, .."""
        for name, value in settings.items():
            self.rows(f"update setting set {name} = %s", [value])

    def force_cancel(self, tenant: UUID, jobs: Sequence[UUID], *, reason: str = "test") -> list[JobAnswer]:
        rows = self.call(
            "force_cancel",
            "job_id",
            "answer",
            "state",
            tenant=tenant,
            jobs=typed(list(jobs), "uuid[]"),
            reason=reason,
        )
        return [JobAnswer(*row) for row in rows]

    def force_cancel_one(self, tenant: UUID, job: UUID, *, reason: str = "test") -> JobAnswer:
        return self.force_cancel(tenant, [job], reason=reason)[0]

    def pause_queue(
        self, queue: str = "default", *, reason: str | None = "test", until: datetime | None = None
    ) -> None:
        self.rows("select pause_queue(%s, %s, %s)", [queue, reason, until])

    def resume_queue(self, queue: str = "default", *, reason: str | None = "test") -> None:
        self.rows("select resume_queue(%s, %s)", [queue, reason])

    def pause_definition(
        self, definition: str = "echo", *, reason: str | None = "test", until: datetime | None = None
    ) -> None:
        self.rows("select pause_definition(%s, %s, %s)", [definition, reason, until])

    def resume_definition(self, definition: str = "echo", *, reason: str | None = "test") -> None:
        self.rows("select resume_definition(%s, %s)", [definition, reason])

    def pause_tenant(self, tenant: UUID, *, reason: str | None = "test", until: datetime | None = None) -> None:
        self.rows("select pause_tenant(%s, %s, %s)", [tenant, reason, until])

    def resume_tenant(self, tenant: UUID, *, reason: str | None = "test") -> None:
        self.rows("select resume_tenant(%s, %s)", [tenant, reason])

    def suspend_tenant(self, tenant: UUID, *, reason: str | None = "test") -> None:
        self.rows("select suspend_tenant(%s, %s)", [tenant, reason])

    def unsuspend_tenant(self, tenant: UUID, *, reason: str | None = "test") -> None:
        self.rows("select unsuspend_tenant(%s, %s)", [tenant, reason])

    def set_weight(self, tenant: UUID, weight: int) -> None:
        self.rows("select set_tenant_weight(%s, %s, 'test')", [tenant, weight])

    def drain_worker(self, worker: Any, *, reason: str = "test") -> None:
        self.rows("select drain_worker(%s, %s)", [id_of(worker), reason])

    def sweep(self, jobs: int = 1000) -> Swept:
        return Swept(*self.one("select swept, lost, timed_out, failed from sweep(%s)", [jobs]))

    def promote(self, jobs: int = 1000) -> Promoted:
        return Promoted(*self.one("select promoted, handed_over, next_due_at from promote(%s)", [jobs]))

    def expire(self, jobs: int = 1000) -> int:
        return self.one("select expire(%s)", [jobs])[0]

    def make_partitions(self) -> int:
        return self.one("select make_partitions()")[0]
