"""A document is walked in its order, whatever its depth."""

from laneway.document import depth_of, parts_of, pointer, walk


def test_every_value_comes_with_its_path():
    assert [*walk({"a": [1, {"b": 2}], "c": 3})] == [
        ((), {"a": [1, {"b": 2}], "c": 3}),
        (("a",), [1, {"b": 2}]),
        (("a", 0), 1),
        (("a", 1), {"b": 2}),
        (("a", 1, "b"), 2),
        (("c",), 3),
    ]


def test_a_value_that_is_no_container_has_no_parts():
    assert [parts_of(value) for value in ("text", b"x", 5, None)] == [[], [], [], []]


def test_depth_counts_objects_and_lists():
    assert [depth_of(document) for document in (5, {}, [5], {"a": [{}]})] == [0, 1, 1, 3]


def test_a_document_may_be_deeper_than_the_stack():
    document = []
    for _ in range(4999):
        document = [document]
    assert depth_of(document) == 5000


def test_a_pointer_escapes_what_it_is_made_of():
    assert pointer(["a/b", "~", 0]) == "/a~1b/~0/0"
    assert pointer([]) == ""
