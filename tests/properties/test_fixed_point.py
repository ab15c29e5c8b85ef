"""Clusters come to rest: after a few cycles nothing changes any more."""

from tests.properties.clusters import random_cluster
from tests.properties.cycles import cycles
from tests.properties.draw import SeededDraw

CLUSTERS = 300
CYCLES = 10


def test_clusters_come_to_rest() -> None:
    """Nothing keeps room for its beneficiary from one cycle to the next: where allocate gives freed room to
    another pod group than the one it was freed for, the two would take turns (semantics R6.54). The memory
    of evictions, which the caller of these cycles keeps, stops that for the time of a backoff.
    """
    assert [seed for seed in range(CLUSTERS) if not _comes_to_rest(seed)] == []


def _comes_to_rest(seed: int) -> bool:
    quiet = 0
    for _, decision in cycles(random_cluster(SeededDraw(seed)), CYCLES):
        steps = sum(len(group.evictions) + len(group.bindings) for group in decision.groups)
        quiet = 0 if steps else quiet + 1
        if quiet == 2:
            return True
    return False
