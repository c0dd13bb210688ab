"""Every state a job can be in and every word that can be said about it: one table for the docs, the tests and people.

`words` names states, answers, situations, verbs and callers; `particulars` and `table` say, for each situation, verb
and caller, what is answered, what the job becomes and what changes; `page` writes `docs/concepts/states.md` from them
(`python -m laneway.states`). The SQL functions decide; `tests/states` holds them to this table.
"""

from laneway.states.particulars import Transition
from laneway.states.table import callers_of, transition, transitions
from laneway.states.words import Answer, AttemptState, Caller, JobState, Kind, Outcome, Situation, Verb

__all__ = [
    "Answer",
    "AttemptState",
    "Caller",
    "JobState",
    "Kind",
    "Outcome",
    "Situation",
    "Transition",
    "Verb",
    "callers_of",
    "transition",
    "transitions",
]
