"""The lists of mutants are not behind the SQL: each text stands where it says, each killer is there."""

import shutil
from pathlib import Path

import pytest
from mutations import all_of, mutate

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MUTANTS = list(all_of(HERE))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.id)
def test_a_mutant_can_be_made_and_says_who_kills_it(mutant, tmp_path):
    folder = tmp_path / "laneway"
    shutil.copytree(ROOT / "src" / "laneway", folder, ignore=shutil.ignore_patterns("__pycache__"))
    mutate(mutant, folder / "sql")
    assert mutant.changes or mutant.statements
    assert mutant.killers
    for killer in mutant.killers:
        assert (ROOT / killer.partition("::")[0]).exists(), killer


def test_each_has_a_name_of_its_own():
    names = [mutant.id for mutant in MUTANTS]
    assert sorted(names) == sorted(set(names))
