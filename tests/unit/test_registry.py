"""A key is one job; two of one key are told with both their places."""

from dataclasses import dataclass, field

import pytest

from laneway.definitions.registry import Registry
from laneway.errors import DefinitionError
from laneway.model.definition import Declaration


@dataclass(eq=False)
class Job:
    key: str
    origin: str = "shop.jobs:1"
    aliases: tuple[str, ...] = ()
    declaration: Declaration = field(init=False)

    def __post_init__(self):
        self.declaration = Declaration(key=self.key, queue=f"for-{self.key}", aliases=self.aliases)


RESIZE = Job("resize", "shop.media:10", ("shrink", "scale"))
SEND = Job("send-receipt", "shop.mail:20")


def registry_of(*jobs):
    registry = Registry()
    for job in jobs:
        registry.add(job)
    return registry


def test_a_job_is_found_by_its_key_and_by_its_former_ones():
    registry = registry_of(RESIZE, SEND)
    assert [registry.job_for(name) for name in ("resize", "shrink", "send-receipt")] == [RESIZE, RESIZE, SEND]
    assert registry.aliases == {"shrink": "resize", "scale": "resize"}
    assert registry.names() == ("resize", "send-receipt", "shrink", "scale")
    assert "shrink" in registry
    assert "scales" not in registry


def test_jobs_come_in_the_order_in_which_they_were_declared():
    registry = registry_of(SEND, RESIZE)
    assert [*registry] == [SEND, RESIZE]
    assert len(registry) == 2


def test_a_sync_takes_the_declarations_by_key_without_aliases():
    assert registry_of(RESIZE, SEND).declared() == {
        "resize": {"queue": "for-resize"},
        "send-receipt": {"queue": "for-send-receipt"},
    }


@pytest.mark.parametrize(
    ("job", "name"),
    [
        (Job("resize", "shop.other:3"), "resize"),
        (Job("shrink", "shop.other:3"), "shrink"),
        (Job("crop", "shop.other:3", ("resize",)), "resize"),
        (Job("crop", "shop.other:3", ("scale",)), "scale"),
    ],
)
def test_a_key_that_is_taken_is_refused_with_both_places(job, name):
    registry = registry_of(RESIZE, SEND)
    with pytest.raises(DefinitionError, match=f'"{name}" is declared twice: shop.media:10 and shop.other:3') as caught:
        registry.add(job)
    assert caught.value.value == name
    assert [*registry] == [RESIZE, SEND]


def test_the_same_job_again_changes_nothing():
    assert [*registry_of(RESIZE, RESIZE)] == [RESIZE]


def test_a_key_that_is_not_declared_is_told_with_those_that_are_near():
    with pytest.raises(DefinitionError, match=r'job "resice" is not declared in this code\. Did you mean resize\?'):
        registry_of(RESIZE, SEND).job_for("resice")
    with pytest.raises(DefinitionError, match="Import the module that declares it"):
        registry_of().job_for("resize")
