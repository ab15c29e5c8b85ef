"""What all tests have in common."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.kubernetes.environment.binaries import HOW

_DESELECTED = pytest.StashKey[int]()
"""How many tests on a real API server were not chosen."""


@pytest.fixture(autouse=True, scope="session")
def records_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Servers that keep records keep them in a folder of the test run, not in that of whoever runs it."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Count what `-m "not kube"` leaves out, in each process that collects."""
    for item in items:
        if item.get_closest_marker("kube") and "kube" in item.config.option.markexpr:
            item.config.stash[_DESELECTED] = item.config.stash.get(_DESELECTED, 0) + 1


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of xdist tells the process that writes the summary."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash.get(_DESELECTED, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Every worker collects all tests: they tell the same number."""
    told = getattr(node, "workeroutput", {}).get("left_out", 0)
    node.config.stash[_DESELECTED] = max(told, node.config.stash.get(_DESELECTED, 0))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say in one line how the tests on a real API server are run, if they were not."""
    skipped = terminalreporter.stats.get("skipped", [])
    count = config.stash.get(_DESELECTED, 0) + sum(HOW in str(report.longrepr) for report in skipped)
    if count:
        terminalreporter.write_line(f"{count} tests on a real API server were left out: make e2e (needs Go)")
