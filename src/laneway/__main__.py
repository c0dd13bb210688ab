"""`python -m laneway`."""

from laneway.cli.main import run

run()
