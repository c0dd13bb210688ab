"""A declaration is judged where it stands, by the bounds of the SQL, and written without what goes without saying."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import laneway
from laneway.errors import DefinitionError
from laneway.model.bounds import BOUNDS, Bound
from laneway.model.definition import DEFAULTS, KEY, QUEUE, Declaration
from laneway.model.retry import Retry

SQL = (Path(laneway.__file__).parent / "sql" / "functions" / "definitions.sql").read_text("utf-8")
PLAIN = Declaration(key="resize", place="shop.resize")


def nested(levels):
    schema = {}
    for _ in range(levels - 1):
        schema = {"not": schema}
    return schema


def test_the_defaults_are_those_of_the_sql_but_for_an_operators_switch():
    written = re.search(r"definition_defaults\(\).*?select '(\{.*?\})'", SQL, flags=re.DOTALL)
    assert json.loads(written[1]) == {**DEFAULTS, "is_enabled": True}


def test_the_bounds_are_those_of_the_sql():
    numbers = re.findall(r"require_number\(p_field \|\| '\.(\w+)', .*?, (\d+), (\d+), (true|false)\)", SQL)
    assert {name: Bound(int(low), int(high), is_whole=whole == "true") for name, low, high, whole in numbers} == BOUNDS


def test_the_patterns_of_names_are_those_of_the_sql():
    patterns = {f"^{pattern.pattern}$" for pattern in (KEY, QUEUE)}
    assert patterns <= set(re.findall(r"!~ '([^']+)'", SQL))


def test_a_plain_declaration_says_nothing():
    assert PLAIN.fields() == {}


def test_only_what_differs_is_said():
    said = replace(
        PLAIN,
        queue="media",
        description="Makes it small.",
        tags=["images", "fast"],
        max_attempts=5.0,
        priority=0,
        timeout_seconds=900,
        retry=Retry.fixed("30s"),
        is_system=True,
        schema={"type": "object"},
        aliases=["shrink"],
    )
    assert said.fields() == {
        "queue": "media",
        "description": "Makes it small.",
        "tags": ["images", "fast"],
        "max_attempts": 5,
        "priority": 0,
        "timeout_seconds": 900,
        "backoff_kind": "fixed",
        "backoff_base_seconds": 30,
        "is_system": True,
        "schema": {"type": "object"},
    }
    assert json.dumps(said.fields()["max_attempts"]) == "5"


@pytest.mark.parametrize("key", ["a", "A1", "sync-folder", "shop/v2:resize.fast_1", "x" * 120])
def test_a_key_may_be(key):
    assert replace(PLAIN, key=key, queue=key.replace("/", "-")).key == key


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("key", ""),
        ("key", "-a"),
        ("key", "a b"),
        ("key", "a\n"),
        ("key", "é"),
        ("key", "x" * 121),
        ("key", None),
        ("queue", "a/b"),
        ("queue", ""),
        ("description", "x" * 2001),
        ("description", "a\0b"),
        ("description", "\ud800"),
        ("description", 5),
        ("tags", "dropbox"),
        ("tags", ["x"] * 51),
        ("tags", [""]),
        ("tags", ["x" * 64]),
        ("tags", [5]),
        ("tags", None),
        ("max_attempts", 0),
        ("max_attempts", 101),
        ("max_attempts", 1.5),
        ("max_attempts", True),
        ("max_attempts", "5"),
        ("priority", -1),
        ("priority", 1001),
        ("priority", float("nan")),
        ("timeout_seconds", 0),
        ("timeout_seconds", 604801),
        ("retry", "5s"),
        ("is_system", 1),
        ("aliases", "old"),
        ("aliases", ["a b"]),
        ("aliases", ["resize"]),
        ("aliases", ["old", "old"]),
        ("aliases", ["x"] * 51),
        ("schema", {"description": "x" * 262144}),
        ("schema", nested(33)),
    ],
)
def test_a_wrong_value_is_refused_with_its_place_its_field_and_the_way_out(field, value):
    with pytest.raises(DefinitionError, match=rf"^job shop\.resize: {field}: ") as caught:
        replace(PLAIN, **{field: value})
    assert caught.value.field == field
    assert caught.value.value is not None
    assert caught.value.hint.endswith(".")


def test_a_schema_of_32_levels_is_deep_enough_and_fits():
    assert replace(PLAIN, schema=nested(32)).fields()
