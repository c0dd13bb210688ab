"""What examples are drawn from."""

from datetime import timedelta
from uuid import UUID

from hypothesis import strategies as st
from world_state import LEASE, Definition, Queue

MICROSECOND = timedelta(microseconds=1)
DEFINITIONS = {
    "echo": Definition(),
    "mail": Definition(max_attempts=2, priority=50, timeout_seconds=30),
    "rush": Definition(queue="express", max_attempts=1),
}
QUEUES = {"default": Queue(), "express": Queue(is_strict=True)}
NOBODY = UUID(int=7)
WORDS = ("succeeded", "failed", "failed for good", "snoozed", "released", "canceled")

index = st.integers(0, 30)
few = st.lists(index, min_size=1, max_size=3)
# now and then another session holds the rows of a job
held = st.one_of(st.none(), st.none(), st.none(), index)
tenants = st.integers(0, 1)
sessions = st.integers(0, 2)
queues = st.sampled_from(["default", "default", "express"])
words = st.sampled_from(WORDS)
options = st.fixed_dictionaries(
    {},
    optional={
        "priority": st.sampled_from([0, 50, 100, 101, 1000, 1001]),
        "delay_seconds": st.sampled_from([0, 1, LEASE]),
        "expires_seconds": st.sampled_from([1, 2 * LEASE]),
        "max_attempts": st.integers(1, 3),
        "timeout_seconds": st.sampled_from([1, 70]),
        "idempotency_key": st.sampled_from(["i", "j"]),
    },
)
policies = st.sampled_from(["skip", "replace", "requeue", "error"])
keyed = st.fixed_dictionaries(
    {"dedupe_key": st.sampled_from(["k", "l"])},
    optional={
        "dedupe": policies,
        "dedupe_window_seconds": st.sampled_from([0, 30]),
    },
)
definitions = st.sampled_from(["echo", "echo", "echo", "mail", "mail", "rush", "rush", "nothing"])
items = st.builds(lambda key, rest: key | rest, st.one_of(st.just({}), keyed), options)


WEIGHTS = (1, 3)
ABLE = (tuple(DEFINITIONS), tuple(DEFINITIONS), ("echo", "rush"))
