"""How many orders were played: each test asserts its own number, and together they are enough."""

from importlib import import_module
from pathlib import Path

LEAST = 2000


def test_enough_permutations_are_played(record_property):
    modules = [import_module(path.stem) for path in sorted(Path(__file__).parent.glob("test_*.py"))]
    counts = {module.__name__: module.PERMUTATIONS for module in modules if hasattr(module, "PERMUTATIONS")}
    total = sum(counts.values())
    record_property("permutations", total)
    print(f"\n{total} permutations: {counts}")  # noqa: T201 -- shown with -s and in the report
    assert set(counts) >= {
        "test_owner_words",
        "test_operator_words",
        "test_keys",
        "test_concurrent_claims",
        "test_reads",
    }
    assert total >= LEAST
