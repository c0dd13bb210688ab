"""backoff.sql: the wait before the next attempt, clamped before it is used."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

KINDS = ("exponential", "linear", "fixed", "list")


def wait(sql, kind, tries, *, base=5.0, factor=2.0, cap=3600.0, jitter=0.0, waits=(1.0, 10.0, 100.0), random=0.0):
    with sql.transaction():
        row = sql.execute(
            "select backoff_seconds(%s, %s::float8, %s::float8, %s::float8, %s::float8, %s::float8[], %s, %s::float8)",
            [kind, base, factor, cap, jitter, list(waits), tries, random],
        ).fetchone()
    return row[0]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("exponential", [5, 10, 20, 40, 80]),
        ("linear", [5, 10, 15, 20, 25]),
        ("fixed", [5, 5, 5, 5, 5]),
        ("list", [1, 10, 100, 100, 100]),
    ],
)
def test_each_kind_waits_as_it_says(sql, kind, expected):
    assert [wait(sql, kind, tries) for tries in range(1, 6)] == expected


@pytest.mark.parametrize("kind", KINDS)
def test_the_millionth_attempt_waits_as_long_as_the_cap_allows(sql, kind):
    for tries in (31, 32, 33, 64, 1000, 10**6, 2**31 - 1):
        assert 0 <= wait(sql, kind, tries, factor=10.0, base=3600.0) <= 3600


@pytest.mark.parametrize("kind", KINDS)
def test_before_the_first_attempt_is_as_after_it(sql, kind):
    assert wait(sql, kind, 0) == wait(sql, kind, 1)
    assert wait(sql, kind, -5) == wait(sql, kind, 1)


def test_jitter_adds_up_to_its_share_and_never_passes_the_cap(sql):
    assert wait(sql, "fixed", 1, base=100.0, jitter=0.2, random=0.0) == 100
    assert wait(sql, "fixed", 1, base=100.0, jitter=0.2, random=0.5) == 110
    assert wait(sql, "fixed", 1, base=100.0, jitter=1.0, random=0.999) == pytest.approx(199.9)
    assert wait(sql, "fixed", 1, base=100.0, cap=105.0, jitter=1.0, random=0.9) == 105


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=st.sampled_from(KINDS),
    base=st.floats(0, 3600),
    factor=st.floats(1, 10),
    cap=st.floats(1, 86400),
    jitter=st.floats(0, 1),
    random=st.floats(0, 1),
    waits=st.lists(st.floats(0, 86400), min_size=1, max_size=5),
    tries=st.integers(0, 2**31 - 1),
)
def test_whatever_is_declared_the_wait_lies_between_nothing_and_the_cap(sql, tries, **declared):
    kind = declared.pop("kind")
    assert 0 <= wait(sql, kind, tries, **declared) <= declared["cap"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_on_its_hundredth_attempt_goes_on(lane, clock, kind):
    """An exponent that overflows would leave it running for ever."""
    lane.heart.define(
        "long", max_attempts=100, backoff_kind=kind, backoff_list_seconds=[5], backoff_factor=10, backoff_cap_seconds=60
    )
    worker = lane.heart.worker()
    job = lane.job("long")
    for number in range(1, 100):
        claim = worker.claim_one()
        assert claim.attempt == number
        assert lane.heart.fail_one(claim) == 1
        due = lane.heart.promote().next_due_at
        assert due is not None
        assert 0 < (due - clock.now()).total_seconds() <= 60
        clock.set(due)
        lane.heart.promote()
    lane.heart.fail_one(worker.claim_one())
    assert lane.state(job) == "dead_letter"
