"""No test waits for time. Who must is listed in sleeps.toml with the reason."""

import tomllib
from pathlib import Path

import pytest
from sleeps import sleeps

HERE = Path(__file__).parent
TESTS = HERE.parent
ALLOWED: dict[str, str] = tomllib.loads((HERE / "sleeps.toml").read_text())["allowed"]
# Its cases are texts that sleep.
CASES = Path(__file__).relative_to(TESTS)
FINDER = CASES.with_name("sleeps.py")


def test_no_test_waits_for_time():
    found = {
        str(file.relative_to(TESTS)): places
        for file in sorted(TESTS.rglob("*.py"))
        if file.relative_to(TESTS) not in {CASES, FINDER} and (places := sleeps(file.read_text()))
    }
    assert {name: places for name, places in found.items() if name not in ALLOWED} == {}
    # whoever sleeps no more leaves the list
    assert sorted(ALLOWED) == sorted(name for name in found if name in ALLOWED)
    assert all(ALLOWED.values())


@pytest.mark.parametrize(
    "text",
    [
        "import time\ntime.sleep(1)",
        "import time as t\nt.sleep(0)",
        "from time import sleep as nap\nnap(x)",
        "import asyncio\nasync def f(): await asyncio.sleep(0.1)",
        "from asyncio import sleep\nasync def f(): await sleep(delay)",
        "conn.execute('select pg_sleep(1)')",
        "conn.execute(f'select Pg_Sleep({n})')",
    ],
)
def test_a_wait_for_time_is_found(text: str):
    assert len(sleeps(text)) == 1


@pytest.mark.parametrize(
    "text", ["import asyncio\nasync def f(): await asyncio.sleep(0)", "worker.sleep(5)", "clock.move(60)"]
)
def test_what_lets_others_run_or_moves_a_clock_is_let_alone(text: str):
    assert sleeps(text) == []
