"""Hot statements find their rows by an index, whatever the tables held when they were planned."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

import pytest
from capture import Node, Plan, explained
from hot_statements import VERBS, Scene, fill
from plan_rules import (
    finds_by_lease,
    reads_end_to_end,
    sorts_more_than,
    walks_an_index_without_a_condition,
)

from kit.database import Clones
from language import Heart

ROWS = 20_000
# A call handles up to as many rows; a page of a list looks at a thousand jobs in each of four tables.
BOUNDED = 1_200
PAGES = 4_000

Plans: TypeAlias = dict[str, list[Plan]]
Rule: TypeAlias = Callable[[Plan], list[Node]]


def set_scene(heart: Heart) -> Scene:
    heart.define()
    acme, other = sorted([heart.tenant("acme"), heart.tenant("other")])
    return Scene(heart, acme, other, heart.worker())


def say_all(scene: Scene) -> Plans:
    said: Plans = {}
    for name, (say, _) in VERBS.items():
        with explained(scene.heart.conn) as plans:
            say(scene)
        said[name] = plans
    return said


@pytest.fixture(scope="module")
def captured(clones: Clones) -> Iterator[dict[str, Plans]]:
    """`empty`: on empty, analyzed tables. `kept`: the same session when they are full and nobody has analyzed them:
    its plans are those of before. `fresh`: a new session after that.
    """
    with clones.lent() as database:
        scene = set_scene(Heart(database))
        scene.heart.rows("analyze")
        captured = {"empty": say_all(scene)}
        fill(scene.heart.conn, scene.acme, ROWS)
        captured["kept"] = say_all(scene)
        fresh = Heart(database)
        captured["fresh"] = say_all(Scene(fresh, scene.acme, scene.other, scene.worker.on(fresh)))
        yield captured


@pytest.fixture(params=["empty", "kept", "fresh"])
def plans(captured: dict[str, Plans], request: pytest.FixtureRequest, verb: str) -> list[Plan]:
    return captured[request.param][verb]


EVERY_VERB = pytest.mark.parametrize("verb", VERBS)


def broken(rule: Rule, plans: list[Plan]) -> str:
    return "\n\n".join(str(plan) for plan in plans if rule(plan))


@EVERY_VERB
def test_its_statements_were_seen(plans: list[Plan], verb: str):
    _, tables = VERBS[verb]
    assert set().union(*(plan.tables for plan in plans)) >= tables


@EVERY_VERB
def test_no_hot_table_is_read_from_end_to_end(plans: list[Plan], verb: str):
    assert not broken(reads_end_to_end, plans), verb


@EVERY_VERB
def test_no_index_is_walked_without_a_condition(plans: list[Plan], verb: str):
    assert not broken(walks_an_index_without_a_condition, plans), verb


@EVERY_VERB
def test_the_backlog_is_not_sorted(plans: list[Plan], verb: str):
    assert not broken(sorts_more_than(PAGES if verb == "list_jobs" else BOUNDED), plans), verb


@EVERY_VERB
def test_only_the_sweep_walks_the_leases(plans: list[Plan], verb: str):
    if verb != "sweep":
        assert not broken(finds_by_lease, plans), verb
