"""Volcano queues and workloads, as their users create them."""

from typing import Any

from tests.kubernetes.cluster import UserCluster, build_object
from tests.kubernetes.environment.resource_definitions import VOLCANO_POD_GROUP, VOLCANO_QUEUE


def volcano_queue(cluster: UserCluster, name: str, gpus: int) -> None:
    """Create a queue that deserves this number of GPUs."""
    body = {"metadata": {"name": name}, "spec": {"deserved": {"nvidia.com/gpu": str(gpus)}, "weight": 1}}
    cluster.make(f"/apis/{VOLCANO_QUEUE.api_version}/queues", build_object(VOLCANO_QUEUE, body))


def volcano_workload(
    cluster: UserCluster, name: str, pods: int, gpus: int, *, queue: str, priority: str = "low", **spec: Any
) -> None:
    """Create a preemptible pod group with pods NAME-0, NAME-1, ... of this number of GPUs.

    It is a gang of all its pods, unless `spec` sets other values.
    """
    body = {
        "metadata": {"name": name, "annotations": {"volcano.sh/preemptable": "true"}},
        "spec": {"queue": queue, "priorityClassName": priority, "minMember": pods, **spec},
    }
    cluster.transport.post(cluster.path(VOLCANO_POD_GROUP), build_object(VOLCANO_POD_GROUP, body))
    for i in range(pods):
        annotations = {"scheduling.k8s.io/group-name": name}
        cluster.pod(f"{name}-{i}", gpus, scheduler="volcano", annotations=annotations)
