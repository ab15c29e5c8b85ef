"""The snapshot with in-flight decisions applied: evicted pods terminate, bound pods are on their nodes.

Only groups that the response keeps in flight are applied.
"""

from collections.abc import Iterator

from tenure.v1 import decision_pb2, snapshot_pb2
from tenure.v1.decide_pb2 import DecideResponse

PENDING = snapshot_pb2.POD_STATUS_PENDING
PLACED_STATUSES = frozenset(
    {snapshot_pb2.POD_STATUS_BINDING, snapshot_pb2.POD_STATUS_BOUND, snapshot_pb2.POD_STATUS_RUNNING}
)


def with_in_flight(
    snapshot: snapshot_pb2.ClusterSnapshot, response: DecideResponse
) -> snapshot_pb2.ClusterSnapshot:
    """Return a copy, or the snapshot itself if nothing is in flight."""
    if not snapshot.in_flight_groups:
        return snapshot
    after = snapshot_pb2.ClusterSnapshot()
    after.CopyFrom(snapshot)
    pods = {pod.uid: pod for pod in after.pods}
    kept = {
        s.id
        for s in response.in_flight_group_statuses
        if s.state == decision_pb2.IN_FLIGHT_GROUP_STATE_IN_FLIGHT
    }
    groups = [group for group in ordered_groups(snapshot) if group.id in kept]
    for group in groups:
        for step in open_evictions(pods, group):
            pods[step.pod].status = snapshot_pb2.POD_STATUS_RELEASING
    for group in groups:
        for step in open_bindings(pods, group):
            pod = pods[step.pod]
            pod.status, pod.node = snapshot_pb2.POD_STATUS_BINDING, step.node
            pod.gpu_groups[:] = step.gpu_groups
            pod.ClearField("numa_placement")
            pod.numa_placement.extend(step.numa_placement)
    return after


def ordered_groups(snapshot: snapshot_pb2.ClusterSnapshot) -> list[snapshot_pb2.InFlightGroup]:
    """Sort in-flight groups by expiry, then by the priority and age of their beneficiary, then by id."""
    known = {group.uid: group for group in snapshot.pod_groups}

    def key(group: snapshot_pb2.InFlightGroup) -> tuple[int, int, int, str]:
        found = known.get(group.beneficiary, snapshot_pb2.PodGroup())
        return (
            group.expire_time.ToNanoseconds(),
            -found.priority,
            found.creation_time.ToNanoseconds(),
            group.id,
        )

    return sorted(snapshot.in_flight_groups, key=key)


def open_evictions(
    pods: dict[str, snapshot_pb2.Pod], group: snapshot_pb2.InFlightGroup
) -> Iterator[snapshot_pb2.InFlightDecision]:
    """Return evictions of pods that still exist and do not terminate."""
    for step in group.evictions:
        pod = pods.get(step.pod)
        if pod is not None and pod.status in PLACED_STATUSES and pod.node == step.node:
            yield step


def open_bindings(
    pods: dict[str, snapshot_pb2.Pod], group: snapshot_pb2.InFlightGroup
) -> Iterator[snapshot_pb2.InFlightDecision]:
    """Return bindings of pods that are still pending."""
    for step in group.bindings:
        if step.pod in pods and pods[step.pod].status == PENDING:
            yield step
