"""`functions/extend.sql`: leases are kept."""

from collections.abc import Sequence
from uuid import UUID

from laneway.database.call import Argument, Call
from laneway.model.claim import AttemptRef, ExtendAnswer

__all__ = ["extend"]


def extend(worker: UUID, refs: Sequence[AttemptRef], *, lease_seconds: int) -> Call[list[ExtendAnswer]]:
    """Answers per attempt, in the order given."""
    return Call(
        function="extend",
        arguments={
            "worker": Argument(worker, "uuid"),
            "tenants": Argument([ref.tenant for ref in refs], "uuid[]"),
            "jobs": Argument([ref.job for ref in refs], "uuid[]"),
            "attempts": Argument([ref.attempt for ref in refs], "integer[]"),
            "lease_seconds": Argument(lease_seconds, "integer"),
        },
        columns=("extend",),
        read=lambda rows: [ExtendAnswer(answer) for answer in rows[0][0]],
    )
