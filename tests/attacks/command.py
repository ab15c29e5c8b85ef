"""The check `attacks`: hostile tenants, callers and servers, on real servers, API servers and Slurm."""

import os
from pathlib import Path
from typing import Annotated, Final

import pytest
import typer

from tests.checks import Counts

_FOLDER: Final = Path(__file__).parent
_WORKERS: Final = 2


class _Counter:
    """Counts the reports of pytest; an attack that was skipped did not pass."""

    def __init__(self) -> None:
        self.passed = self.failed = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count the call, or what prevented it."""
        if report.when == "call" and report.passed:
            self.passed += 1
        elif not report.passed:
            self.failed += 1


def main(
    only: Annotated[str, typer.Option(help="Only attacks whose names contain this, as pytest -k")] = "",
) -> Counts:
    """Try every attack and list the results."""
    os.environ |= {"REQUIRE_KUBE": "1", "REQUIRE_SLURM": "1"}
    counter = _Counter()
    arguments = ["-vv", "--no-header", "--tb=short", f"--numprocesses={_WORKERS}"]
    pytest.main([*arguments, *(("-k", only) if only else ()), str(_FOLDER)], plugins=[counter])
    if not counter.passed + counter.failed:
        raise typer.BadParameter(f"no attack is called {only!r}", param_hint="--only")
    return Counts(counter.passed, counter.failed)
