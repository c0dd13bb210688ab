"""Check the Promela models: each right variant holds over all its states, each wrong one is caught."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
GIVE_UP_SECONDS = 1_800
SAFETY = ("-DSAFETY", "-DNOCLAIM")
NEVER_LOST = "acceptance cycle"
NOT_EXHAUSTIVE = ("max search depth too small", "Search not completed", "out of memory", "memory limit", "aborting")


@dataclass(frozen=True, slots=True)
class Variant:
    """One model with its macros; `caught_by` is a piece of the promise that a wrong one breaks."""

    model: str
    macros: tuple[str, ...] = ()
    caught_by: str | None = None
    compact: bool = False


VARIANTS = (
    Variant("fence"),
    Variant("fence", ("WRONG_NO_ATTEMPT",), caught_by="(a==attempt)"),
    Variant("fence", ("WRONG_NO_INSTANCE",), caught_by="(given_to[a]==me)"),
    Variant("fence", ("WRONG_SWEEP_SNAPSHOT",), caught_by="&&over)"),
    Variant("fence", ("WRONG_STALE_WHEN_HELD",), caught_by="(closed_by[a]==me)"),
    Variant("fence", ("WRONG_RETRY_RESETS",), caught_by="(given_to[attempt]==0)"),
    Variant("failover"),
    Variant("failover", ("WRONG_NO_ATTEMPT",), caught_by="unheard[row.claim]"),
    Variant("failover", ("WRONG_NO_INSTANCE",), caught_by="unheard[row.claim]"),
    Variant("failover", ("WRONG_KEEP_OLDER",), caught_by="unheard[row.claim]"),
    Variant("failover", ("WRONG_CROSSED_CALLS",), caught_by="unheard[row.claim]"),
    Variant("failover", ("WRONG_LATE_CALL",), caught_by="unheard[row.claim]"),
    Variant("failover", ("WRONG_REUSED_INSTANCE",), caught_by="unheard[row.claim]"),
    Variant("hint"),
    Variant("hint", ("WRONG_NO_FULL_CLAIM",), caught_by=NEVER_LOST),
    Variant("hint", ("WRONG_FULL_WHEN_EMPTY",), caught_by=NEVER_LOST),
    Variant("hint", ("WRONG_NO_POLL",), caught_by=NEVER_LOST),
    Variant("hint", ("OLDEST_WRITER",)),
    Variant("hint", ("OLDEST_WRITER", "WRONG_RANK_BY_PRIORITY"), caught_by=NEVER_LOST),
)
WEEKLY = (
    Variant("fence", ("CLAIMS=4",)),
    Variant("failover", ("WORKERS=3", "CLAIMS=5"), compact=True),
)


class ModelError(Exception):
    """A tool is missing, stopped, or did not end in time."""


def find_tool(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise ModelError(f"{name} is not installed; on Debian and Ubuntu: apt-get install -y spin gcc")
    return path


def call(folder: Path, *command: str) -> str:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=GIVE_UP_SECONDS, check=False)
    except subprocess.TimeoutExpired as late:
        raise ModelError(f"{' '.join(command)}: not done after {GIVE_UP_SECONDS} s") from late
    if done.returncode != 0:
        raise ModelError(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def search(variant: Variant, folder: Path) -> str:
    """Spin writes the checker (-o3: no two statements merged, so that an unreached one shows), gcc builds it."""
    source = HERE / f"{variant.model}.pml"
    lively = re.search(r"^ltl ", source.read_text(encoding="utf-8"), re.MULTILINE) is not None
    call(folder, find_tool("spin"), "-a", "-o3", *(f"-D{macro}" for macro in variant.macros), str(source))
    build = ("-DMEMLIM=8192", *(() if lively else SAFETY), *(("-DCOLLAPSE",) if variant.compact else ()))
    call(folder, find_tool("gcc"), "-O2", "-w", *build, "-o", "pan", "pan.c")
    walk = ("-m1000000", "-w24", *(("-a", "-f") if lively else ()))
    return call(folder, str(folder / "pan"), *walk)


def judge_right(report: str) -> list[str]:
    """Nothing broken, nothing left out of the search, and no statement that the search never came to."""
    faults = [f"says: {phrase}" for phrase in NOT_EXHAUSTIVE if phrase in report]
    if "Full statespace search" not in report or "errors: 0\n" not in report:
        faults.append(broken(report) or "no full search with 0 errors")
    if "_spin_nvr.tmp" in report and "(fairness enabled)" not in report:
        faults.append("liveness was not searched under fairness")
    missed = re.findall(r'^\t\S+\.pml:(\d+), state \d+, "(?!-end-)(.*)"$', report, re.MULTILINE)
    return faults + [f"line {line} never reached: {text}" for line, text in missed]


def judge_wrong(report: str, caught_by: str) -> list[str]:
    found = broken(report)
    if not found:
        return ["no counterexample: the model cannot tell wrong from right"]
    return [] if caught_by in found else [f"caught, but not by {caught_by}: {found}"]


def broken(report: str) -> str:
    found = re.search(r"^pan:\d+: ((?:assertion violated|acceptance cycle|invalid end state).*)$", report, re.MULTILINE)
    return found[1] if found else ""


def check(variant: Variant) -> list[str]:
    """One line of the table; the faults are the answer."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="laneway-models-") as folder:
        report = search(variant, Path(folder))
    faults = judge_right(report) if variant.caught_by is None else judge_wrong(report, variant.caught_by)
    states = re.search(r"^ *([0-9.e+]+) states, stored", report, re.MULTILINE)
    seconds = re.search(r"pan: elapsed time ([0-9.e+-]+) seconds", report)
    print(
        f"{variant.model:<9} {' '.join(variant.macros):<37} {'holds' if variant.caught_by is None else 'is caught':<10}"
        f"{float(states[1]) if states else 0:>11,.0f} {float(seconds[1]) if seconds else 0:>8.2f}"
        f" {time.monotonic() - began:>8.1f}  {'SURPRISE' if faults else 'ok'}",
        flush=True,
    )
    return [f"{' '.join((variant.model, *variant.macros))}: {fault}" for fault in faults]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weekly", action="store_true", help="the larger searches as well: minutes, 3 GB")
    variants = (*VARIANTS, *(WEEKLY if parser.parse_args().weekly else ()))
    print(f"{'model':<9} {'variant':<37} {'must':<10}{'states':>11} {'search s':>8} {'all s':>8}")
    try:
        surprises = [fault for variant in variants for fault in check(variant)]
    except ModelError as error:
        surprises = [str(error)]
    for surprise in surprises:
        print(f"SURPRISE: {surprise}", file=sys.stderr)
    return 1 if surprises else 0


if __name__ == "__main__":
    sys.exit(main())
