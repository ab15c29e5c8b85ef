"""The checks of the protos: generated classes, style, and compatibility with the last release."""

import subprocess
from pathlib import Path
from typing import Final

from tests.checks import Counts
from tests.tools.catalog import BUF
from tests.tools.tool import ROOT, make

PROTOS: Final = ROOT / "protos"
_BREAKS: Final = 100
"""Exit status of buf for a change that breaks callers."""


def generated() -> Counts:
    """Generate the message classes and compare them with those that were there; they stay as generated."""
    before = _classes()
    make("proto")
    after = _classes()
    different = [path for path in after if before.get(path) != after[path]]
    for path in sorted(different):
        print(f"{path.relative_to(ROOT)} differs from its proto; commit what make proto writes")
    return Counts(len(after) - len(different), len(different))


def lint() -> Counts:
    """Check the protos with buf's linter and its formatter."""
    passed = [_passes(BUF, "lint", "protos"), _passes(BUF, "format", "--exit-code", "--diff", "protos")]
    return Counts(sum(passed), passed.count(False))


def breaking() -> Counts:
    """Compare the protos with those of the last release, else with those kept and the commit before."""
    ended = subprocess.run([ROOT / ".ci/breaking", BUF], cwd=ROOT, check=False).returncode
    if ended not in (0, _BREAKS):
        raise RuntimeError(f".ci/breaking ended with {ended}")
    return Counts(int(ended == 0), int(ended != 0))


def _classes() -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in PROTOS.rglob("*_pb2*.py*") if "__pycache__" not in path.parts}


def _passes(*command: str | Path) -> bool:
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0
