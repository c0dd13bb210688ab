"""One mutant against the tests: the killers that are known, then everything that looks at the rules."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from mutations import Mutant, MutantError
from templates import UNBROKEN, Broken, UnsoundError, mutated_template

__all__ = ["Hunt", "Verdict", "hunt", "require_green", "run_tests"]

ROOT = Path(__file__).parents[2]
# What looks at the rules of the SQL, the quickest first.
SUITES = (
    "tests/sql",
    "tests/defects",
    "tests/access",
    "tests/catalogue",
    "tests/states",
    "tests/interleavings",
    "tests/faults",
    "tests/plans",
    "tests/machine",
)
_PATIENCE_SECONDS = 300
_SPENT = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


class Verdict(Enum):
    KILLED = "killed"
    SURVIVED = "SURVIVED"
    UNSOUND = "unsound"
    BROKEN = "BROKEN"


@dataclass(frozen=True, slots=True)
class Hunt:
    mutant: Mutant
    verdict: Verdict
    by: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Tried:
    found: bool
    by: str


def hunt(dsn: str, mutant: Mutant, *, suites: Sequence[str] = SUITES) -> Hunt:
    """Killed by what, or not at all."""
    began = time.monotonic()

    def done(verdict: Verdict, by: str) -> Hunt:
        return Hunt(mutant, verdict, by, time.monotonic() - began)

    try:
        with mutated_template(dsn, mutant) as broken:
            return done(*_judge(dsn, broken, mutant, suites))
    except UnsoundError as error:
        return done(Verdict.UNSOUND, str(error).splitlines()[0])
    except MutantError as error:
        return done(Verdict.BROKEN, str(error).splitlines()[0])


def _judge(dsn: str, broken: Broken, mutant: Mutant, suites: Sequence[str]) -> tuple[Verdict, str]:
    if mutant.needs_all:
        tried = {killer: run_tests([killer], dsn=dsn, broken=broken) for killer in mutant.killers}
        missed = [killer for killer, result in tried.items() if not result.found]
        if tried and not missed:
            return Verdict.KILLED, " + ".join(result.by for result in tried.values())
        return Verdict.SURVIVED, f"not found by {', '.join(missed) or 'anything: it has no killers'}"
    if mutant.killers:
        known = run_tests(mutant.killers, dsn=dsn, broken=broken)
        if known.found:
            return Verdict.KILLED, known.by
    cold = run_tests([suite for suite in suites if (ROOT / suite).is_dir()], dsn=dsn, broken=broken)
    if cold.found:
        return Verdict.KILLED, f"{cold.by}{' (not by its killers)' if mutant.killers else ' (name it)'}"
    return Verdict.SURVIVED, "every test passes"


def run_tests(tests: Sequence[str], *, dsn: str, broken: Broken) -> Tried:
    """The first test that fails, in a process of its own. One that hangs has failed too."""
    environment = {**os.environ, "LANEWAY_TEST_DSN": dsn, "LANEWAY_TEST_TEMPLATE": broken.template}
    if broken.path is not None:
        environment["PYTHONPATH"] = str(broken.path)
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:randomly", "--tb=no", "-rfE", *tests],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=_PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return Tried(found=True, by=f"{tests[0]}: nothing came back in {_PATIENCE_SECONDS} s")
    if process.returncode not in (0, 1):
        raise MutantError(f"pytest could not run {' '.join(tests)}: {said[-2000:]}")
    failed = _SPENT.search(said)
    if failed is not None and "::" not in failed[1]:
        raise MutantError(f"pytest could not read {failed[1]}: {said[-2000:]}")
    if process.returncode == 1 and failed is None:
        raise MutantError(f"pytest failed without a test that did: {said[-2000:]}")
    return Tried(found=failed is not None, by=failed[1] if failed else "")


def require_green(dsn: str, mutants: Sequence[Mutant]) -> None:
    """A killer that fails without a mutant kills nothing."""
    killers = sorted({killer for mutant in mutants for killer in mutant.killers})
    if killers:
        with mutated_template(dsn, UNBROKEN) as broken:
            tried = run_tests(killers, dsn=dsn, broken=broken)
        if tried.found:
            raise MutantError(f"{tried.by} fails without a mutant: mend that first")
