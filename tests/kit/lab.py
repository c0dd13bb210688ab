"""Sessions whose steps a test puts in order, one at a time, and whose waits it sees.

    with Lab(database, "a", "b") as lab:
        lab.gate("g", "a", at="live.delete.before")
        lab("a", "complete_one", claim)      # -> WAITS: stands after its row lock
        lab("b", "sweep")                    # -> Swept(0, ..)
        lab.open("g")
        assert lab.answer("a") == Answer.ACCEPTED

A step is a verb of Heart, a statement, or a callable that gets the session's Heart. A step that waits where neither a
shut gate nor `waits`/`may_wait` says that it may is a failure, as is one that is neither answered nor waiting in time.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from enum import Enum
from time import monotonic
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

import psycopg
from psycopg import pq

from kit import gates
from kit.clock import Clock
from kit.database import Database
from language import Heart

Step: TypeAlias = "str | Callable[..., Any]"


class Waiting(Enum):
    WAITS = "WAITS"


WAITS: Final = Waiting.WAITS
# A step is answered in a fraction of this; whoever is not is asked after.
GLANCE = 0.002


class LabError(AssertionError):
    """A step did not go as it was declared."""


class Session:
    """A connection with a thread of its own, so that a step may wait while others go on."""

    def __init__(self, name: str, heart: Heart) -> None:
        self.name = name
        self.heart = heart
        self.gate: str | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"session-{name}")
        self.future: Future[Any] | None = None

    @property
    def pid(self) -> int:
        return self.heart.conn.info.backend_pid

    @property
    def is_pending(self) -> bool:
        return self.future is not None and not self.future.done()

    def send(self, step: Step, *args: Any, **options: Any) -> None:
        if self.future is not None:
            raise LabError(f'session "{self.name}": its last step has not been answered; ask answer("{self.name}")')
        self.future = self._thread.submit(perform, self.heart, step, *args, **options)

    def take(self) -> Any:
        """The answer, or the error, of a step that is done."""
        assert self.future is not None
        future, self.future = self.future, None
        return future.result()

    def end(self) -> None:
        self._thread.shutdown(wait=True)
        self.heart.conn.close()


def perform(heart: Heart, step: Step, *args: Any, **options: Any) -> Any:
    if callable(step):
        return step(heart, *args, **options)
    verb = getattr(heart, step, None) if step.isidentifier() else None
    if verb is not None:
        return verb(*args, **options)
    return heart.rows(step, *args, **options)


class Lab:
    """Sessions of one database, and a holder that shuts gates, moves the clock and looks who waits."""

    def __init__(self, database: Database, *names: str, deadline: float = 10.0) -> None:
        self._database = database
        self._deadline = deadline
        self.heart = Heart(database)
        gates.install_gates(self.heart.conn)
        self.clock = Clock(self.heart.conn)
        self._sessions = {name: Session(name, Heart(database)) for name in names}
        self._shut: set[str] = set()
        self._said: list[str] = []
        self._pids = [self.heart.conn.info.backend_pid, *(session.pid for session in self._sessions.values())]

    def __call__(self, session: str, step: Step, *args: Any, **options: Any) -> Any:
        """The answer, or WAITS where the session is to stand at a shut gate."""
        answer = self.may_wait(session, step, *args, **options)
        if answer is WAITS and self._sessions[session].gate not in self._shut:
            raise LabError(f'session "{session}" waits, and nothing said that it may\n{self.dump()}')
        return answer

    def waits(self, session: str, step: Step, *args: Any, **options: Any) -> Waiting:
        """A step that must wait."""
        answer = self.may_wait(session, step, *args, **options)
        if answer is not WAITS:
            raise LabError(f'session "{session}" was to wait and answered {answer!r}\n{self.dump()}')
        return WAITS

    def may_wait(self, session: str, step: Step, *args: Any, **options: Any) -> Any:
        """The answer, or WAITS: for orders in which either is right."""
        sender = self._sessions[session]
        self._said.append(f"{session}: {getattr(step, '__name__', step)} {args or ''} {options or ''}")
        sender.send(step, *args, **options)
        self._settle()
        return WAITS if sender.is_pending else sender.take()

    def answer(self, session: str) -> Any:
        """The answer of a step that waited and no longer does."""
        sender = self._sessions[session]
        if sender.future is None:
            raise LabError(f'session "{session}" was asked nothing')
        self._settle()
        if sender.is_pending:
            raise LabError(f'session "{session}" still waits\n{self.dump()}')
        return sender.take()

    def is_waiting(self, session: str) -> bool:
        self._settle()
        return self._sessions[session].is_pending

    def heart_of(self, session: str) -> Heart:
        """The verbs on a session's own connection, for use while it has no step under way."""
        return self._sessions[session].heart

    def begin(self, session: str, *, isolation: str = "read committed") -> None:
        self(session, f"begin isolation level {isolation}")

    def commit(self, session: str) -> Any:
        return self(session, "commit")

    def rollback(self, session: str) -> Any:
        return self(session, "rollback")

    def tick(self, seconds: float) -> None:
        self.clock.move(seconds)

    def verify(self) -> None:
        self.heart.verify()

    def gate(self, name: str, session: str, *, at: str = gates.ANYWHERE, skip: int = 0) -> None:
        """Shuts a gate in front of a session: it stands at the next point that is like `at`, after `skip` of them."""
        if name not in self._shut:
            gates.shut(self.heart.conn, name)
            self._shut.add(name)
        stander = self._sessions[session]
        gates.send_through(stander.heart.conn, name, at=at, skip=skip)
        stander.gate = name

    def open(self, name: str) -> None:
        gates.open_gate(self.heart.conn, name)
        self._shut.discard(name)
        self._settle()

    def reset(self) -> None:
        """Opens all gates, rolls back all sessions; an error that nobody asked for comes out here."""
        for name in sorted(self._shut):
            self.open(name)
        unasked = [answer for answer in map(self._roll_back, self._by_waiting()) if answer is not None]
        for session in self._sessions.values():
            gates.send_through(session.heart.conn, "", at="", skip=0)
            session.gate = None
        self._said.clear()
        if unasked:
            raise unasked[0]

    def dump(self) -> str:
        """What was said, and where everybody stands."""
        with psycopg.connect(self._database.dsn(), autocommit=True) as conn:
            rows = conn.execute(
                "select a.pid, a.state, a.wait_event_type, a.wait_event, pg_blocking_pids(a.pid), a.query"
                " from pg_stat_activity a where a.datname = current_database() and a.pid <> pg_backend_pid()"
            ).fetchall()
        names = {session.pid: name for name, session in self._sessions.items()}
        names[self.heart.conn.info.backend_pid] = "holder"
        stands = [f"  {names.get(pid, pid)} (pid {pid}): {rest}" for pid, *rest in rows]
        return "\n".join(["said:", *(f"  {line}" for line in self._said), "stands:", *stands])

    def close(self) -> None:
        """Whoever still waits is cut off."""
        for session in self._sessions.values():
            if session.is_pending:
                self.heart.rows("select pg_terminate_backend(%s)", [session.pid])
            session.end()
        self.heart.conn.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self.reset()
        finally:
            self.close()

    def _settle(self) -> None:
        """Until each session has answered or waits for another. Nobody is released after that but by a step."""
        until = monotonic() + self._deadline
        while True:
            pending = [session for session in self._sessions.values() if session.is_pending]
            futures = [session.future for session in pending if session.future is not None]
            wait(futures, timeout=GLANCE, return_when=FIRST_COMPLETED)
            # who answers first, then who waits: a lock that an answer let go is granted by then
            pending = [session for session in pending if session.is_pending]
            if all(map(self._is_blocked, pending)):
                return
            if monotonic() > until:
                raise LabError(f"neither answered nor waiting after {self._deadline} s\n{self.dump()}")

    def _is_blocked(self, session: Session) -> bool:
        return self.heart.one("select pg_isolation_test_session_is_blocked(%s, %s)", [session.pid, self._pids])[0]

    def _by_waiting(self) -> Sequence[Session]:
        """Those that hold locks first: their rollback frees the others."""
        return sorted(self._sessions.values(), key=lambda session: session.is_pending)

    def _roll_back(self, session: Session) -> Exception | None:
        """Answers the error of a step whose answer nobody asked for."""
        self._settle()
        if session.is_pending:
            raise LabError(f'session "{session.name}" waits for ever\n{self.dump()}')
        unasked = None
        if session.future is not None:
            unasked = session.future.exception()
            session.future = None
        if session.heart.conn.info.transaction_status != pq.TransactionStatus.IDLE:
            session.heart.conn.execute("rollback")
        return unasked if isinstance(unasked, Exception) else None
