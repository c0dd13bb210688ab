"""The way of one job, as ARCHITECTURE.md tells it, goes through files and functions that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FUNCTIONS = ROOT / "src/laneway/sql/functions"
TEXT = (ROOT / "ARCHITECTURE.md").read_text("utf-8")


IN_PYTHON = sorted(set(re.findall(r"`([\w/]+\.py)`\s+`(\w+)(?:\(\))?`", TEXT)))
IN_SQL = sorted(set(re.findall(r"`(\w+)\(\)`", TEXT)) - {name for _, name in IN_PYTHON})


@pytest.mark.parametrize(("file", "name"), IN_PYTHON)
def test_a_part_in_python_stands_where_it_says(file: str, name: str) -> None:
    assert re.search(
        rf"^(?:async )?(?:def|class) {name}\b", (ROOT / "src/laneway" / file).read_text("utf-8"), re.MULTILINE
    )


@pytest.mark.parametrize("name", IN_SQL)
def test_a_function_it_names_is_made_by_one_file(name: str) -> None:
    made = f"create or replace function {name}("
    assert [file.name for file in FUNCTIONS.glob("*.sql") if made in file.read_text("utf-8")]


@pytest.mark.parametrize(("file", "name"), sorted(set(re.findall(r"`(\w+\.sql)`\s+`(\w+)\(\)`", TEXT))))
def test_a_function_it_names_with_a_file_stands_there(file: str, name: str) -> None:
    assert f"create or replace function {name}(" in (FUNCTIONS / file).read_text("utf-8")
