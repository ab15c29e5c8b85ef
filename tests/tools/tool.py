"""A tool that a check or a test needs, and its build."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from tests.checks import CannotRun

ROOT: Final = Path(__file__).parents[2]
"""The checkout."""


class Tool(NamedTuple):
    """One tool."""

    name: str
    purpose: str
    duration: str
    """Usual duration of the first build."""
    programs: tuple[str, ...]
    """Programs that the build requires on the PATH."""
    is_current: Callable[[], bool]
    build: Callable[[], None]
    after: tuple[str, ...] = ()
    """Names of tools that the build needs."""

    def check_programs(self) -> None:
        """Raise CannotRun when a build is not possible here."""
        missing = [program for program in self.programs if shutil.which(program) is None]
        if missing:
            raise CannotRun(f"{self.name} is not built, and the build needs {', '.join(missing)} on the PATH")

    def make(self) -> None:
        """Build it, and print that on standard error. Raises CannotRun when the build fails."""
        _note(f"{self.name}: building {self.purpose} (usually {self.duration})")
        began = time.monotonic()
        try:
            self.build()
        except subprocess.CalledProcessError as failure:
            command = " ".join(map(str, failure.cmd))
            raise CannotRun(
                f"the build of {self.name} failed: {command}: exit {failure.returncode}"
            ) from None
        _note(f"{self.name}: built in {time.monotonic() - began:.0f} s")


def run(*command: str | Path, cwd: Path = ROOT, **variables: str) -> None:
    """Run a step of a build; its output goes to standard error. Raises CalledProcessError."""
    subprocess.run(command, cwd=cwd, env={**os.environ, **variables}, stdout=sys.stderr, check=True)


def is_newer(made: Path, *sources: str) -> bool:
    """Whether a file exists and is as new as all sources, which are patterns relative to the checkout."""
    if not made.exists():
        return False
    times = [path.stat().st_mtime for pattern in sources for path in ROOT.glob(pattern)]
    return made.stat().st_mtime >= max(times, default=0.0)


def is_made(target: str) -> bool:
    """Whether make has nothing to do for a target."""
    if shutil.which("make") is None:
        return False
    return (
        subprocess.run(["make", "--question", target], cwd=ROOT, capture_output=True, check=False).returncode
        == 0
    )


def make(target: str) -> None:
    """Build a target with make and the Python of this process. Raises CalledProcessError."""
    run("make", "--no-print-directory", f"PYTHON={sys.executable}", target)


def _note(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
