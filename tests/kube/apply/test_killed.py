"""An adapter that dies at any call is replaced, and nothing happens twice."""

from pathlib import Path

import pytest
from tenure.client import Client

from tests.kube.apply.answering import answering
from tests.kube.apply.mortal import Life, MortalCluster

_ROUNDS = 8
_WRITES = 14
"""More than a run without a death takes; see the first test."""
_DONE = {"evict low-0": 1, "evict low-1": 1, "bind high-0": 1}


def lived(folder: Path, client: Client, dies_at: int, after: bool) -> tuple[MortalCluster, Life, int]:
    """One life that ends at a write, if it gets there, and one that is left alone; writes of the first."""
    with answering(folder) as (server, transport):
        cluster = MortalCluster(server, folder.name)
        cluster.dies_at, cluster.after = dies_at, after
        Life(cluster, transport, client).run(_ROUNDS)
        writes, cluster.dies_at = cluster.writes, 0
        second = Life(cluster, transport, client)
        second.run(_ROUNDS)
        return cluster, second, writes


def test_a_life_without_a_death_writes_less_often_than_is_tried_below(tmp_path: Path, client: Client) -> None:
    cluster, last, writes = lived(tmp_path, client, 0, after=False)
    assert dict(cluster.done) == _DONE
    assert 6 < writes < _WRITES
    assert not last.ledger.entries


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("dies_at", range(1, _WRITES))
def test_nothing_happens_twice_and_all_comes_about(
    tmp_path: Path, client: Client, dies_at: int, after: bool
) -> None:
    cluster, last, _ = lived(tmp_path, client, dies_at, after)
    assert dict(cluster.done) == _DONE
    assert cluster.node_of("high-0") == "n1"
    assert cluster.annotations("low")["tenure.scheduler/eviction-count"] == "1"
    assert "kai.scheduler/last-eviction-timestamp" in cluster.annotations("low")
    assert "kai.scheduler/last-start-timestamp" in cluster.annotations("high")
    assert not last.ledger.entries
