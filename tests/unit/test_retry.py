"""A retry policy is what the database takes, and is judged by the database's own bounds."""

import pytest

from laneway.errors import DefinitionError
from laneway.model.retry import Backoff, Retry

FIELDS = {
    "backoff_kind": "exponential",
    "backoff_base_seconds": 5,
    "backoff_factor": 2,
    "backoff_cap_seconds": 3600,
    "backoff_jitter": 0.2,
    "backoff_list_seconds": None,
}


@pytest.mark.parametrize(
    ("retry", "fields"),
    [
        (Retry(), {}),
        (Retry.exponential(), {}),
        (
            Retry.exponential("500ms", factor=1.5, cap="2h", jitter=0),
            {"backoff_base_seconds": 0.5, "backoff_factor": 1.5, "backoff_cap_seconds": 7200, "backoff_jitter": 0},
        ),
        (
            Retry.linear("10s", cap=60),
            {"backoff_kind": "linear", "backoff_base_seconds": 10, "backoff_cap_seconds": 60},
        ),
        (Retry.fixed("30s"), {"backoff_kind": "fixed", "backoff_base_seconds": 30}),
        (Retry.fixed("1h"), {"backoff_kind": "fixed", "backoff_base_seconds": 3600, "backoff_cap_seconds": 4320}),
        (Retry.list(["5s", 60, "10m"]), {"backoff_kind": "list", "backoff_list_seconds": [5, 60, 600]}),
        (
            Retry.list(["2h"], jitter=0.5),
            {
                "backoff_kind": "list",
                "backoff_list_seconds": [7200],
                "backoff_cap_seconds": 10800,
                "backoff_jitter": 0.5,
            },
        ),
        (
            Retry.list(["1d"]),
            {"backoff_kind": "list", "backoff_list_seconds": [86400], "backoff_cap_seconds": 86400},
        ),
    ],
)
def test_a_policy_is_written_as_a_sync_takes_it(retry, fields):
    assert retry.fields() == FIELDS | fields


def test_whole_seconds_are_written_as_whole_numbers():
    assert [type(Retry.exponential("5.0s").fields()[name]) for name in ("backoff_base_seconds", "backoff_factor")] == [
        int,
        int,
    ]


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Retry.exponential("2h"), "retry.base"),
        (lambda: Retry.exponential("soon"), "retry.base"),
        (lambda: Retry.exponential(-1), "retry.base"),
        (lambda: Retry.exponential(factor=0.5), "retry.factor"),
        (lambda: Retry.exponential(factor=float("nan")), "retry.factor"),
        (lambda: Retry.exponential(factor=True), "retry.factor"),
        (lambda: Retry.exponential(cap="2d"), "retry.cap"),
        (lambda: Retry.exponential(cap=0), "retry.cap"),
        (lambda: Retry.linear(jitter=1.1), "retry.jitter"),
        (lambda: Retry.fixed("2h"), "retry.delay"),
        (lambda: Retry.fixed("5s", jitter=-1), "retry.jitter"),
        (lambda: Retry.list(["2d"]), "retry.delays"),
        (lambda: Retry.list([]), "retry.delays"),
        (lambda: Retry.list([1] * 101), "retry.delays"),
        (lambda: Retry(kind=Backoff.LIST), "retry.delays"),
        (lambda: Retry(list_seconds=(5,)), "retry.delays"),
        (lambda: Retry(kind=Backoff.LIST, list_seconds=(90000,)), "retry.list_seconds"),
        (lambda: Retry(base_seconds=4000), "retry.base_seconds"),
    ],
)
def test_what_the_database_would_refuse_is_refused_with_its_field_and_the_way_out(make, field):
    with pytest.raises(DefinitionError) as caught:
        make()
    assert caught.value.field == field
    assert caught.value.hint
    assert f'"{caught.value.value}"' in str(caught.value)
