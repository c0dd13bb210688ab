"""`python -m laneway.states [--check] [PAGE]`: writes the page of the transition table, or says that it is stale."""

import argparse
import sys
from pathlib import Path

from laneway.states.page import page

PAGE = Path("docs/concepts/states.md")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m laneway.states", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 when the page is not as it should be"
    )
    parser.add_argument("page", nargs="?", type=Path, default=PAGE, help=f"the page, {PAGE} where none is named")
    options = parser.parse_args()
    text = page()
    if not options.check:
        options.page.parent.mkdir(parents=True, exist_ok=True)
        options.page.write_text(text, encoding="utf-8")
        return 0
    if options.page.is_file() and options.page.read_text(encoding="utf-8") == text:
        return 0
    sys.stderr.write(f"{options.page}: not what src/laneway/states says; write it: python -m laneway.states\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
