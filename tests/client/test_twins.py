"""Client and AsyncClient say the same: whoever knows one knows the other."""

import inspect

import pytest

from laneway.async_client import AsyncClient
from laneway.client import Client

PUBLIC = sorted(name for name in vars(Client) if not name.startswith("_"))


def test_both_have_the_same_verbs():
    assert sorted(name for name in vars(AsyncClient) if not name.startswith("_")) == PUBLIC


def parameters_of(method):
    return inspect.signature(method).parameters.values()


@pytest.mark.parametrize("name", PUBLIC)
def test_a_verb_is_spoken_alike(name):
    blocking, awaited = getattr(Client, name), getattr(AsyncClient, name)
    assert blocking.__doc__ == awaited.__doc__
    assert list(map(str, parameters_of(blocking))) == list(map(str, parameters_of(awaited)))
    assert inspect.iscoroutinefunction(awaited) or inspect.isasyncgenfunction(awaited)
