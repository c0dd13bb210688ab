"""The clock of a test database, for tests that move it instead of waiting."""

from datetime import UTC, datetime, timedelta

import psycopg

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


class Clock:
    """Moves are seen at once by every session, in whatever transaction it is."""

    def __init__(self, conn: psycopg.Connection) -> None:
        self._conn = conn

    def now(self) -> datetime:
        row = self._conn.execute("select last_value from laneway_test.clock").fetchone()
        assert row is not None
        return EPOCH + timedelta(microseconds=row[0])

    def set(self, at: datetime) -> None:
        self._conn.execute("select setval('laneway_test.clock', %s)", [(at - EPOCH) // MICROSECOND])

    def move(self, by: float | timedelta) -> datetime:
        """Forward by so many seconds; back where negative. Answers the new time."""
        self.set(self.now() + (by if isinstance(by, timedelta) else timedelta(seconds=by)))
        return self.now()

    def reset(self) -> None:
        self.set(EPOCH)
