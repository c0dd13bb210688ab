"""What workers say: register, claim, and the words about an attempt that the fence judges."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias
from uuid import UUID, uuid4

from kit.answers import Answer, Claim, ExtendAnswer, Trailer
from kit.speaker import Speaker, documents, typed

JOB = (
    "tenant_id", "job_id", "def_id", "attempt", "max_attempts", "priority", "rank", "timeout_seconds", "run_at",
    "correlation_id", "trace_id", "payload",
)  # fmt: skip
TRAILER = ("next_after", "next_left", "has_more", "lane_tenants", "lane_defs", "lane_weights", "lane_floors")


class Instance(Protocol):
    """Whatever has the id of an instance."""

    id: UUID


Speaks: TypeAlias = UUID | Instance


class OwnerVerbs(Speaker):
    """Each word takes the claims it is about. `worker` says who speaks, where it is not who claimed."""

    def register(
        self,
        worker: UUID,
        *,
        definitions: Sequence[str] | None = None,
        queues: Sequence[str] | None = None,
        slots: int = 10,
    ) -> list[tuple[int, str, str]]:
        """Registers an instance; for all definitions and queues where none are named."""
        return self.call(
            "register_worker",
            worker=worker,
            hostname="test",
            pid=1,
            version="1",
            slots=slots,
            queues=list(queues or self._names("queue", "name")),
            definitions=list(definitions or self._names("definition", "key")),
        )

    def claim(
        self,
        worker: Speaks,
        n: int = 1,
        *,
        queue: str = "default",
        after: UUID | None = None,
        left: int | None = None,
        quantum: int | None = None,
        lease_seconds: int | None = None,
        max_lanes: int | None = None,
    ) -> list[Claim]:
        return self.claim_with_trailer(
            worker,
            n,
            queue=queue,
            after=after,
            left=left,
            quantum=quantum,
            lease_seconds=lease_seconds,
            max_lanes=max_lanes,
        )[0]

    def claim_with_trailer(
        self, worker: Speaks, n: int = 1, *, queue: str = "default", **options: Any
    ) -> tuple[list[Claim], Trailer]:
        worker_id = id_of(worker)
        *rows, last = self.call("claim", *JOB, *TRAILER, worker=worker_id, queue=queue, jobs=n, **options)
        return [Claim(*row[: len(JOB)], worker_id) for row in rows], Trailer(*last[len(JOB) :])

    def claim_one(self, worker: Speaks, *, queue: str = "default") -> Claim:
        """The one job that must be there."""
        claims = self.claim(worker, 1, queue=queue)
        assert len(claims) == 1, f"nothing to claim in {queue}"
        return claims[0]

    def claim_tenant(
        self, worker: Speaks, tenant: UUID, defs: Sequence[int], n: int = 1, *, queue: str = "default"
    ) -> list[Claim]:
        worker_id = id_of(worker)
        rows = self.call(
            "claim_tenant", *JOB, tenant=tenant, worker=worker_id, queue=queue, defs=typed(list(defs), "int[]"), jobs=n
        )
        return [Claim(*row, worker_id) for row in rows]

    def finish_and_claim(
        self,
        worker: Speaks,
        done: Sequence[Claim] = (),
        *,
        lanes: Sequence[tuple[UUID, int]],
        quotas: Sequence[int],
        queue: str = "default",
        results: Sequence[Any] | None = None,
        floors: Sequence[Any] | None = None,
        lease_seconds: int | None = None,
    ) -> tuple[list[Answer], list[Claim]]:
        """Reports successes and claims from lanes (tenant, definition), so many of each."""
        worker_id = id_of(worker)
        *rows, last = self.call(
            "finish_and_claim",
            *JOB,
            "answers",
            worker=worker_id,
            queue=queue,
            tenants=typed([c.tenant_id for c in done], "uuid[]"),
            jobs=typed([c.job_id for c in done], "uuid[]"),
            attempts=typed([c.attempt for c in done], "int[]"),
            results=typed(documents(results) or [None] * len(done), "jsonb[]"),
            lane_tenants=typed([tenant for tenant, _ in lanes], "uuid[]"),
            lane_defs=typed([definition for _, definition in lanes], "int[]"),
            quotas=typed(list(quotas), "int[]"),
            floors=typed(floors, "timestamptz[]"),
            lease_seconds=lease_seconds,
        )
        return [Answer(a) for a in last[-1]], [Claim(*row[:-1], worker_id) for row in rows]

    def complete(
        self, claims: Sequence[Claim], *, results: Sequence[Any] | None = None, worker: Speaks | None = None
    ) -> list[Answer]:
        return self._say("complete", claims, worker, results=typed(documents(results), "jsonb[]"))

    def fail(
        self,
        claims: Sequence[Claim],
        *,
        errors: Sequence[Any] | None = None,
        permanent: Sequence[bool | None] | None = None,
        retry_in_seconds: Sequence[float | None] | None = None,
        timed_out: Sequence[bool | None] | None = None,
        reasons: Sequence[str | None] | None = None,
        worker: Speaks | None = None,
    ) -> list[Answer]:
        return self._say(
            "fail",
            claims,
            worker,
            errors=typed(documents(errors), "jsonb[]"),
            permanent=typed(permanent, "boolean[]"),
            retry_in_seconds=typed(retry_in_seconds, "float8[]"),
            timed_out=typed(timed_out, "boolean[]"),
            reasons=typed(reasons, "text[]"),
        )

    def snooze(
        self,
        claims: Sequence[Claim],
        *,
        delays_seconds: Sequence[float | None],
        reasons: Sequence[str | None] | None = None,
        worker: Speaks | None = None,
    ) -> list[Answer]:
        return self._say(
            "snooze",
            claims,
            worker,
            delays_seconds=typed(list(delays_seconds), "float8[]"),
            reasons=typed(reasons, "text[]"),
        )

    def release(
        self,
        claims: Sequence[Claim],
        *,
        reasons: Sequence[str | None] | None = None,
        worker: Speaks | None = None,
    ) -> list[Answer]:
        return self._say("release", claims, worker, reasons=typed(reasons, "text[]"))

    def cancel_attempt(
        self,
        claims: Sequence[Claim],
        *,
        reasons: Sequence[str | None] | None = None,
        worker: Speaks | None = None,
    ) -> list[Answer]:
        return self._say("cancel_attempt", claims, worker, reasons=typed(reasons, "text[]"))

    def extend(
        self,
        claims: Sequence[Claim],
        *,
        lease_seconds: int | None = None,
        worker: Speaks | None = None,
    ) -> list[ExtendAnswer]:
        answers = self.value("extend", **fence(claims, worker), lease_seconds=lease_seconds)
        return [ExtendAnswer(answer) for answer in answers]

    def complete_one(self, claim: Claim, *, result: Any = None, worker: Speaks | None = None) -> Answer:
        return self.complete([claim], results=None if result is None else [result], worker=worker)[0]

    def fail_one(
        self,
        claim: Claim,
        *,
        error: Any = None,
        permanent: bool = False,
        retry_in_seconds: float | None = None,
        timed_out: bool = False,
        worker: Speaks | None = None,
    ) -> Answer:
        return self.fail(
            [claim],
            errors=[error],
            permanent=[permanent],
            retry_in_seconds=[retry_in_seconds],
            timed_out=[timed_out],
            worker=worker,
        )[0]

    def snooze_one(self, claim: Claim, delay_seconds: float, *, worker: Speaks | None = None) -> Answer:
        return self.snooze([claim], delays_seconds=[delay_seconds], worker=worker)[0]

    def release_one(self, claim: Claim, *, worker: Speaks | None = None) -> Answer:
        return self.release([claim], worker=worker)[0]

    def cancel_attempt_one(self, claim: Claim, *, worker: Speaks | None = None) -> Answer:
        return self.cancel_attempt([claim], worker=worker)[0]

    def extend_one(
        self, claim: Claim, *, lease_seconds: int | None = None, worker: Speaks | None = None
    ) -> ExtendAnswer:
        return self.extend([claim], lease_seconds=lease_seconds, worker=worker)[0]

    def held(self, worker: Speaks) -> list[tuple[UUID, UUID, int]]:
        """(tenant, job, attempt) of what an instance holds."""
        return self.call("held", "tenant_id", "job_id", "attempt", worker=id_of(worker))

    def beat(self, worker: Speaks) -> bool:
        return self.value("beat", worker=id_of(worker))

    def end_worker(self, worker: Speaks) -> None:
        self.call("end_worker", worker=id_of(worker))

    def _say(self, verb: str, claims: Sequence[Claim], worker: Speaks | None, **arguments: Any) -> list[Answer]:
        return [Answer(answer) for answer in self.value(verb, **fence(claims, worker), **arguments)]

    def _names(self, table: str, column: str) -> list[str]:
        return [name for (name,) in self.rows(f"select {column} from {table} order by 1")]


def new_instance() -> UUID:
    return uuid4()


def id_of(worker: Speaks) -> UUID:
    return worker if isinstance(worker, UUID) else worker.id


def fence(claims: Sequence[Claim], worker: Speaks | None) -> dict[str, Any]:
    """The arguments by which an owner proves that it is one."""
    speakers = {claim.worker_id for claim in claims}
    if worker is None and len(speakers) > 1:
        raise ValueError("worker: the claims are of several instances; say who speaks")
    return {
        "worker": id_of(worker) if worker is not None else next(iter(speakers), new_instance()),
        "tenants": typed([claim.tenant_id for claim in claims], "uuid[]"),
        "jobs": typed([claim.job_id for claim in claims], "uuid[]"),
        "attempts": typed([claim.attempt for claim in claims], "int[]"),
    }
