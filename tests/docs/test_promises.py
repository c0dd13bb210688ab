"""Every sentence of the README that promises something names the tests that hold it, and they exist."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CLAIMS: dict[str, list[str]] = tomllib.loads((ROOT / "docs/claims.toml").read_text("utf-8"))


def test_the_readme_and_the_list_of_claims_name_the_same_ids() -> None:
    promised = re.findall(r"^- \*\*(C\d+)\*\*", (ROOT / "README.md").read_text("utf-8"), flags=re.MULTILINE)
    assert promised == sorted(CLAIMS, key=lambda claim: int(claim[1:]))


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_claim_has_tests(claim: str) -> None:
    assert CLAIMS[claim]
    for node in CLAIMS[claim]:
        path, _, name = node.partition("::")
        tree = ast.parse((ROOT / path).read_text("utf-8"))
        named = [item for item in ast.walk(tree) if isinstance(item, ast.FunctionDef) and item.name == name]
        assert named, f"{node} is not there"
        assert not any("skip" in ast.unparse(mark) for mark in named[0].decorator_list), f"{node} is skipped"
