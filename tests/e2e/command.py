"""Run commands as separate processes, as a user does."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
"""The root of the checkout."""

SAMPLE = ROOT / "server/tenure/cli/samples/two-departments.yaml"


def run_command(*command: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, by default the root of the checkout, without a terminal."""
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def run_tenure(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `tenure` with these arguments."""
    return run_command(sys.executable, "-m", "tenure.cli", *arguments)
