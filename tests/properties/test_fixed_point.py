"""Clusters reach a fixed point: after a few cycles the decisions change nothing."""

from dataclasses import replace

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.cluster import Cluster
from tenure.solver.testing import apply_decisions
from tenure.terms.durations import SECOND

from tests.properties.cycle_sequence import PROFILE
from tests.properties.generators.draw import SeededDraw
from tests.properties.generators.random_clusters import random_cluster

CLUSTERS = 300
CYCLES = 12
OSCILLATING = (679, 851, 885, 1505, 1753, 2134, 2372)
"""Seeds up to 3,000 that oscillate when eviction history and reservations are both dropped."""


@pytest.mark.long
def test_clusters_reach_a_fixed_point() -> None:
    """Freed capacity stays reserved for its pod group, so pod groups do not evict each other repeatedly."""
    assert [seed for seed in range(CLUSTERS) if not _reaches_fixed_point(seed)] == []


@pytest.mark.parametrize("seed", OSCILLATING)
def test_reservations_alone_lead_to_a_fixed_point(seed: int) -> None:
    assert _reaches_fixed_point(seed, remembers=False)


def test_clusters_without_reservations_oscillate() -> None:
    restless = [seed for seed in OSCILLATING if not _reaches_fixed_point(seed, remembers=False, keeps=False)]
    assert len(restless) >= 3


def _reaches_fixed_point(seed: int, remembers: bool = True, keeps: bool = True) -> bool:
    cluster, quiet = random_cluster(SeededDraw(seed)), 0
    for _ in range(CYCLES):
        decision = answer(cluster, PROFILE)
        steps = sum(len(group.evictions) + len(group.bindings) for group in decision.groups)
        quiet = 0 if steps else quiet + 1
        if quiet == 2:
            return True
        cluster = _with_stored_fields(apply_decisions(cluster, decision, 15 * SECOND), remembers, keeps)
    return False


def _with_stored_fields(cluster: Cluster, remembers: bool, keeps: bool) -> Cluster:
    """The cluster with the fields that its caller stores."""
    memory = cluster.eviction_history if remembers else ()
    return replace(cluster, eviction_history=memory, in_flight=cluster.in_flight if keeps else ())
