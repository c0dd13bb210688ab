"""The verbs that tests speak: `Heart(place)` on a new connection to a database, or on the connection it is given.

On a connection that is in a transaction the verbs add neither a commit nor a savepoint; else each is a transaction.
"""

from collections.abc import Sequence
from uuid import UUID

from kit.admin_verbs import AdminVerbs
from kit.answers import (
    Answer,
    Attempt,
    Claim,
    EnqueueAnswer,
    ExtendAnswer,
    JobAnswer,
    Promoted,
    Swept,
    Trailer,
)
from kit.clock import EPOCH
from kit.looks import Looks, Row, Surface, difference
from kit.owner_verbs import OwnerVerbs, new_instance
from kit.tenant_verbs import TenantVerbs
from kit.worker import Worker

__all__ = [
    "EPOCH",
    "LEASE",
    "Answer",
    "Attempt",
    "Claim",
    "EnqueueAnswer",
    "ExtendAnswer",
    "Heart",
    "JobAnswer",
    "Promoted",
    "Row",
    "Surface",
    "Swept",
    "Trailer",
    "Worker",
    "difference",
]

# The lease of a fresh install, in seconds.
LEASE = 60


class Heart(OwnerVerbs, TenantVerbs, AdminVerbs, Looks):
    """Everything that can be said to the SQL."""

    def worker(
        self,
        definitions: Sequence[str] | None = None,
        queues: Sequence[str] | None = None,
        *,
        slots: int = 10,
        id: UUID | None = None,  # noqa: A002 -- the word of the protocol
    ) -> Worker:
        """A registered instance, for all definitions and queues where none are named."""
        worker = Worker(self, id or new_instance(), queue=queues[0] if queues else "default")
        self.register(worker.id, definitions=definitions, queues=queues, slots=slots)
        return worker

    def job(self, tenant: UUID, definition: str = "echo", **options: object) -> UUID:
        """Enqueues a job that must be new; answers its id."""
        answer = self.enqueue(tenant, definition, **options)
        assert answer.created, answer
        assert answer.job_id is not None
        return answer.job_id
