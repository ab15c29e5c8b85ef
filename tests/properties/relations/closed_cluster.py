"""A cluster that nothing changes but the decisions of its scheduler, as its API server would show it.

Pods terminate for a cycle or two and return as other pods. A caller keeps groups in flight until they are
complete, and may see a pod start only a cycle later. Written on messages alone.
"""

from collections.abc import Iterator
from typing import Final

from tenure.client.in_flight import retain_in_flight, track_group
from tenure.v1 import decision_pb2, snapshot_pb2
from tenure.v1.decide_pb2 import DecideResponse

INTERVAL_S: Final = 60
SLOW: Final = 3
"""Every third victim takes two cycles to terminate."""


class ClosedCluster:
    """A snapshot that follows responses."""

    def __init__(self, snapshot: snapshot_pb2.ClusterSnapshot) -> None:
        self.snapshot = snapshot
        self.origin = {pod.uid: pod.uid for pod in snapshot.pods}
        """First uid of each pod."""
        releasing = [pod for pod in snapshot.pods if pod.status == snapshot_pb2.POD_STATUS_RELEASING]
        self._leaving = {pod.uid: 2 for pod in releasing}
        """Cycles that pods still take to terminate."""

    def apply(self, response: DecideResponse) -> None:
        """Apply all decisions of a response, and let a minute pass."""
        pods = {pod.uid: pod for pod in self.snapshot.pods}
        groups = {group.uid: group for group in self.snapshot.pod_groups}
        kept = retain_in_flight(self.snapshot.in_flight_groups, response)
        self._let_terminate(pods)
        for group in response.groups:
            kept += [track_group(group)] if _has_moves(group) else []
            for step in group.decisions:
                self._apply(step, pods, groups)
        del self.snapshot.in_flight_groups[:]
        self.snapshot.in_flight_groups.extend(kept)
        self.snapshot.version += 1
        self.snapshot.now.seconds += INTERVAL_S

    def _apply(
        self,
        step: decision_pb2.Decision,
        pods: dict[str, snapshot_pb2.Pod],
        groups: dict[str, snapshot_pb2.PodGroup],
    ) -> None:
        match step.WhichOneof("kind"):
            case "bind":
                pod = pods[step.bind.pod]
                pod.status, pod.node = snapshot_pb2.POD_STATUS_RUNNING, step.bind.node
                pod.numa_placement.extend(step.bind.numa_placement)
                groups[pod.pod_group].last_start_time.CopyFrom(self.snapshot.now)
            case "evict":
                pod = pods[step.evict.pod]
                pod.status = snapshot_pb2.POD_STATUS_RELEASING
                self._leaving[pod.uid] = self._cycles_to_terminate(pod)
            case "patch":
                _patch(groups[step.patch.pod_group], step.patch)

    def _cycles_to_terminate(self, _: snapshot_pb2.Pod) -> int:
        return 1 + (len(self._leaving) % SLOW == SLOW - 1)

    def _let_terminate(self, pods: dict[str, snapshot_pb2.Pod]) -> None:
        """Pods that were evicted a while ago return under other names."""
        for uid in [*self._leaving]:
            self._leaving[uid] -= 1
            if self._leaving[uid]:
                continue
            del self._leaving[uid]
            pod = pods[uid]
            pod.uid += "'"
            self.origin[pod.uid] = self.origin[uid]
            pod.status, pod.node = snapshot_pb2.POD_STATUS_PENDING, ""
            del pod.numa_placement[:]


def _has_moves(group: decision_pb2.DecisionGroup) -> bool:
    return any(step.WhichOneof("kind") in ("bind", "evict", "reserve") for step in group.decisions)


def _patch(group: snapshot_pb2.PodGroup, patch: decision_pb2.Patch) -> None:
    """Fields that have the same name in both messages."""
    name = patch.WhichOneof("change")
    if name == "clear_stale_since":
        group.ClearField("stale_since")
    elif name is not None and name in group.DESCRIPTOR.fields_by_name:
        value = getattr(patch, name)
        if group.DESCRIPTOR.fields_by_name[name].message_type is not None:
            getattr(group, name).CopyFrom(value)
        else:
            setattr(group, name, value)


def steps(response: DecideResponse, kind: str) -> Iterator[tuple[decision_pb2.DecisionGroup, object]]:
    """Decisions of a kind with their groups."""
    for group in response.groups:
        for step in group.decisions:
            if step.WhichOneof("kind") == kind:
                yield group, getattr(step, kind)
