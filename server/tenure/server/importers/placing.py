"""Nodes for pods that ran somewhere, when nobody recorded where.

The pods are bound by the allocate action in the order of their creation, in one queue without a quota,
as if they had been submitted one after the other to an empty cluster.
"""

from collections.abc import Callable, Iterator
from typing import Final

from tenure.server.engine import Engine
from tenure.v1.decision_pb2 import Bind
from tenure.v1.decision_service_pb2 import DecideRequest
from tenure.v1.snapshot_pb2 import POD_STATUS_RUNNING, ClusterSnapshot, Pod, PodGroup, Queue

BATCH: Final = 1000
"""Pods per decision. Only the progress depends on it: every pod meets the pods before it, and no later."""

Progress = Callable[[int, int], None]
"""Called with the number of pods that were tried so far, and of all."""


def place(pending: ClusterSnapshot, engine: Engine, progress: Progress) -> dict[str, Bind]:
    """Bindings of the pods of a snapshot without running pods, by uid; those that do not fit are absent."""
    placed: dict[str, Bind] = {}
    queue = Queue(name="all")
    groups = {group.uid: group for group in pending.pod_groups}
    cluster = ClusterSnapshot(
        cluster_id=pending.cluster_id,
        now=pending.now,
        nodes=pending.nodes,
        shapes=pending.shapes,
        queues=[queue],
    )
    progress(0, len(pending.pods))
    for start in range(0, len(pending.pods), BATCH):
        batch = pending.pods[start : start + BATCH]
        cluster.pods.extend(batch)
        cluster.pod_groups.extend(_in_queue(groups[pod.pod_group], queue) for pod in batch)
        bindings = {bind.pod: bind for bind in _allocate(engine, cluster)}
        _keep_bound(cluster, bindings)
        placed |= bindings
        progress(start + len(batch), len(pending.pods))
    return placed


def run_on(pod: Pod, bind: Bind) -> None:
    """Turns a pending pod into one that runs where the binding says."""
    pod.status = POD_STATUS_RUNNING
    pod.node = bind.node
    pod.gpu_groups.extend(bind.gpu_groups)


def _in_queue(group: PodGroup, queue: Queue) -> PodGroup:
    return PodGroup(uid=group.uid, name=group.name, queue=queue.name, creation_time=group.creation_time)


def _allocate(engine: Engine, cluster: ClusterSnapshot) -> Iterator[Bind]:
    response = engine.decide(DecideRequest(snapshot=cluster, actions=["allocate"]))
    for group in response.groups:
        yield from (step.bind for step in group.decisions if step.HasField("bind"))


def _keep_bound(cluster: ClusterSnapshot, bindings: dict[str, Bind]) -> None:
    """Lets the bound pods run and takes away those that found no room."""
    for pod in cluster.pods:
        if pod.uid in bindings:
            run_on(pod, bindings[pod.uid])
    running = [pod for pod in cluster.pods if pod.node]
    groups = {pod.pod_group for pod in running}
    kept = [group for group in cluster.pod_groups if group.uid in groups]
    del cluster.pods[:], cluster.pod_groups[:]
    cluster.pods.extend(running)
    cluster.pod_groups.extend(kept)
