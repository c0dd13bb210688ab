"""What waits already makes an enqueue neither slower nor later."""

import pytest

# What this transaction has looked at so far: scans of tables and of their indexes.
SCANS = """
    select coalesce(sum(t.seq_scan), 0) + coalesce(sum(t.idx_scan), 0) from pg_stat_xact_user_tables t
    where t.schemaname = current_schema() and t.relname ~ '^(live|later|waiting|job|attempt)(_(default|[0-9]+))?$'
"""


@pytest.mark.covers("D17")
@pytest.mark.parametrize("verb", ["enqueue", "enqueue_many"])
def test_an_enqueue_reads_none_of_the_backlog(lane, verb):
    """A count on the way in would be O(backlog), and decide nothing."""
    lane.job()
    before = lane.heart.one(SCANS)
    if verb == "enqueue":
        lane.job()
    else:
        lane.heart.enqueue_many(lane.tenant, [{}] * 3)
    assert lane.heart.one(SCANS) == before
