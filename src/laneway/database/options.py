"""What an install may be asked for."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

__all__ = ["InstallOptions", "doorbell_statement"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallOptions:
    """What an install may be asked for; an upgrade keeps what the install said."""

    planner_pins: bool = True
    """Pin planner settings to the functions that need them. Off on Citus, where a forced generic plan fails."""
    doorbell: bool = True
    """Let enqueue send a NOTIFY to sleeping workers. Off where NOTIFY cannot be used; workers then poll."""
    single_role: bool = False
    """One login owns and does everything. For laptops: row-level security does not hold for an owner."""

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> "InstallOptions":
        known = {field.name for field in fields(cls)}
        return cls(**{name: bool(given) for name, given in value.items() if name in known})

    def to_json(self) -> dict[str, bool]:
        return asdict(self)


def doorbell_statement(options: InstallOptions) -> str:
    """Hands the option to the functions, which read it from the settings; without settings there is no doorbell."""
    on = "true" if options.doorbell else "false"
    return f"""do $$
begin
    if exists (select from pg_attribute where attrelid = to_regclass('setting') and attname = 'doorbell') then
        update setting set doorbell = {on} where doorbell <> {on};
    end if;
end
$$;"""  # noqa: S608 (true or false)
