"""Fixtures and hooks for all tests."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from tenure.process.version import is_compiled
from xdist.scheduler import LoadScopeScheduling

from tests.kubernetes.environment.binaries import HOW

TOGETHER = ("tests/e2e/cluster/", "tests/e2e/kubernetes/native/")
"""Tests that share one cluster, which is not that of other tests."""
KUBE_SECONDS = 300
LEFT_OUT = ("kube", "long")
"""Markers of tests that only `make e2e` runs."""
_DESELECTED = pytest.StashKey[int]()
"""Number of deselected tests with such a marker."""


class _StoryScheduling(LoadScopeScheduling):
    """Sends all stories of a cluster of their own to one worker, and each other test on its own."""

    def _split_scope(self, nodeid: str) -> str:
        return next((one for one in TOGETHER if nodeid.startswith(one)), str(nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """The scheduler of `--dist loadgroup`. The groups of xdist itself have no effect with pytest 9.2."""
    return _StoryScheduling(config, log) if config.getvalue("dist") == "loadgroup" else None


@pytest.fixture(autouse=True, scope="session")
def records_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Servers store records in a folder of the test run, not in the user's folder."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Skip tests that need the interpreted solver where it is compiled.

    Give tests on a real API server more time: the first of a worker starts it, beside other workers.
    """
    solver_is_compiled = is_compiled("tenure.solver.cycle")
    for item in items:
        if solver_is_compiled and item.get_closest_marker("interpreted"):
            item.add_marker(pytest.mark.skip(reason="needs the interpreted solver"))
        if item.get_closest_marker("kube") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(KUBE_SECONDS))


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Count the tests that `make test` deselects, in each collecting process."""
    for item in items:
        if any(item.get_closest_marker(name) for name in LEFT_OUT if name in item.config.option.markexpr):
            item.config.stash[_DESELECTED] = item.config.stash.get(_DESELECTED, 0) + 1


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Report the count of an xdist worker to the process that writes the summary."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash.get(_DESELECTED, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Read the count of a worker. All workers collect all tests and report the same number."""
    count = getattr(node, "workeroutput", {}).get("left_out", 0)
    node.config.stash[_DESELECTED] = max(count, node.config.stash.get(_DESELECTED, 0))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print how to run the tests that were deselected."""
    skipped = terminalreporter.stats.get("skipped", [])
    count = config.stash.get(_DESELECTED, 0) + sum(HOW in str(report.longrepr) for report in skipped)
    if count:
        terminalreporter.write_line(
            f"{count} long tests, and tests on a real API server, were left out: make e2e (needs Go)"
        )
