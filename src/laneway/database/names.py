"""The names of an install: its schema and the roles called after it."""

from dataclasses import dataclass

from laneway.database.install_errors import InstallError

__all__ = ["GROUPS", "MEMBERSHIPS", "Names"]

GROUPS = ("app", "tenant", "backend", "worker", "scheduler", "api", "admin", "metrics")
# Member first: a backend may what an app may, the API what a backend may.
MEMBERSHIPS = (("backend", "app"), ("api", "backend"))

_LONGEST_NAME = 63
_LONGEST_SUFFIX = max(len(name) for name in (*GROUPS, "owner")) + 1


@dataclass(frozen=True, slots=True)
class Names:
    """A schema and the roles that bear its name."""

    schema: str

    def __post_init__(self) -> None:
        length = len(self.schema.encode())
        if not self.schema or "\0" in self.schema:
            raise InstallError(f"schema: {self.schema!r} is not a name", hint='Choose one, for example "laneway".')
        if self.schema.startswith("pg_") or self.schema in ("public", "information_schema"):
            raise InstallError(
                f'schema: "{self.schema}" is not ours to own', hint="Choose a name of its own, for example laneway."
            )
        if length + _LONGEST_SUFFIX > _LONGEST_NAME:
            raise InstallError(
                f'schema: "{self.schema}" has {length} bytes, {_LONGEST_NAME - _LONGEST_SUFFIX} are allowed',
                hint=f'Choose a shorter one: its roles, such as "..._scheduler", must fit in {_LONGEST_NAME} bytes.',
            )

    def role(self, group: str) -> str:
        return f"{self.schema}_{group}"

    @property
    def owner(self) -> str:
        return self.role("owner")
