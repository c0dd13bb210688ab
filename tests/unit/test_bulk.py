"""Many jobs in bounded memory: how they are cut, and what is known after a cut."""

import pytest

from laneway.bulk import CHUNK_BYTES, Bulk, chunks_of
from laneway.errors import ConnectionLost
from laneway.model.enqueued import Enqueued
from laneway.model.item import Item


def test_a_thousand_go_at_a_time():
    assert [len(chunk) for chunk in chunks_of(Item("a") for _ in range(2_001))] == [1000, 1000, 1]


def test_none_are_no_call():
    assert list(chunks_of([])) == []


def test_large_ones_go_in_smaller_calls_and_keep_their_order():
    items = [Item("a", f'"{n:0{CHUNK_BYTES // 3}}"') for n in range(7)]
    chunks = list(chunks_of(items))
    assert [item for chunk in chunks for item in chunk] == items
    assert max(len(chunk) for chunk in chunks) == 2


def test_one_that_is_larger_than_a_call_goes_alone():
    assert [len(chunk) for chunk in chunks_of([Item("a", "x" * (CHUNK_BYTES + 1)), Item("b")])] == [1, 1]


def test_what_is_read_ahead_is_one_call_and_no_more():
    taken = []
    chunks = chunks_of(taken.append(n) or Item("a") for n in range(10_000))
    next(chunks)
    assert len(taken) == 1000


def test_a_cut_says_what_is_in_and_what_is_not_known():
    bulk = Bulk(None)
    bulk.took([Enqueued(None, created=True)] * 1000)
    with pytest.raises(ConnectionLost) as caught, bulk.sending([Item("a")] * 500):
        raise ConnectionLost("connection: reset", known="Unknown.")
    assert "The first 1000 items are in. Of items 1001 to 1500 either all are or none" in caught.value.known
