"""What an apply would do: the files of this release compared with what the database says it has. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from laneway.database.install_errors import InstallConflictError
from laneway.database.options import InstallOptions
from laneway.database.sqlfiles import FunctionFile, Migration, SqlFiles
from laneway.database.sqltext import Made
from laneway.database.stamp import Applied, Stamp

__all__ = ["Plan", "State", "cut", "make_plan", "settle_options", "verify_applied"]


@dataclass(frozen=True, slots=True)
class State:
    """What the database has: its migrations, its stamp and a fingerprint of each object as it is now."""

    applied: tuple[Applied, ...]
    stamp: Stamp | None
    fingerprints: Mapping[str, str]

    @property
    def drift(self) -> tuple[str, ...]:
        """Objects that are not as the last apply left them."""
        if self.stamp is None:
            return ()
        left, now = self.stamp.catalogue, self.fingerprints
        return tuple(sorted(name for name in left.keys() | now.keys() if left.get(name) != now.get(name)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be done, and why."""

    migrations: tuple[Migration, ...]
    files: tuple[FunctionFile, ...]
    leftovers: tuple[Made, ...]
    drift: tuple[str, ...]
    access_changed: bool
    pins_changed: bool
    options_changed: bool
    touches_relations: bool
    """Whether tables or views change, so that policies and views are made again under a lock on all of them."""

    @property
    def is_empty(self) -> bool:
        return not (
            self.migrations
            or self.files
            or self.leftovers
            or self.drift
            or self.access_changed
            or self.pins_changed
            or self.options_changed
            or self.touches_relations
        )


def settle_options(asked: InstallOptions | None, stamp: Stamp | None) -> InstallOptions:
    """What was asked for, else what the install said, else the defaults."""
    return asked or (stamp.options if stamp else InstallOptions())


def verify_applied(files: SqlFiles, applied: Sequence[Applied], stamp: Stamp | None) -> None:
    """Refuses a database that is newer than these files, or whose applied migrations they no longer hold unchanged."""
    known = {migration.number: migration for migration in files.migrations}
    for row in applied:
        migration = known.get(row.number)
        if migration is None and row.number > files.migrations[-1].number:
            raise InstallConflictError(
                f'the database has migration "{row.name}" of Laneway {row.release}, and this is {files.release}',
                hint=f"Run pip install --upgrade 'laneway>={row.release}'.",
            )
        if migration is None or migration.name != row.name or migration.checksum != row.checksum:
            raise InstallConflictError(
                f'migrations: "{row.name}" was applied by Laneway {row.release} and its file '
                + ("is gone" if migration is None else "has changed since"),
                hint="Restore the file, or create a new database; a change of an applied migration is a new migration.",
            )
    if stamp is not None and _order_of(stamp.release) > _order_of(files.release):
        raise InstallConflictError(
            f"the database has the functions of Laneway {stamp.release}, and this is {files.release}",
            hint=f"Run pip install --upgrade 'laneway>={stamp.release}'.",
        )
    last = max((row.number for row in applied), default=-1)
    for migration in files.migrations:
        if migration.number < last and all(row.number != migration.number for row in applied):
            raise InstallConflictError(
                f'migrations: "{migration.name}" is new and number {last} is applied already',
                hint="Give it a number after the last one.",
            )


def _order_of(release: str) -> tuple[list[int], bool, str]:
    """1.2.0.dev3 comes before 1.2.0, and that before 1.10.0."""
    numbers, dev, rest = release.partition(".dev")
    return [int(number) for number in numbers.split(".")], not dev, rest.zfill(9)


def make_plan(files: SqlFiles, state: State, *, options: InstallOptions, remake: bool = False) -> Plan:
    """Compares; an empty plan means that there is nothing to do. `remake` asks for policies and views anew anyway."""
    done = {row.number for row in state.applied}
    pending = tuple(migration for migration in files.migrations if migration.number not in done)
    stamp = state.stamp
    access_changed = stamp is None or stamp.access_checksum != files.access.checksum
    pins_changed = stamp is None or stamp.pins_checksum != files.pins_checksum
    options_changed = stamp is None or stamp.options != options
    changed = tuple(
        file
        for file in files.functions
        # an unpinned function is one that was made again without its pins
        if pins_changed or options_changed or _is_changed(file, state)
    )
    leftovers = tuple(sorted(stamp.makes - files.makes, key=str)) if stamp else ()
    touches = remake or bool(pending) or access_changed or _concerns_relations(changed, leftovers, state.drift)
    return Plan(
        migrations=pending,
        files=tuple(file for file in files.functions if file in changed or (touches and _makes_views(file))),
        leftovers=leftovers,
        drift=state.drift,
        access_changed=access_changed,
        pins_changed=pins_changed,
        options_changed=options_changed,
        touches_relations=touches,
    )


def cut(migrations: Sequence[Migration]) -> tuple[Sequence[Migration], Migration | None]:
    """What may run in this transaction, and the first migration that may not."""
    for at, migration in enumerate(migrations):
        if migration.is_outside:
            return migrations[:at], migration
    return migrations, None


def _is_changed(file: FunctionFile, state: State) -> bool:
    record = state.stamp.files.get(file.name) if state.stamp else None
    if record is None or record["checksum"] != file.checksum:
        return True
    return any(str(made) in state.drift for made in file.makes)


def _makes_views(file: FunctionFile) -> bool:
    return any(made.kind == "view" for made in file.makes)


def _concerns_relations(changed: Sequence[FunctionFile], leftovers: Sequence[Made], drift: Sequence[str]) -> bool:
    return (
        any(_makes_views(file) for file in changed)
        or any(made.kind == "view" for made in leftovers)
        or any(name.partition(" ")[0] != "function" for name in drift)
    )
