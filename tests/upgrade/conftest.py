"""The servers, places and releases of the install tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "install"))

from installing import common_database, own_place, place, server  # noqa: F401
