"""An error names the field, the value and the way out, and says the same after a journey between processes."""

import copy
import pickle
import re
from pathlib import Path

import pytest

from laneway import errors
from laneway.errors import (
    REFUSAL_CODES,
    Busy,
    Conflict,
    ConnectionLost,
    DefinitionError,
    Forbidden,
    JobFailed,
    LanewayError,
    NotFound,
    PayloadFault,
    PayloadInvalid,
    Refused,
    refusal,
    shorten,
)
from laneway.model.ending import Ending, Permanent, RetryIn, Snooze

FUNCTIONS = Path(errors.__file__).parent / "sql" / "functions"
FAULTS = (PayloadFault("/a", "it is missing"), PayloadFault("/b", "it is not known", "7"))
ALL = [
    DefinitionError("fact", field="f", value="v", hint="Do."),
    PayloadInvalid.of("shop.resize", FAULTS, hint="Do."),
    refusal("busy", field="dedupe_key", value="k", hint="Again."),
    ConnectionLost("cut", known="It was sent."),
    JobFailed("failed", error={"type": "KeyError"}, attempts=3),
]


def test_the_sentence_ends_with_the_way_out():
    error = DefinitionError("queue: it is malformed", field="queue", value="?", hint="Use letters.")
    assert str(error) == "queue: it is malformed. Use letters."
    assert (error.message, error.field, error.value, error.hint) == (
        "queue: it is malformed",
        "queue",
        "?",
        "Use letters.",
    )


def test_without_a_way_out_the_sentence_stands_alone():
    assert str(DefinitionError("queue: it is malformed")) == "queue: it is malformed"


@pytest.mark.parametrize("error", ALL, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("travel", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])  # noqa: S301
def test_an_error_is_the_same_after_a_journey(error, travel):
    arrived = travel(error)
    assert type(arrived) is type(error)
    assert vars(arrived) == vars(error)
    assert str(arrived) == str(error)


def test_every_class_is_in_the_drawing():
    drawing = (errors.__doc__ or "").partition("\n\n")[2]
    drawn = set(re.findall(r"^[│├└─ ]*([A-Z]\w+) ", drawing, flags=re.MULTILINE)) - {"What"}
    classes = {
        name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, LanewayError)
    }
    assert drawn == classes


def test_a_payload_tells_its_first_fault_and_has_them_all():
    error = PayloadInvalid.of("shop.resize", FAULTS)
    assert str(error) == "payload of shop.resize: /a: it is missing; 1 more"
    assert error.errors == FAULTS
    assert error.field == "payload/a"


def test_a_fault_shows_what_stands_there():
    assert str(PayloadFault("/b", "it is not known", "7")) == "/b: it is not known (here: 7)"
    assert str(PayloadFault("", "it is no object", "[]")) == "the whole: it is no object (here: [])"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("unknown", NotFound),
        ("conflict", Conflict),
        ("duplicate", Conflict),
        ("forbidden", Forbidden),
        ("busy", Busy),
        ("out_of_range", Refused),
        ("suspended", Refused),
        ("of a later release", Refused),
    ],
)
def test_the_code_chooses_the_class_of_a_refusal(code, kind):
    error = refusal(code, field="priority", value="7", hint="Use 0.")
    assert type(error) is kind
    assert (error.code, error.field, error.value, error.hint) == (code, "priority", "7", "Use 0.")


def test_a_refusal_makes_its_sentence_unless_it_is_given():
    assert str(refusal("unknown", field="definition", value="resice", hint="Sync it.")) == (
        'definition: "resice" is not known. Sync it.'
    )
    assert str(refusal("unknown", message="No such job")) == "No such job"
    assert str(refusal("of a later release")) == "refused (of a later release)"


def test_a_value_with_braces_is_shown_as_it_is():
    assert str(refusal("malformed", field="labels", value="{value}{0}")) == 'labels: "{value}{0}" is malformed'


def test_the_codes_are_those_of_the_sql():
    raised = re.findall(
        r"^ +when '(\w+)' then v_state", (FUNCTIONS / "foundation.sql").read_text("utf-8"), re.MULTILINE
    )
    answered = re.findall(r"refusal := '(\w+)'", (FUNCTIONS / "refusals.sql").read_text("utf-8"))
    assert len(raised) > 5
    assert len(answered) > 5
    assert {*raised, *answered} == REFUSAL_CODES


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("text", "text"),
        ({"ü": [1, None]}, '{"ü": [1, null]}'),
        (object, "<class 'object'>"),
        ("x" * 81, "x" * 77 + "..."),
    ],
)
def test_a_value_is_shown_as_json_and_cut(value, shown):
    assert shorten(value) == shown


def test_a_cut_line_says_what_is_known():
    error = ConnectionLost("the line was cut", known="The job was not enqueued.", hint="Enqueue it again.")
    assert str(error) == "the line was cut. The job was not enqueued. Enqueue it again."


@pytest.mark.parametrize("kind", [Snooze, RetryIn])
@pytest.mark.parametrize(("delay", "seconds"), [("10m", 600), (1.5, 1.5), (90, 90)])
def test_a_handler_says_later_in_any_way_of_durations(kind, delay, seconds):
    ending = pickle.loads(pickle.dumps(kind(delay, "not yet")))  # noqa: S301
    assert (ending.delay_seconds, ending.reason) == (seconds, "not yet")
    assert str(ending) == "not yet"
    assert str(kind(90)) == "in 90 s"


def test_a_handler_that_gives_up_says_why():
    ending = pickle.loads(pickle.dumps(Permanent("no such folder")))  # noqa: S301
    assert ending.reason == str(ending) == "no such folder"


def test_an_ending_is_no_error_of_laneway():
    assert not issubclass(Ending, LanewayError)


def test_a_delay_that_is_none_is_refused_where_it_is_written():
    with pytest.raises(LanewayError, match='"soon" is not a duration'):
        Snooze("soon")
