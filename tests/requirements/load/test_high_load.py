"""A full cluster with every mode of preemptibility under load: several cycles, each judged by the checker."""

from typing import Final, NamedTuple

import pytest
from tenure.v1.decision_pb2 import OUTCOME_KIND_BUDGET_EXHAUSTED
from tenure.v1.snapshot_pb2 import PREEMPTIBILITY_NON_PREEMPTIBLE, PREEMPTIBILITY_SEMI_PREEMPTIBLE

from tests.checker import verify
from tests.requirements.answers import evicted, evicting_actions
from tests.requirements.cluster import ClusterText
from tests.requirements.cluster_life import go_on
from tests.requirements.conftest import Decide
from tests.requirements.load.mixed_modes import GPUS, add_waiting, full_cluster

LEGACY_EDGE: Final = 100


class Load(NamedTuple):
    """Nodes, pod groups that arrive with every cycle, and cycles."""

    nodes: int
    arriving: int
    cycles: int


LOADS: Final = [
    pytest.param(Load(20, 20, 3), id="20 nodes"),
    pytest.param(Load(400, 300, 4), id="400 nodes", marks=[pytest.mark.long, pytest.mark.timeout(600)]),
]


@pytest.mark.parametrize("load", LOADS)
def test_load_with_mixed_modes_evicts_only_what_may_be_evicted(load: Load, decide: Decide) -> None:
    """Pod groups of all modes run and arrive. Every cycle evicts, and ends within its search budget."""
    cluster = full_cluster(load.nodes)
    assert len(cluster.snapshot.pods) > load.nodes * GPUS - GPUS
    found: set[str] = set()
    for number in range(load.cycles):
        add_waiting(cluster, load.arriving, f"new-{number}")
        firm, semi = protected(cluster)
        answer = decide(cluster)
        assert verify(cluster.snapshot, answer) == []
        assert not answer.stopped_early
        assert all(each.kind != OUTCOME_KIND_BUDGET_EXHAUSTED for each in answer.outcomes)
        victims = evicted(answer)
        assert victims
        assert firm.isdisjoint(pod.rpartition("-")[0] for pod in victims)
        for name, (pods, minimum) in semi.items():
            assert pods - sum(pod.rpartition("-")[0] == name for pod in victims) >= minimum
        found |= {*evicting_actions(answer)}
        go_on(cluster, answer, 60)
    assert found >= {"reclaim", "preempt"}


def protected(cluster: ClusterText) -> tuple[set[str], dict[str, tuple[int, int]]]:
    """Pod groups that must lose no pod, and semi-preemptible ones with their pods and their minimum."""
    running: dict[str, int] = {}
    for pod in cluster.snapshot.pods:
        if pod.node:
            running[pod.pod_group] = running.get(pod.pod_group, 0) + 1
    firm, semi = set(), {}
    for group in cluster.snapshot.pod_groups:
        legacy = not group.preemptibility and group.priority >= LEGACY_EDGE
        if group.preemptibility == PREEMPTIBILITY_NON_PREEMPTIBLE or legacy:
            firm.add(group.uid)
        elif (
            group.preemptibility == PREEMPTIBILITY_SEMI_PREEMPTIBLE
            and running.get(group.uid, 0) >= group.min_member
        ):
            semi[group.uid] = running[group.uid], group.min_member
    return firm, semi
