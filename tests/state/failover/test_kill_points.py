"""F14: if the server is killed at any point, the client resyncs, and no decision is lost or duplicated."""

from pathlib import Path

import pytest

from tests.state.failover.kill_points import survived

KILLS = 20


@pytest.mark.long
def test_decisions_are_those_of_an_undisturbed_run(tmp_path: Path) -> None:
    assert list(survived(tmp_path, KILLS))
