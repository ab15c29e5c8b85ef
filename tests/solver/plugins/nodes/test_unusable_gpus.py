"""The fragmentation of a cluster: free GPUs that its mix cannot use, by cause (semantics R3.87)."""

from collections.abc import Callable
from typing import Final

import pytest
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.unusable_gpus import UnusableGpus
from tenure.solver.registry import unusable_gpus
from tenure.solver.testing import ClusterBuilder


def cluster() -> ClusterBuilder:
    """No nodes, and a queue."""
    return ClusterBuilder().queue("q", quota=-1)


def no_cpu() -> ClusterBuilder:
    return cluster().node("n", gpus=4, cpus=1).pending("j", queue="q", gpus=1, cpus=2)


def no_gpu() -> ClusterBuilder:
    return cluster().node("n", gpus=4, cpus=8).pending("j", queue="q", gpus=8, cpus=2)


def neither() -> ClusterBuilder:
    return cluster().node("n", gpus=4, cpus=1).pending("j", queue="q", gpus=8, cpus=2)


def other_kind() -> ClusterBuilder:
    builder = cluster().node("n", gpus=4, cpus=8, labels={"kind": "slow"})
    return builder.pending("j", queue="q", gpus=1, node_selector={"kind": "fast"})


def small_parts() -> ClusterBuilder:
    """0.4 of one device are free, which is too small beside a whole one."""
    builder = cluster().node("n", gpus=2, cpus=8, gpu_memory_mib=1000)
    builder.pods("x", TaskStatus.RUNNING, node="n", gpu_groups=("one",), queue="q", gpus=0.6)
    return builder.pending("j", queue="q", gpus=0.6)


def halves() -> ClusterBuilder:
    """Of four equal requests, one does not fit; pods without GPUs do not count."""
    builder = cluster().node("n", gpus=4, cpus=8)
    builder.pending("j", queue="q", gpus=1, count=3).pending("k", queue="q", gpus=8)
    return builder.pending("cpu", queue="q", cpus=1, count=9)


def unready() -> ClusterBuilder:
    return cluster().node("n", gpus=4, unready="NotReady").pending("j", queue="q", gpus=8)


def without_pods() -> ClusterBuilder:
    return cluster().node("n", gpus=4)


CASES: Final[dict[str, tuple[Callable[[], ClusterBuilder], UnusableGpus]]] = {
    "no CPU": (no_cpu, UnusableGpus(4000, 4000, 0, 0, 0)),
    "no GPU": (no_gpu, UnusableGpus(4000, 0, 4000, 0, 0)),
    "neither": (neither, UnusableGpus(4000, 0, 0, 4000, 0)),
    "other kind": (other_kind, UnusableGpus(4000, 0, 0, 0, 4000)),
    "parts that are too small": (small_parts, UnusableGpus(1400, 0, 400, 0, 0)),
    "the mean over pods": (halves, UnusableGpus(4000, 0, 1000, 0, 0)),
    "nodes that are not ready": (unready, UnusableGpus(0, 0, 0, 0, 0)),
    "without pods": (without_pods, UnusableGpus(4000, 0, 0, 0, 0)),
}


@pytest.mark.parametrize(("builder", "found"), CASES.values(), ids=CASES)
def test_free_gpus_are_unusable_by_one_cause_r3_87(
    builder: Callable[[], ClusterBuilder], found: UnusableGpus
) -> None:
    assert unusable_gpus(builder().build()) == found


def test_causes_add_up_r3_87() -> None:
    found = unusable_gpus(halves().build())
    assert found.total == found.no_cpu + found.no_gpu + found.neither + found.other_kind == 1000
