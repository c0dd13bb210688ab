"""A payload is checked against a schema without a look outside, in bounded time, with a path for each fault."""

import socket
import time

import pytest

from laneway.errors import DefinitionError, PayloadFault
from laneway.payload_schema import Checker

SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "format": "uuid"},
        "sizes": {"type": "array", "items": {"type": "integer"}},
        "a/b~c": {"type": "integer"},
    },
    "required": ["id"],
    "additionalProperties": False,
}
ID = "0192f0c1-0000-7000-8000-000000000001"


def paths_of(document, schema=SCHEMA):
    return [fault.path for fault in Checker(schema).check(document)]


@pytest.fixture
def outside(tmp_path):
    """A schema in a file, and a server that would hand one out."""
    file = tmp_path / "schema.json"
    file.write_text('{"type": "integer"}')
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        yield server, f"http://127.0.0.1:{server.getsockname()[1]}/schema.json", file.as_uri()


def test_a_document_that_fits_has_no_faults():
    assert paths_of({"id": ID, "sizes": [1, 2]}) == []


def test_a_fault_has_path_sentence_and_value():
    assert Checker(SCHEMA).check({"id": ID, "sizes": [1, "x"]}) == (
        PayloadFault("/sizes/1", 'it is not of type "integer"', "x"),
    )


def test_a_key_is_written_as_a_pointer_has_it():
    assert paths_of({"id": ID, "a/b~c": "x"}) == ["/a~1b~0c"]


def test_what_is_missing_or_not_known_is_named_itself():
    faults = Checker(SCHEMA).check({"sices": [], "z": 1})
    assert set(faults) == {
        PayloadFault("/sices", "it is not known"),
        PayloadFault("/z", "it is not known"),
        PayloadFault("/id", "it is missing"),
    }


def test_formats_are_asserted():
    assert paths_of({"id": "7"}) == ["/id"]


def test_a_long_value_is_cut_and_stands_beside_the_sentence():
    fault = Checker({"type": "integer"}).check("x" * 100_000)[0]
    assert len(fault.value) == 80
    assert fault.message == 'it is not of type "integer"'


def test_of_many_faults_the_first_are_told():
    assert len(paths_of({"id": ID, "sizes": ["x"] * 900})) == 20


def test_of_a_large_document_one_fault_is_told_at_once():
    began = time.perf_counter()
    assert paths_of({"id": ID, "sizes": ["x"] * 100_000}) == ["/sizes/0"]
    assert time.perf_counter() - began < 1


@pytest.mark.parametrize("schema", [True, {}])
def test_a_schema_that_says_nothing_takes_anything(schema):
    assert Checker(schema).check([1]) == ()


def test_a_schema_of_false_takes_nothing():
    assert paths_of([1], schema=False) == [""]


@pytest.mark.parametrize("document", [{1: 2}, {"id": object()}])
def test_what_is_no_document_is_a_fault_and_no_crash(document):
    (fault,) = Checker(SCHEMA).check(document)
    assert fault.path == ""
    assert "it is no JSON document" in fault.message


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nothing"},
        {"type": 5},
        {"pattern": "("},
        {"pattern": "(?=a)b"},
        {"pattern": "(a)\\1"},
        {"pattern": "a{1,1000}{1,1000}{1,1000}"},
        {"$ref": "#/$defs/missing"},
        {"$schema": "http://127.0.0.1:9/meta"},
        {"const": object()},
        [],
        None,
    ],
)
def test_a_broken_schema_is_a_wrong_definition(schema):
    with pytest.raises(DefinitionError, match=r"^schema") as caught:
        Checker(schema)
    assert caught.value.field.startswith("schema")
    assert caught.value.value is not None
    assert caught.value.hint


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
@pytest.mark.parametrize("place", [1, 2], ids=["http", "file"])
def test_nothing_is_fetched(outside, keyword, place):
    server = outside[0]
    with pytest.raises(DefinitionError, match="is not present in a registry"):
        Checker({"properties": {"a": {keyword: outside[place]}}})
    with pytest.raises(BlockingIOError):
        server.accept()


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|aa)+$", "^([a-z]+)*$", "(x+x+)+y"])
def test_a_pattern_that_explodes_elsewhere_is_quick(pattern):
    checker = Checker({"type": "string", "pattern": pattern})
    began = time.perf_counter()
    assert checker.check("a" * 50_000 + "!x")
    assert time.perf_counter() - began < 1


def test_a_document_as_deep_as_python_reads_is_checked():
    document = []
    for _ in range(900):
        document = [document]
    assert Checker({"type": "array", "items": {"type": "array"}}).check(document) == ()
