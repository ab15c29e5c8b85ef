"""Shards with jobs that change in every cycle: clusters of their own, and node pools of one large cluster.

Their cycles differ from shard to shard, so that an answer for another shard or version is a wrong one.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.bench.churn import ChurningCluster
from tests.bench.workloads.single_reclaims import SingleReclaims
from tests.bench.workloads.snapshot_fixture import GPUS, SnapshotFixture

QUEUES: Final = 4
VARIANTS: Final = 17
"""Numbers of jobs that shards begin with."""
LARGE: Final = "large"
"""Cluster ID of the cluster with several node pools."""


class Shard(NamedTuple):
    """The first snapshot of a shard, and what its caller does with decisions."""

    snapshot: ClusterSnapshot
    motion: ChurningCluster | SingleReclaims

    @property
    def name(self) -> tuple[str, str]:
        """Cluster ID and node pool."""
        return self.snapshot.cluster_id, self.snapshot.node_pool


def build_shards(clusters: int, nodes: int, pools: int, pool_nodes: int) -> Iterator[Shard]:
    """Shards of this many clusters, and of one more with this many node pools."""
    for number in range(clusters):
        yield _shard(number, nodes, f"cluster-{number:03}", "")
    for number in range(pools):
        yield _shard(2 * number, pool_nodes, LARGE, f"pool-{number}")


def _shard(number: int, nodes: int, cluster_id: str, node_pool: str) -> Shard:
    """Every third shard reclaims for one job at a time; in the others jobs come, are bound and end."""
    is_full = number % 3 == 2
    snapshot = _full(nodes, number % VARIANTS) if is_full else _busy(nodes, number % VARIANTS)
    snapshot.cluster_id, snapshot.node_pool = cluster_id, node_pool
    return Shard(snapshot, SingleReclaims(snapshot) if is_full else ChurningCluster(snapshot))


def _busy(nodes: int, fewer: int) -> pb.ClusterSnapshot:
    fixture = SnapshotFixture(nodes)
    for queue in range(QUEUES):
        fixture.queue(f"queue-{queue}", "", nodes * GPUS / QUEUES, 1)
    for job in range(nodes * (GPUS - 1) - fewer):
        fixture.job(f"job-{job:06}", f"queue-{job % QUEUES}", on=(job % nodes,))
    return fixture.build()


def _full(nodes: int, fewer: int) -> pb.ClusterSnapshot:
    fixture = SnapshotFixture(nodes)
    fixture.queue("victims", "", 0)
    fixture.queue("asks", "", nodes * GPUS)
    for job in range(nodes * GPUS):
        fixture.job(f"running-{job}", "victims", on=((job + fewer) % nodes,))
    fixture.job("asks-0", "asks")
    return fixture.build()
