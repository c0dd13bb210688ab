"""A machine that cannot find these defects is broken: each is put into the database, and the machine must fall over it.

One seed in `make test`; LANEWAY_SEEDS=5 tries five.
"""

import os
from dataclasses import dataclass

import psycopg
import pytest
from heart_machine import machine_over
from hypothesis import Phase, seed
from test_machine import run

from kit.database import Database

SEEDS = int(os.environ.get("LANEWAY_SEEDS", "1"))
# a defect is met long before; single verbs alone would need more
EXAMPLES = 200


@dataclass(frozen=True, slots=True)
class Defect:
    """A function with one text in it replaced."""

    name: str
    function: str
    found: str
    put: str


FENCE = "l.attempt = u.attempt and l.worker_id = p_worker"
DEFECTS = (
    Defect("complete without the attempt", "complete_held", FENCE, "l.worker_id = p_worker"),
    Defect("complete without the instance", "complete_held", FENCE, "l.attempt = u.attempt"),
    Defect("fail without the attempt", "hold_attempts", FENCE, "l.worker_id = p_worker"),
    Defect("extend without the instance", "extend", FENCE, "l.attempt = u.attempt"),
    Defect("retry begins the numbers anew", "retry_one", "v_job.def_id, v_attempt,", "v_job.def_id, 0,"),
    Defect("a repeated word is stale", "judge_words", "select 2::smallint", "select 0::smallint"),
    Defect("another word is a duplicate", "judge_words", "and a.outcome = u.outcome and", "and"),
    Defect("a paused tenant is served", "serve_lane", "and not is_held_back(t.paused_at, t.paused_until, p_now)", ""),
    Defect("rank is not looked at", "pick_lanes", "order by l.rank, l.job_id", "order by l.job_id"),
    Defect("attempts have no end", "close_attempts", "s.attempt >= s.max_attempts", "s.attempt >= 1000"),
    Defect("a cancel loses", "close_attempts", "s.outcome = 4 or s.is_cancel_requested", "s.outcome = 4"),
    Defect("a lease has no end", "extend", "least(v_now + v_lease, l.deadline + v_grace)", "v_now + v_lease"),
)  # fmt: skip


@pytest.mark.parametrize("number", range(SEEDS))
@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_the_machine_falls_over_a_planted_defect(database: Database, defect: Defect, number: int) -> None:
    machine = machine_over(database)
    plant(database, defect)
    with pytest.raises((AssertionError, psycopg.Error)):
        run(seed(number)(machine), examples=EXAMPLES, phases=[Phase.generate])


def plant(database: Database, defect: Defect) -> None:
    with database.connect() as conn:
        row = conn.execute("select pg_get_functiondef(%s::regproc)", [defect.function]).fetchone()
        assert row is not None
        assert defect.found in row[0], f"{defect.function}: the text is not there any more: {defect.found}"
        conn.execute(row[0].replace(defect.found, defect.put))
