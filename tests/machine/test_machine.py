"""Histories of verbs, drawn at random: the database answers as the model does and holds what the model holds."""

import os
from collections.abc import Mapping

from heart_machine import HeartMachine, machine_over
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from kit.database import Database

EXAMPLES = int(os.environ.get("LANEWAY_EXAMPLES", "150"))
# per 60 examples; a machine that met less than this has proved nothing
FLOORS: Mapping[str, int] = {
    "example": 60,
    "beside": 60,
    "enqueue created": 120,
    "enqueue existing": 25,
    "enqueue duplicate": 3,
    "enqueue_many": 25,
    "claim some": 40,
    "finish_and_claim some": 20,
    "finish_and_claim accepted": 10,
    "succeeded accepted": 8,
    "failed accepted": 8,
    "failed for good accepted": 8,
    "snoozed accepted": 8,
    "released accepted": 8,
    "canceled accepted": 8,
    "extend ok": 8,
    "sweep some": 20,
    "promote some": 20,
    "expire some": 5,
    "cancel canceled": 8,
    "force_cancel canceled": 8,
    "retry queued": 8,
    "retry conflict": 5,
    "reschedule queued": 8,
    "run_now queued": 8,
    "run_again created": 8,
    "lose stale": 20,
    "late stale": 20,
    "cut": 10,
    "crash": 15,
    "speak_for_another stale": 5,
    "pause_while_running accepted": 10,
    "retry_beside_a_twin": 10,
}


def test_the_database_does_what_the_model_does(database: Database) -> None:
    machine = machine_over(database)
    run(machine, examples=EXAMPLES, phases=list(Phase))
    met_too_little = {
        name: f"{machine.tally[name]} of {floor * EXAMPLES // 60}"
        for name, floor in FLOORS.items()
        if machine.tally[name] < floor * EXAMPLES // 60
    }
    assert not met_too_little, dict(machine.tally)


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
