"""`make mutants`: breaks the SQL on purpose, one rule at a time, and says which test saw it.

python tests/mutants/run.py                       the named ones and the defects of the first designs
python tests/mutants/run.py --only M1,M2          some of them
python tests/mutants/run.py --automatic           made from the text of the functions, a share of them
python tests/mutants/run.py --automatic --all     all of them: hours
"""

import argparse
import os
import random
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hunt import Hunt
    from mutations import Mutant

HERE = Path(__file__).parent
PROCESSES = 2
GOAL = 0.9
SHARE = 60


@contextmanager
def server() -> Iterator[str]:
    """The one that is given, or one for this run. Nothing that a mutant does may hang for long."""
    given = os.environ.get("LANEWAY_TEST_DSN")
    if given:
        yield given
        return
    from kit.server import memory_or_disk  # noqa: PLC0415 -- the path is set by main()
    from laneway.devserver import DevServer, ServerOptions  # noqa: PLC0415

    folder = memory_or_disk()
    options = ServerOptions(
        data_dir=Path(folder) / f"laneway-mutants-{os.getpid()}" if folder else None,
        durable=False,
        ephemeral=True,
        settings={"max_connections": "300", "statement_timeout": "60s"},
    )
    with DevServer(options) as started:
        yield started.dsn()


def hunt_all(dsn: str, mutants: Sequence["Mutant"]) -> Iterator["Hunt"]:
    """Two at a time, told as they come."""
    from hunt import hunt  # noqa: PLC0415 -- the path is set by main()

    with ThreadPoolExecutor(PROCESSES) as pool:
        for future in as_completed([pool.submit(hunt, dsn, mutant) for mutant in mutants]):
            result = future.result()
            say(f"{result.mutant.id:8} {result.verdict.value:9} {result.seconds:6.1f} s  {result.mutant.says}")
            say(f"{'':8} {result.by}")
            yield result


def run_named(dsn: str, only: Sequence[str]) -> int:
    from hunt import Verdict, require_green  # noqa: PLC0415 -- the path is set by main()
    from mutations import all_of  # noqa: PLC0415

    mutants = [mutant for mutant in all_of(HERE) if not only or mutant.id in only or mutant.group in only]
    if not mutants:
        say(f"--only {','.join(only)}: no mutant has this name or group")
        return 2
    require_green(dsn, mutants)
    results = list(hunt_all(dsn, mutants))
    killed = [result for result in results if result.verdict is Verdict.KILLED]
    say(f"\n{len(killed)} of {len(results)} killed")
    for result in results:
        if result.verdict is not Verdict.KILLED:
            say(f"  {result.mutant.id} {result.verdict.value}: {result.mutant.says} ({result.by})")
    return 0 if len(killed) == len(results) else 1


def run_automatic(dsn: str, *, files: Sequence[str], only: Sequence[str], share: int | None, seed: int) -> int:
    from automatic import accepted, make_all  # noqa: PLC0415 -- the path is set by main()
    from hunt import Verdict  # noqa: PLC0415

    mutants = [mutant for mutant in make_all(files) if not only or mutant.id in only]
    if share is not None and share < len(mutants):
        mutants = random.Random(seed).sample(mutants, share)  # noqa: S311 -- a choice of tests
    say(f"{len(mutants)} mutants, seed {seed}")
    known = accepted(HERE / "survivors.toml")
    sound = [result for result in hunt_all(dsn, mutants) if result.verdict is not Verdict.UNSOUND]
    killed = [result for result in sound if result.verdict is Verdict.KILLED]
    alive = [result for result in sound if result.verdict is not Verdict.KILLED]
    for result in alive:
        say(f"  {result.mutant.id} {result.mutant.says}: {known.get(result.mutant.says, 'NO SENTENCE')}")
    share_killed = len(killed) / len(sound) if sound else 0.0
    say(f"\n{len(killed)} of {len(sound)} sound ones killed: {share_killed:.0%}, goal {GOAL:.0%}")
    return 0 if share_killed >= GOAL and all(result.mutant.says in known for result in alive) else 1


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tests/mutants/run.py")
    parser.add_argument("--only", default="", help="ids or groups, with commas between")
    parser.add_argument("--automatic", action="store_true", help="made from the text of the functions")
    parser.add_argument("--files", default="", help="with --automatic: of these function files")
    parser.add_argument("--share", type=int, default=SHARE, help="with --automatic: how many are drawn")
    parser.add_argument("--all", action="store_true", help="with --automatic: all of them")
    parser.add_argument("--seed", type=int, default=1, help="with --automatic: which are drawn")
    given = parser.parse_args(arguments)
    sys.path.insert(0, str(HERE.parent))
    from mutations import MutantError  # noqa: PLC0415 -- the path is set above

    only, files = ([name for name in text.split(",") if name] for text in (given.only, given.files))
    with server() as dsn:
        try:
            if given.automatic:
                share = None if given.all else given.share
                return run_automatic(dsn, files=files, only=only, share=share, seed=given.seed)
            return run_named(dsn, only)
        except MutantError as error:
            say(str(error))
            return 2


if __name__ == "__main__":
    sys.exit(main())
