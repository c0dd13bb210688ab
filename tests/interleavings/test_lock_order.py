"""Whoever waits, waits in one order: no two verbs wait for each other, however their rows cross."""

import pytest
from scene import Once, Scene, Transaction
from stage import Stage
from words import Word, effect, outcome_of, owner_batch

from language import Heart

OPEN = Transaction()


def nothing(_: Stage) -> None:
    pass


def bulk(name: str, keys: tuple[str, ...], kind: str) -> Word:
    """Items in this order, each with a key; answers in the order of the keys."""

    def say(heart: Heart, stage: Stage) -> list[str]:
        items = [{"payload": {"name": f"{name} {key}"}, kind: key} for key in keys]
        answers = heart.enqueue_many(stage.tenant, items)
        told = [outcome_of(answer, heart, stage) for answer in answers]
        return [answer for _, answer in sorted(zip(keys, told, strict=True))]

    return Word(f"enqueue_many {name}", say, may_wait=True)


@pytest.mark.parametrize("kind", ["dedupe_key", "idempotency_key"])
@pytest.mark.parametrize("level", ["read committed", "repeatable read", "serializable"])
def test_two_bulk_enqueues_with_crossed_keys(lab, house, level, kind):
    scene = Scene(lab, house, nothing)
    for keys in (("x", "y", "z"), ("z", "y", "x"), ("y", "z", "x")):
        for ends in ("commit", "rollback"):
            first, second = bulk("first", ("x", "y", "z"), kind), bulk("second", keys, kind)
            played = scene.play_all(a=(first, Transaction(ends, level)), b=(second, Transaction(isolation=level)))
            assert played == 4


def test_three_bulk_enqueues_whose_keys_make_a_ring(lab, house):
    scene = Scene(lab, house, nothing)
    ring = {"a": ("x", "y"), "b": ("y", "z"), "c": ("z", "x")}
    played = scene.play_all(**{name: (bulk(name, keys, "dedupe_key"), OPEN) for name, keys in ring.items()})
    # two that wait for one: which of them is next is not ours to say
    assert 28 <= played <= 34


def test_keys_of_two_kinds_that_cross(lab, house):
    """Idempotency keys come before dedupe keys, whichever an item names first."""
    scene = Scene(lab, house, nothing)

    def both(name: str, dedupe: str, idempotency: str) -> Word:
        def say(heart: Heart, stage: Stage) -> str:
            answer = heart.enqueue(stage.tenant, payload={"name": name}, dedupe_key=dedupe, idempotency_key=idempotency)
            return outcome_of(answer, heart, stage)

        return Word(name, say, may_wait=True)

    assert scene.play_all(a=(both("one", "x", "y"), OPEN), b=(both("two", "y", "x"), OPEN)) == 6
    assert scene.play_all(a=(both("one", "x", "y"), OPEN), b=(both("two", "x", "y"), OPEN)) == 4


def test_replacing_twins_in_opposite_orders(lab, house):
    def twins(stage: Stage) -> None:
        for key in "xy":
            stage.job(f"twin {key}", dedupe_key=key)

    def replace(name: str, keys: tuple[str, ...]) -> Word:
        def say(heart: Heart, stage: Stage) -> list[str]:
            items = [{"payload": {"name": f"{name} {key}"}, "dedupe_key": key, "dedupe": "replace"} for key in keys]
            return [outcome_of(answer, heart, stage) for answer in heart.enqueue_many(stage.tenant, items)]

        return Word(f"replace {name}", say, may_wait=True)

    scene = Scene(lab, house, twins)
    assert scene.play_all(a=(replace("one", ("x", "y")), OPEN), b=(replace("two", ("y", "x")), OPEN)) == 4


@pytest.mark.parametrize("verbs", [("complete", "extend"), ("fail", "complete"), ("release", "extend")], ids="-".join)
def test_owner_verbs_wait_for_no_row_whatever_order_they_name_them_in(lab, house, verbs):
    def two_running(stage: Stage) -> None:
        for name in ("first", "second"):
            stage.claimed(name)

    first, second = verbs
    names = ("first", "second")
    scene = Scene(lab, house, two_running)
    played = scene.play_all(a=(owner_batch(first, names), OPEN), b=(owner_batch(second, names[::-1]), OPEN))
    assert played == 6


SYNCED = {"sync-a": {}, "sync-b": {}}


def test_two_syncs_that_name_their_definitions_in_opposite_orders(lab, house):
    def sync(name: str, priority: int, keys: list[str]) -> Word:
        def say(heart: Heart, _: Stage) -> str:
            heart.sync({key: {"priority": priority} for key in keys}, app="crossed")
            return "done"

        return Word(name, say, may_wait=True)

    scene = Scene(lab, house, lambda stage: stage.heart.sync(SYNCED, app="crossed"))
    first, second = sync("one", 1, list(SYNCED)), sync("two", 2, list(SYNCED)[::-1])
    assert scene.play_all(a=(first, OPEN), b=(second, OPEN)) == 4


def test_an_override_and_a_sync_of_one_definition(lab, house):
    lab.heart.sync(SYNCED, app="crossed")
    turn = iter(range(1000))

    def sync(heart: Heart, _: Stage) -> str:
        heart.sync({key: {"priority": next(turn) % 100} for key in SYNCED}, app="crossed")
        return "done"

    override = effect("override", lambda heart, _: heart.override("sync-b", max_attempts=7))
    scene = Scene(lab, house, nothing)
    waits = {"may_wait": True}
    first = Word("sync", sync, **waits)
    second = Word("override", override.say, **waits)
    assert scene.play_all(a=(first, OPEN), b=(second, OPEN)) == 4
    assert scene.play_all(a=(first, OPEN), b=(second, Once())) == 3


PERMUTATIONS = 6 * 6 * 4 + 28 + 10 + 4 + 3 * 6 + 4 + 7
