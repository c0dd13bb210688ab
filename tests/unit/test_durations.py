"""A duration is text with units, seconds or a timedelta; all else is refused with its value and an example."""

import math
from datetime import timedelta

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from laneway.cli.duration import duration
from laneway.durations import seconds_of
from laneway.errors import DurationInvalid


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("500ms", 0.5),
        ("3s", 3),
        ("10m", 600),
        ("1h30m", 5400),
        ("2d", 172800),
        ("1d2h3m4s5ms", 93784.005),
        ("1.5h", 5400),
        (" 3s ", 3),
        ("0s", 0),
        (90, 90),
        (1.5, 1.5),
        (0, 0),
        (timedelta(minutes=2, milliseconds=5), 120.005),
    ],
)
def test_a_duration_has_its_seconds(written, seconds):
    assert seconds_of(written) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "junk",
    ["", " ", "90", "soon", "10 m", "1m1h", "5m5m", "-5m", "1e3s", "m", "1.s", ".5s", "٣s", "1h,", "9" * 400 + "d"],
)
def test_a_text_that_is_no_duration_is_refused_with_an_example(junk):
    with pytest.raises(DurationInvalid, match="1h30m") as caught:
        seconds_of(junk)
    assert f'"{caught.value.value}" is not a duration' in str(caught.value)
    assert caught.value.field == "duration"


@pytest.mark.parametrize("junk", [True, False, None, [], object(), math.nan, math.inf, -math.inf, 10**400, b"3s"])
def test_a_value_that_is_no_duration_is_refused(junk):
    with pytest.raises(DurationInvalid, match="is not a duration"):
        seconds_of(junk)


@pytest.mark.parametrize(("negative", "shown"), [(-1, "-1"), (-0.5, "-0.5"), (timedelta(days=-1), "-1 day, 0:00:00")])
def test_a_negative_duration_is_refused_as_such(negative, shown):
    with pytest.raises(DurationInvalid, match="is negative") as caught:
        seconds_of(negative)
    assert caught.value.value == shown


@given(days=st.integers(0, 400), hours=st.integers(0, 99), minutes=st.integers(0, 99), seconds=st.integers(0, 99))
def test_what_is_written_in_parts_is_their_sum(days, hours, minutes, seconds):
    expected = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    assert seconds_of(f"{days}d{hours}h{minutes}m{seconds}s") == seconds_of(expected) == expected.total_seconds()


@given(st.text(alphabet="0123456789.dhms -", max_size=70) | st.text())
def test_any_text_is_read_or_refused(text):
    try:
        assert seconds_of(text) >= 0
    except DurationInvalid as error:
        assert error.hint  # noqa: PT017 (either of the two)


@given(st.floats(min_value=0, allow_infinity=False))
def test_seconds_are_seconds(number):
    assert seconds_of(number) == number


def test_the_command_line_reads_the_same_durations():
    assert duration("1h30m") == timedelta(minutes=90)
    assert duration(timedelta(seconds=3)) == timedelta(seconds=3)


@pytest.mark.parametrize("junk", ["soon", "90", "9999999999d"])
def test_the_command_line_answers_junk_as_wrong_usage(junk):
    with pytest.raises(typer.BadParameter, match=f'"{junk}" is not a duration, write for example 500ms, 3s or 2m'):
        duration(junk)
