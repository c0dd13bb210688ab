"""Every cell of the transition table: the answer, what the job becomes, and that nothing else changed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

import pytest
from saying import Said, Speech, say
from seeing import FACES, Eye, Sight, effects, face
from situations import Stage

from laneway.states import Caller, Situation, Transition, Verb, transitions

CELLS = [
    pytest.param(situation, verb, caller, transition, id=f"{verb}-by-{caller}-when-{situation}")
    for situation, verb, caller, transition in transitions()
]


@pytest.mark.parametrize(("situation", "verb", "caller", "transition"), CELLS)
def test_the_sql_does_what_the_table_says(
    stage_of: Callable[[Situation], Stage], situation: Situation, verb: Verb, caller: Caller, transition: Transition
) -> None:
    stage = stage_of(situation)
    eye = Eye(stage.heart.conn)
    with rolled_back(stage, caller):
        said, before = said_last(Speech(stage, verb, caller), eye)
        after = eye.look(stage.speaker)
        assert said.answer == transition.answer
        assert sorted(effects(before, after)) == sorted(transition.changes)
        assert face(after, subject(stage, said)) == FACES[transition.becomes]


def said_last(speech: Speech, eye: Eye) -> tuple[Said, Sight]:
    """What the caller is told, and the tables before; of a repeated word, the second time."""
    if speech.caller is not Caller.REPEATING:
        before = eye.look(speech.stage.speaker)
        return say(speech), before
    first = say(speech)
    before = eye.look(speech.stage.speaker)
    return Said(say(speech).answer, first.made), before


def subject(stage: Stage, said: Said) -> UUID:
    """The job there is, or the one that was made where there was none."""
    made_here = stage.is_absent and said.made is not None
    return said.made if made_here and said.made else stage.job


@contextmanager
def rolled_back(stage: Stage, caller: Caller) -> Iterator[None]:
    """Undoes what the cell did; for a word beside another session, that session holds the job's row meanwhile."""
    # begun here: else the first block of psycopg's would be the transaction itself, and commit
    stage.speaker.execute("select")
    try:
        if caller is Caller.BESIDE:
            hold(stage)
        yield
    finally:
        stage.speaker.rollback()
        stage.holder.rollback()


def hold(stage: Stage) -> None:
    for table in ("live", "later", "waiting", "attempt"):
        stage.holder.execute(f"select from {table} where job_id = %s for update", [stage.job])
