"""The install schema as a comparable value: what is really there, with owners and privileges.

Schema name and role prefix are left out, and partitions appear once as what they have in common, so that a fresh
install, an upgraded one and one under another name compare equal.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import psycopg

from laneway.database.sqltext import identifier, trusted
from laneway.sql import installer_text

__all__ = ["Catalogue", "read_catalogue", "read_current"]


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Objects by name, each as its lines."""

    objects: Mapping[str, tuple[str, ...]]

    def fingerprints(self) -> dict[str, str]:
        """For each object a hash of its lines, as the stamp keeps them."""
        return {name: hashlib.sha256("\n".join(lines).encode()).hexdigest() for name, lines in self.objects.items()}

    def differences(self, other: "Catalogue") -> tuple[str, ...]:
        """What stands only here (`-`) or only there (`+`), line by line."""
        return tuple(_differences(self.objects, other.objects))

    def render(self) -> str:
        """Readable text, the same for the same catalogue."""
        return "\n".join(_rendered(name, lines) for name, lines in self.objects.items())


def read_catalogue(conn: psycopg.Connection, *, schema: str) -> Catalogue:
    """Reads it in a transaction of its own (or a savepoint of the open one); the login needs USAGE on the schema."""
    with conn.transaction():
        saved = conn.execute("select current_setting('search_path')").fetchone()
        conn.execute(trusted(f"set local search_path to {identifier(schema)}, pg_temp"))
        catalogue = read_current(conn)
        conn.execute("select set_config('search_path', %s, true)", saved)
    return catalogue


def read_current(conn: psycopg.Connection) -> Catalogue:
    """Reads the schema that the search path names first."""
    rows = conn.execute(trusted(installer_text("catalogue.sql")), prepare=False).fetchall()
    return Catalogue({str(name): tuple(map(str, lines)) for name, lines in rows})


def _differences(mine: Mapping[str, tuple[str, ...]], theirs: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    for name in sorted(mine.keys() | theirs.keys()):
        here, there = mine.get(name, ()), theirs.get(name, ())
        if here == there:
            continue
        yield from (f"- {name}: {line}" for line in here if line not in there)
        yield from (f"+ {name}: {line}" for line in there if line not in here)
        if sorted(here) == sorted(there):
            yield f"~ {name}: the same lines in another order"


def _rendered(name: str, lines: tuple[str, ...]) -> str:
    return "\n".join([name, *("    " + line.replace("\n", "\n    ") for line in lines), ""])
