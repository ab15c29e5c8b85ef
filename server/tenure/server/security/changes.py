"""Whether files changed since they were last read."""

from collections.abc import Sequence
from pathlib import Path

Stamp = tuple[tuple[int, int, int] | None, ...]
"""For every file what changes when its content does; None for one that is not there."""


def stamp(files: Sequence[Path]) -> Stamp:
    """What the files are now. Follows links, so that a mounted secret that is swapped counts as changed."""
    return tuple(_stamp(file) for file in files)


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
