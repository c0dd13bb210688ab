"""The jobs of one application, by key and by former key."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Generic, Protocol, TypeVar

from laneway.errors import DefinitionError
from laneway.model.definition import Declaration

__all__ = ["Declared", "Registry"]


class Declared(Protocol):
    """What a registry asks of a job."""

    @property
    def key(self) -> str: ...
    @property
    def aliases(self) -> tuple[str, ...]: ...
    @property
    def origin(self) -> str: ...
    @property
    def declaration(self) -> Declaration: ...


JobT = TypeVar("JobT", bound=Declared)


class Registry(Generic[JobT]):
    """Jobs in the order in which they were added."""

    def __init__(self) -> None:
        self._jobs: dict[str, JobT] = {}
        self._aliases: dict[str, str] = {}

    def add(self, job: JobT) -> None:
        """Takes a job in; the same one again changes nothing."""
        if self._jobs.get(job.key) is job:
            return
        for name in (job.key, *job.aliases):
            self._require_free(name, job)
        self._jobs[job.key] = job
        self._aliases.update(dict.fromkeys(job.aliases, job.key))

    def job_for(self, key: str) -> JobT:
        """The job of this key, or of the one that it was renamed to."""
        job = self._holder(key)
        if job is None:
            near = get_close_matches(key, self.names(), n=3)
            hint = f"Did you mean {', '.join(near)}?" if near else "Import the module that declares it."
            raise DefinitionError(f'job "{key}" is not declared in this code', field="key", value=key, hint=hint)
        return job

    @property
    def aliases(self) -> Mapping[str, str]:
        """Former keys and what became of them."""
        return MappingProxyType(self._aliases)

    def names(self) -> tuple[str, ...]:
        """All keys that this code can run, former ones as well."""
        return (*self._jobs, *self._aliases)

    def declared(self) -> dict[str, dict[str, object]]:
        """Everything as a sync takes it."""
        return {key: job.declaration.fields() for key, job in self._jobs.items()}

    def __iter__(self) -> Iterator[JobT]:
        return iter(self._jobs.values())

    def __len__(self) -> int:
        return len(self._jobs)

    def __contains__(self, key: object) -> bool:
        return key in self._jobs or key in self._aliases

    def _holder(self, name: str) -> JobT | None:
        return self._jobs.get(self._aliases.get(name, name))

    def _require_free(self, name: str, job: JobT) -> None:
        holder = self._holder(name)
        if holder is not None:
            raise DefinitionError(
                f'job key "{name}" is declared twice: {holder.origin} and {job.origin}',
                field="key",
                value=name,
                hint='Give one of them another key: @app.job(key="...").',
            )
