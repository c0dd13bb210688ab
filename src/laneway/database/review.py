"""What is installed and whether it is as this release wants it: looks, changes nothing, holds no lock."""

from collections.abc import Iterator
from dataclasses import dataclass

import psycopg

from laneway.database.look import viewing
from laneway.database.names import Names
from laneway.database.plan import Plan, make_plan, settle_options, verify_applied
from laneway.database.sqlfiles import SqlFiles
from laneway.database.stamp import Applied, Stamp

__all__ = ["Review", "review"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A database compared with the files of a release."""

    schema: str
    release: str
    """The release that compares."""
    stamp: Stamp | None
    """What the last apply left; None where nothing, or not all, was installed."""
    applied: tuple[Applied, ...]
    plan: Plan

    @property
    def is_installed(self) -> bool:
        return bool(self.applied)

    def findings(self) -> tuple[str, ...]:
        """One sentence for each thing that is not as this release wants it; none when all is well."""
        return tuple(self._findings())

    def _findings(self) -> Iterator[str]:
        if not self.is_installed:
            yield f'schema "{self.schema}" is not installed'
            return
        yield from (f'migration "{migration.name}" is pending' for migration in self.plan.migrations)
        if self.stamp is None:
            yield "the install was not finished"
            return
        for name in self.plan.drift:
            is_ours = name in self.stamp.catalogue
            yield f"{name} is " + ("not as Laneway left it" if is_ours else "not ours: move it to another schema")
        for file in self.plan.files:
            record = self.stamp.files.get(file.name)
            if record is None or record["checksum"] != file.checksum:
                yield f"functions/{file.name} has changed since it was applied"
        yield from (f"{made} is made by no file any more" for made in self.plan.leftovers)
        if self.plan.access_changed:
            yield "access.csv has changed since it was applied"
        if self.plan.pins_changed:
            yield "pins.csv has changed since it was applied"


def review(conn: psycopg.Connection, *, schema: str = "laneway", files: SqlFiles | None = None) -> Review:
    """Compares. Refuses a database that is newer than the files, or whose applied migrations they no longer hold."""
    wanted = files or SqlFiles.packaged()
    with viewing(conn, Names(schema)) as seen:
        state = seen.state
    verify_applied(wanted, state.applied, state.stamp)
    plan = make_plan(wanted, state, options=settle_options(None, state.stamp))
    return Review(schema=schema, release=wanted.release, stamp=state.stamp, applied=state.applied, plan=plan)
