"""What an enqueue answers for one item."""

from dataclasses import dataclass
from uuid import UUID

__all__ = ["Enqueued", "Refusal"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an item was not taken: a stable code, the field, the value and the way out."""

    code: str
    field: str
    value: str | None
    hint: str

    def __str__(self) -> str:
        shown = "" if self.value is None else f' "{self.value}"'
        return f"{self.field}{shown}: {self.code.replace('_', ' ')}. {self.hint}"


@dataclass(frozen=True, slots=True)
class Enqueued:
    """A new job, an earlier one that stands for it (`created` is false), or a refusal."""

    job_id: UUID | None
    created: bool
    refusal: Refusal | None = None
