"""An item is a payload with the options of one job; its automatic key is the same for the same document."""

import inspect
import json
import re
from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import laneway
from laneway.model.item import Item, auto_dedupe_key

SQL = (Path(laneway.__file__).parent / "sql" / "functions" / "enqueue.sql").read_text("utf-8")
JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5)


def test_an_item_has_every_option_of_enqueue_in_the_order_of_the_sql():
    arguments = re.search(r"function enqueue\((.*?)out job_id", SQL, flags=re.DOTALL)[1]
    named = re.findall(r"^ +p_(\w+) ", arguments, flags=re.MULTILINE)
    assert ["tenant", *(field.name for field in fields(Item)), "token"] == named


def test_options_are_given_by_name():
    kinds = {name: parameter.kind for name, parameter in inspect.signature(Item).parameters.items()}
    assert {name for name, kind in kinds.items() if kind is not inspect.Parameter.KEYWORD_ONLY} == {
        "definition",
        "payload",
    }


def test_an_item_is_not_changed_but_replaced():
    item = Item("resize", '{"image_id": 7}')
    with pytest.raises(FrozenInstanceError):
        item.priority = 5
    assert replace(item, priority=5) == Item("resize", '{"image_id": 7}', priority=5)


def test_an_automatic_key_is_made_with_the_item():
    item = Item("resize", '{"a": 1, "b": {"y": 1, "x": 2}}', dedupe_key="auto")
    assert re.fullmatch("auto:[0-9a-f]{64}", item.dedupe_key)
    assert item.dedupe_key == Item("resize", '{"b":{"x":2,"y":1},"a":1}', dedupe_key="auto").dedupe_key


def test_automatic_keys_stay_the_same_over_releases():
    assert auto_dedupe_key("resize", '{"width": 800, "image_id": 7}') == (
        "auto:2899334e8aa9432e4506b2d2635c14c9c681a7313d0361404283c212dcddb4f8"
    )


@pytest.mark.parametrize(
    "other", [("resize", '{"a": 2}'), ("resize", '{"a": "1"}'), ("shrink", '{"a": 1}'), ("resize", '{"a": [1]}')]
)
def test_another_definition_or_document_has_another_key(other):
    assert auto_dedupe_key(*other) != auto_dedupe_key("resize", '{"a": 1}')


def test_a_key_of_ones_own_is_kept():
    assert Item("resize", dedupe_key="order-7").dedupe_key == "order-7"


@given(st.dictionaries(st.text(), JSON, max_size=4), st.randoms())
def test_the_order_of_keys_does_not_matter(document, random):
    shuffled = list(document.items())
    random.shuffle(shuffled)
    assert auto_dedupe_key("k", json.dumps(document)) == auto_dedupe_key("k", json.dumps(dict(shuffled), indent=2))
