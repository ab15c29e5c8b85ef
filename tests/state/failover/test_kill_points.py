"""F14: the server is killed at any point; the client resyncs by itself, no decision is lost or doubled."""

from pathlib import Path

from tests.state.failover.kill_points import survived

KILLS = 20


def test_decisions_are_those_of_an_undisturbed_run(tmp_path: Path) -> None:
    assert list(survived(tmp_path, KILLS))
