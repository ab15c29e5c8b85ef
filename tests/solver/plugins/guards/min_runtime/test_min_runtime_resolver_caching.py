"""The resolver caches one value per queue and one per pair of queues, and nothing else."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tenure.solver.model.facts import QueueFacts
from tenure.solver.model.queue import Queue
from tenure.solver.plugins.guards.min_runtime import LCA, QUEUE, Resolver
from tenure.solver.resolution.reference_resolution import resolve_queues
from tenure.solver.testing import ClusterBuilder
from tenure.terms.durations import SECOND

from tests.solver.plugins.guards.min_runtime.contested_gpu import evicted_pods, reclaim_cluster, tree


class CountingQueues(Sequence[Queue]):
    """Queues that count their lookups."""

    def __init__(self, *specs: QueueFacts) -> None:
        self._queues = resolve_queues(specs)
        self.looks = 0

    def __getitem__(self, index: int) -> Queue:  # type: ignore[override]
        self.looks += 1
        return self._queues[index]

    def __len__(self) -> int:
        return len(self._queues)

    def index_of(self, name: str) -> int:
        return next(queue.index for queue in self._queues if queue.facts.name == name)


@pytest.fixture
def queues() -> CountingQueues:
    return CountingQueues(
        QueueFacts(name="top", preempt_min_runtime=3, reclaim_min_runtime=4),
        QueueFacts(name="a", parent_name="top"),
        QueueFacts(name="b", parent_name="top", reclaim_min_runtime=0),
    )


def test_preempt_minimum_is_resolved_once_per_queue_r7_15(queues: CountingQueues) -> None:
    resolver = Resolver(queues, 0, 0, LCA)
    a, b = queues.index_of("a"), queues.index_of("b")
    assert resolver.preempt(a).minimum == 3
    before = queues.looks
    assert resolver.preempt(a).minimum == 3
    assert queues.looks == before
    assert resolver.preempt(b).minimum == 3
    assert queues.looks > before


@pytest.mark.parametrize("method", [LCA, QUEUE])
def test_reclaim_minimum_is_resolved_once_per_pair_r7_15(queues: CountingQueues, method: str) -> None:
    resolver = Resolver(queues, 0, 0, method)
    a, b = queues.index_of("a"), queues.index_of("b")
    assert resolver.reclaim(b, a).minimum == 4
    before = queues.looks
    assert resolver.reclaim(b, a).minimum == 4
    assert queues.looks == before
    assert resolver.reclaim(a, b).minimum == 0
    assert queues.looks > before


def two_pod_groups() -> ClusterBuilder:
    """An old and a young pod group in queue a; the young one has lower priority. b needs a GPU."""
    builder = tree({"a": "", "b": ""}, rich="b", reclaim={"a": "5m"}).node("n", gpus=2)
    builder.running("old", queue="a", gpus=1, node="n", started_ago="6m", priority=60)
    builder.running("young", queue="a", gpus=1, node="n", started_ago="4m")
    return builder.pending("new", queue="b", gpus=1)


def test_protection_is_not_cached_per_queue_r7_15() -> None:
    """The young pod group is considered first and is protected; the old one of the same queue is evicted."""
    assert evicted_pods(two_pod_groups().build()) == ["old-0"]


def test_sessions_do_not_share_cached_values() -> None:
    """One lookup in several sessions with different queue values and snapshot times."""
    cluster = reclaim_cluster(tree({"a": "", "b": ""}, rich="b", reclaim={"a": "5m"}), "b", "a", "4m")
    a = next(queue for queue in cluster.queues if queue.facts.name == "a")
    changed = replace(a, facts=replace(a.facts, reclaim_min_runtime=0))
    shorter = tuple(changed if queue == a else queue for queue in cluster.queues)
    asked = (
        cluster,
        replace(cluster, queues=shorter),
        cluster,
        replace(cluster, now=cluster.now + 60 * SECOND),
    )
    assert [evicted_pods(each) for each in asked] == [[], ["old-0"], [], ["old-0"]]
