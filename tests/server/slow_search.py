"""A small snapshot on which a search takes seconds, and the configuration for it.

`nodes` full nodes are in a queue that may lose one GPU less than a gang of ten whole nodes needs. The search
simulates one set of victims after the other, and none succeeds. The configuration disables the speedups.
"""

from typing import Final

from tenure.process.version import is_compiled
from tenure.solver.plugin_api.profile import SPEEDUPS, CycleOptions, Profile
from tenure.solver.registry import default_profile
from tenure.v1 import snapshot_pb2 as pb

GPUS: Final = 8
GANG: Final = 10
NODES: Final = 180 if is_compiled("tenure.solver.cycle") else 80
"""A search on so many nodes takes about two seconds; the time grows with the square of their number."""
SPEEDUPS_LEFT: Final = tuple(
    name for name in SPEEDUPS if name not in ("first_victim", "reclaim_bound", "pruning")
)
SLOW_OPTIONS: Final = f"options: {{speedups: [{', '.join(SPEEDUPS_LEFT)}], skipSimilarPodGroups: false}}\n"
"""For a configuration file."""


def slow_profile() -> Profile:
    """Return the same configuration as a profile."""
    default = default_profile()
    return Profile(
        default.actions, default.plugins, CycleOptions(speedups=SPEEDUPS_LEFT, skip_similar_pod_groups=False)
    )


def slow_search_snapshot(nodes: int, cluster_id: str = "hard") -> pb.ClusterSnapshot:
    """Build the snapshot."""
    snapshot = pb.ClusterSnapshot(cluster_id=cluster_id, version=1)
    snapshot.now.seconds = 1_700_000_000
    total = nodes * GPUS
    snapshot.shapes.add(id="one", requests={"cpu_milli": 100}, gpu={"devices": 1})
    snapshot.shapes.add(id="all", requests={"cpu_milli": 100}, gpu={"devices": GPUS})
    snapshot.queues.add(name="top")
    snapshot.queues.add(
        name="full", parent="top", gpu_milli={"quota": (total - GANG * GPUS + 1) * 1000, "limit": -1}
    )
    snapshot.queues.add(name="asks", parent="top", gpu_milli={"quota": GANG * GPUS * 1000, "limit": -1})
    for number in range(nodes):
        room = {"cpu_milli": 10_000, "gpu_milli": GPUS * 1000, "pods": 100}
        snapshot.nodes.add(name=f"n{number}", allocatable=room, gpu_memory_mib=40_960)
    for number in range(total):
        _pod_group(snapshot, f"runs-{number}", "full", 1)
        snapshot.pods.add(
            uid=f"runs-{number}",
            pod_group=f"runs-{number}",
            shape="one",
            status=pb.POD_STATUS_RUNNING,
            node=f"n{number % nodes}",
        )
    _pod_group(snapshot, "gang", "asks", GANG)
    for number in range(GANG):
        snapshot.pods.add(uid=f"gang-{number}", pod_group="gang", shape="all", status=pb.POD_STATUS_PENDING)
    return snapshot


def _pod_group(snapshot: pb.ClusterSnapshot, uid: str, queue: str, size: int) -> None:
    group = snapshot.pod_groups.add(
        uid=uid, name=uid, queue=queue, min_member=size, preemptibility=pb.PREEMPTIBILITY_PREEMPTIBLE
    )
    group.creation_time.seconds = group.last_start_time.seconds = 1_600_000_000
