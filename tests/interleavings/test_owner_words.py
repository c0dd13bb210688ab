"""What owners say about an attempt, and the sweep, in every pair and triple."""

from itertools import combinations, combinations_with_replacement, product

import pytest
from scene import Gate, Scene, Transaction
from stage import Stage
from words import owner, sweep

from language import LEASE

WORDS = {
    "complete": owner("complete"),
    "extend": owner("extend"),
    "release": owner("release"),
    "sweep": sweep(),
}
# open; before anything was read; with the row locked
CUTS = (Transaction(), Gate("clock"), Gate("live.%.before"))


def over(stage: Stage) -> None:
    """A job whose lease is over, and which nobody has swept."""
    stage.claimed("j")
    stage.clock.move(LEASE)


@pytest.mark.parametrize("pair", list(combinations_with_replacement(WORDS, 2)), ids="-".join)
def test_a_pair(lab, house, pair):
    scene = Scene(lab, house, over)
    first, second = (WORDS[word] for word in pair)
    played = sum(scene.play_all(a=(first, cut), b=(second, other)) for cut, other in product(CUTS, CUTS))
    assert played == 54


@pytest.mark.parametrize("word", WORDS)
def test_a_word_whose_row_is_written_and_not_yet_committed(lab, house, word):
    scene = Scene(lab, house, over)
    played = sum(
        scene.play_all(a=(WORDS[word], Gate("live.%.after")), b=(other, Transaction())) for other in WORDS.values()
    )
    assert played == 24


@pytest.mark.parametrize("triple", list(combinations(WORDS, 3)), ids="-".join)
def test_a_triple(lab, house, triple):
    scene = Scene(lab, house, over)
    first, second, third = ((WORDS[word], Transaction()) for word in triple)
    assert scene.play_all(a=first, b=second, c=third) == 90


def test_a_triple_that_stands_with_its_row_locked(lab, house):
    scene = Scene(lab, house, over)
    held = Gate("live.%.before")
    assert scene.play_all(a=(WORDS["extend"], Transaction()), b=(owner("complete"), held), c=(sweep(), held)) == 90


PERMUTATIONS = 10 * 54 + 4 * 24 + 5 * 90
