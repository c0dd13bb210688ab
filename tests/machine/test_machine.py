"""Histories of verbs, drawn at random: the database answers as the model does and holds what the model holds."""

import os
from collections.abc import Mapping

from heart_machine import HeartMachine, machine_over
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from machine_draws import WORDS

from kit.database import Database

EXAMPLES = int(os.environ.get("LANEWAY_EXAMPLES", "300"))
ROUNDS = 4
# per 100 examples; a machine that met less than this has proved nothing
FLOORS: Mapping[str, int] = {
    "example": 100,
    "steps": 4000,
    "beside": 60,
    "crash": 20,
    "enqueue created": 300,
    "enqueue existing": 20,
    "enqueue_many": 30,
    "run_again created": 10,
    "claim some": 100,
    "finish_and_claim some": 10,
    "in_order_of_rank": 30,
    "pause_while_running accepted": 8,
    **{f"{word} accepted": 8 for word in WORDS},
    **{f"{word} stale": 50 for word in WORDS},
    "extend ok": 20,
    "extend cancel": 10,
    "hold_on": 8,
    "cut": 8,
    "cancel_while_running": 10,
    "lose": 20,
    "late": 15,
    "speak_for_another": 5,
    "retry_beside_a_twin": 5,
    "sweep some": 30,
    "promote some": 20,
    "cancel canceled": 2,
    "force_cancel canceled": 3,
    "retry queued": 2,
    "reschedule queued": 1,
    "run_now queued": 2,
}


def test_the_database_does_what_the_model_does(database: Database) -> None:
    machine = machine_over(database)
    wanted = {name: floor * EXAMPLES // 100 for name, floor in FLOORS.items()}
    missing: dict[str, str] = {}
    # what is met is drawn: more is drawn until all was, and what is rare then cannot be met
    for _ in range(ROUNDS):
        run(machine, examples=EXAMPLES, phases=list(Phase))
        missing = {
            name: f"{machine.tally[name]} of {least}" for name, least in wanted.items() if machine.tally[name] < least
        }
        if not missing:
            break
    assert not missing, dict(machine.tally)


def run(machine: type[HeartMachine], *, examples: int, phases: list[Phase]) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=50,
            deadline=None,
            database=None,
            print_blob=True,
            phases=phases,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )
