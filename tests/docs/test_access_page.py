"""docs/reference/access.md is made from the access table and is never behind it."""

from pathlib import Path

import pytest

from laneway.database.access_page import access_page, main
from laneway.database.sqlfiles import SqlFiles

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "access.md"


def test_the_committed_page_is_what_the_access_table_says():
    assert main(["--check", "--output", str(PAGE)]) == 0, "run python -m laneway.database.access_page"


def test_a_stale_page_is_told_with_its_difference(tmp_path, capsys):
    page = tmp_path / "access.md"
    page.write_text(access_page(SqlFiles.packaged()).replace("| `claim` |", "| `clain` |"))
    assert main(["--check", "--output", str(page)]) == 8
    told = capsys.readouterr().out
    assert "+| `claim` |" in told
    assert "is stale: run python -m laneway.database.access_page" in told


@pytest.mark.parametrize("row", SqlFiles.packaged().access.rows, ids=lambda row: f"{row.kind}-{row.name}")
def test_every_row_has_a_line_with_a_sentence(row):
    line = next(line for line in access_page(SqlFiles.packaged()).splitlines() if line.startswith(f"| `{row.name}` |"))
    assert len(line.split("|")[-2].strip()) > 10
