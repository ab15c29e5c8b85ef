"""The bound of free GPUs is never too low, even if single devices are overcommitted."""

import pytest
from tenure.solver.framework.ledger import Ledger
from tenure.solver.search.speedups.node_index import NodeIndex
from tenure.solver.testing import ClusterBuilder

DEVICES = {
    "two devices, both free": (0, 2000),
    "one is shared by one pod": (1, 1300),
    "one is shared by more pods than fit on it": (3, 1000),
}


@pytest.mark.parametrize(("pods", "free"), DEVICES.values(), ids=DEVICES)
def test_overcommitted_device_does_not_reduce_the_bound_of_others(pods: int, free: int) -> None:
    builder = ClusterBuilder().node("n", gpus=2).queue("q")
    if pods:
        builder.running("shares", node="n", queue="q", gpus=0.7, count=pods)
    cluster = builder.build()
    assert NodeIndex(cluster.nodes, Ledger(cluster)).free_gpu_bound() >= free
