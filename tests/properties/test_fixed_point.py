"""Clusters come to rest: after a few cycles nothing changes any more."""

from dataclasses import replace

import pytest
from tenure.solver.cycle import decide
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.duration import SECOND
from tenure.solver.testing import next_cluster

from tests.properties.clusters import random_cluster
from tests.properties.cycles import PROFILE
from tests.properties.draw import SeededDraw

CLUSTERS = 300
CYCLES = 12
TAKING_TURNS = (679, 851, 885, 1505, 1753, 2134, 2372)
"""Those of the first 3,000 in which pod groups take turns, when nothing is remembered and no promise kept."""


def test_clusters_come_to_rest() -> None:
    """Room that was freed for a pod group stays promised to it, so that nobody takes turns with it."""
    assert [seed for seed in range(CLUSTERS) if not _comes_to_rest(seed)] == []


@pytest.mark.parametrize("seed", TAKING_TURNS)
def test_promises_alone_bring_clusters_to_rest(seed: int) -> None:
    assert _comes_to_rest(seed, remembers=False)


def test_without_promises_they_take_turns() -> None:
    restless = [seed for seed in TAKING_TURNS if not _comes_to_rest(seed, remembers=False, keeps=False)]
    assert len(restless) >= 3


def _comes_to_rest(seed: int, remembers: bool = True, keeps: bool = True) -> bool:
    cluster, quiet = random_cluster(SeededDraw(seed)), 0
    for _ in range(CYCLES):
        decision = decide(cluster, PROFILE)
        steps = sum(len(group.evictions) + len(group.bindings) for group in decision.groups)
        quiet = 0 if steps else quiet + 1
        if quiet == 2:
            return True
        cluster = _forgotten(next_cluster(cluster, decision, 15 * SECOND), remembers, keeps)
    return False


def _forgotten(cluster: Cluster, remembers: bool, keeps: bool) -> Cluster:
    """The cluster with what its caller stores."""
    memory = cluster.eviction_memory if remembers else ()
    return replace(cluster, eviction_memory=memory, in_flight=cluster.in_flight if keeps else ())
