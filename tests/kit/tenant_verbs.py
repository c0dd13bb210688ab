"""What tenants and operators say: enqueue, and everything that is done to jobs, lanes, queues and tenants."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from kit.answers import EnqueueAnswer, JobAnswer
from kit.speaker import Given, Speaker, document, documents, typed

ENQUEUED = ("job_id", "created", "refusal", "field", "value", "hint")
# name of an option of enqueue: its type, its name in enqueue_many
OPTIONS = {
    "priority": ("integer", "priorities"),
    "delay_seconds": ("float8", "delays_seconds"),
    "run_at": ("timestamptz", "run_at"),
    "expires_seconds": ("float8", "expires_seconds"),
    "max_attempts": ("integer", "max_attempts"),
    "timeout_seconds": ("integer", "timeouts_seconds"),
    "dedupe_key": ("text", "dedupe_keys"),
    "dedupe": ("text", "dedupe"),
    "dedupe_window_seconds": ("float8", "dedupe_windows_seconds"),
    "idempotency_key": ("text", "idempotency_keys"),
    "labels": ("jsonb", "labels"),
    "correlation_id": ("text", "correlation_ids"),
    "trace_id": ("text", "trace_ids"),
    "source_ref": ("text", "source_refs"),
}


class TenantVerbs(Speaker):
    """Verbs in a tenant's context. `scope` and `actor` are those of the context."""

    def enqueue(
        self,
        tenant: UUID,
        definition: str = "echo",
        payload: Any = None,
        *,
        scope: str = "o",
        actor: str = "tester",
        **options: Any,
    ) -> EnqueueAnswer:
        given = {name: option(name, value) for name, value in options.items()}
        (row,) = self.call_as(
            tenant,
            "enqueue",
            *ENQUEUED,
            scope=scope,
            actor=actor,
            tenant=tenant,
            definition=definition,
            payload=document(payload),
            **given,
        )
        return EnqueueAnswer(*row)

    def enqueue_many(
        self,
        tenant: UUID,
        items: Sequence[Mapping[str, Any]],
        *,
        definition: str = "echo",
        scope: str = "o",
        actor: str = "tester",
    ) -> list[EnqueueAnswer]:
        """Each item may have definition, payload and the options of enqueue."""
        definitions = [item.get("definition", definition) for item in items]
        named = {name for item in items for name in item} - {"definition", "payload"}
        rows = self.call_as(
            tenant,
            "enqueue_many",
            *ENQUEUED,
            scope=scope,
            actor=actor,
            tenant=tenant,
            definitions=typed(definitions[:1] if len(set(definitions)) == 1 else definitions, "text[]"),
            payloads=typed(documents([item.get("payload", {}) for item in items]), "jsonb[]"),
            **dict(option_of_all(name, items) for name in sorted(named)),
        )
        return [EnqueueAnswer(*row) for row in rows]

    def cancel(
        self, tenant: UUID, jobs: Sequence[UUID], *, reason: str | None = None, scope: str = "o", actor: str = "tester"
    ) -> list[JobAnswer]:
        return self._do("cancel", tenant, jobs, scope=scope, actor=actor, reason=reason)

    def retry(
        self, tenant: UUID, jobs: Sequence[UUID], *, reason: str | None = None, scope: str = "o", actor: str = "tester"
    ) -> list[JobAnswer]:
        rows = self.call_as(
            tenant,
            "retry",
            "job_id",
            "answer",
            "state",
            "active_twin",
            scope=scope,
            actor=actor,
            tenant=tenant,
            jobs=typed(list(jobs), "uuid[]"),
            reason=reason,
        )
        return [JobAnswer(*row) for row in rows]

    def reschedule(
        self,
        tenant: UUID,
        jobs: Sequence[UUID],
        *,
        run_at: datetime | None = None,
        delay_seconds: float | None = None,
        reason: str | None = None,
        scope: str = "o",
        actor: str = "tester",
    ) -> list[JobAnswer]:
        return self._do(
            "reschedule",
            tenant,
            jobs,
            scope=scope,
            actor=actor,
            run_at=run_at,
            delay_seconds=delay_seconds,
            reason=reason,
        )

    def run_now(
        self, tenant: UUID, jobs: Sequence[UUID], *, reason: str | None = None, scope: str = "o", actor: str = "tester"
    ) -> list[JobAnswer]:
        return self._do("run_now", tenant, jobs, scope=scope, actor=actor, reason=reason)

    def run_again(
        self,
        tenant: UUID,
        job: UUID,
        *,
        payload: Any = None,
        reason: str | None = None,
        scope: str = "o",
        actor: str = "tester",
    ) -> EnqueueAnswer:
        (row,) = self.call_as(
            tenant,
            "run_again",
            *ENQUEUED,
            scope=scope,
            actor=actor,
            tenant=tenant,
            job=job,
            payload=document(payload),
            reason=reason,
        )
        return EnqueueAnswer(*row)

    def cancel_one(self, tenant: UUID, job: UUID, **options: Any) -> JobAnswer:
        return self.cancel(tenant, [job], **options)[0]

    def retry_one(self, tenant: UUID, job: UUID, **options: Any) -> JobAnswer:
        return self.retry(tenant, [job], **options)[0]

    def reschedule_one(self, tenant: UUID, job: UUID, **options: Any) -> JobAnswer:
        return self.reschedule(tenant, [job], **options)[0]

    def run_now_one(self, tenant: UUID, job: UUID, **options: Any) -> JobAnswer:
        return self.run_now(tenant, [job], **options)[0]

    def pause_lane(
        self,
        tenant: UUID,
        definition: str | None = "echo",
        *,
        reason: str = "test",
        until: datetime | None = None,
        scope: str = "a",
    ) -> None:
        """The tenant's own pause; definition None: of all its jobs."""
        self.call_as(
            tenant,
            "pause_lane",
            scope=scope,
            tenant=tenant,
            definition=Given(definition, "text"),
            reason=reason,
            until=until,
        )

    def resume_lane(self, tenant: UUID, definition: str | None = "echo", *, scope: str = "a") -> None:
        self.call_as(tenant, "resume_lane", scope=scope, tenant=tenant, definition=Given(definition, "text"))

    def _do(
        self, verb: str, tenant: UUID, jobs: Sequence[UUID], *, scope: str, actor: str, **arguments: Any
    ) -> list[JobAnswer]:
        rows = self.call_as(
            tenant,
            verb,
            "job_id",
            "answer",
            "state",
            scope=scope,
            actor=actor,
            tenant=tenant,
            jobs=typed(list(jobs), "uuid[]"),
            **arguments,
        )
        return [JobAnswer(*row) for row in rows]


def option(name: str, value: Any) -> Any:
    type_, _ = OPTIONS[name]
    return typed(document(value) if type_ == "jsonb" else value, type_)


def option_of_all(name: str, items: Sequence[Mapping[str, Any]]) -> tuple[str, Given | None]:
    type_, plural = OPTIONS[name]
    values = [item.get(name) for item in items]
    return plural, typed(documents(values) if type_ == "jsonb" else values, f"{type_}[]")
