"""An adapter that dies at any call is replaced, and nothing happens twice."""

from pathlib import Path

import pytest
from tenure.client import Client

from tests.kubernetes.apply.scripted_api_server import run_scripted_api_server
from tests.kubernetes.crash_test_cluster import AdapterRun, CrashTestCluster

_ROUNDS = 8
_WRITES = 14
"""More than a run without a death takes; see the first test."""
_DONE = {"evict low-0": 1, "evict low-1": 1, "bind high-0": 1}


def run_two_adapters(
    folder: Path, client: Client, crash_at: int, after: bool
) -> tuple[CrashTestCluster, AdapterRun, int]:
    """One life that ends at a write, if it gets there, and one that is left alone; writes of the first."""
    with run_scripted_api_server(folder) as (server, transport):
        cluster = CrashTestCluster(server, folder.name)
        cluster.crash_at, cluster.after = crash_at, after
        AdapterRun(cluster, transport, client).run(_ROUNDS)
        writes, cluster.crash_at = cluster.writes, 0
        second = AdapterRun(cluster, transport, client)
        second.run(_ROUNDS)
        return cluster, second, writes


def test_undisturbed_run_writes_less_often_than_the_tested_kill_points(
    tmp_path: Path, client: Client
) -> None:
    cluster, last, writes = run_two_adapters(tmp_path, client, 0, after=False)
    assert dict(cluster.done) == _DONE
    assert 6 < writes < _WRITES
    assert not last.ledger.entries


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("crash_at", range(1, _WRITES))
def test_killed_adapter_applies_every_decision_exactly_once(
    tmp_path: Path, client: Client, crash_at: int, after: bool
) -> None:
    cluster, last, _ = run_two_adapters(tmp_path, client, crash_at, after)
    assert dict(cluster.done) == _DONE
    assert cluster.node_of("high-0") == "n1"
    assert cluster.annotations("low")["tenure.scheduler/eviction-count"] == "1"
    assert "kai.scheduler/last-eviction-timestamp" in cluster.annotations("low")
    assert "kai.scheduler/last-start-timestamp" in cluster.annotations("high")
    assert not last.ledger.entries
