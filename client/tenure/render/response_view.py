"""A snapshot and its response, with lookups by UID."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.decision_pb2 import Decision, DecisionGroup, Reserve
from tenure.v1.pod_group_status_pb2 import PodGroupStatus
from tenure.v1.snapshot_pb2 import ClusterSnapshot, Pod, PodGroup, Queue
from tenure.wire.columns import from_columns


class DecisionRef(NamedTuple):
    """A decision and its group."""

    group: DecisionGroup
    decision: Decision


@dataclass(frozen=True)
class ResponseView:
    """Data of a report. A UID that the snapshot does not contain stands for itself."""

    snapshot: ClusterSnapshot
    response: DecideResponse

    @property
    def now(self) -> int:
        """The time of the cycle in nanoseconds since the epoch; that of the snapshot if it is not known."""
        header = self.response.header
        return (header.now if header.HasField("now") else self.snapshot.now).ToNanoseconds()

    def decisions(self, kind: str) -> Iterator[DecisionRef]:
        """All decisions of a kind ("bind", "evict", "reserve", "requeue"), in order."""
        for group in self.response.groups:
            for decision in group.decisions:
                if decision.WhichOneof("kind") == kind:
                    yield DecisionRef(group, decision)

    @property
    def reservations(self) -> Iterator[Reserve]:
        """Reservations of in-flight groups that stay in flight."""
        return (
            reserve for status in self.response.in_flight_group_statuses for reserve in status.reservations
        )

    @property
    def pending_evictions(self) -> Iterator[tuple[str, str]]:
        """(beneficiary, pod) of each incomplete eviction of an in-flight group with reservations."""
        kept = {status.id for status in self.response.in_flight_group_statuses if status.reservations}
        for group in self.snapshot.in_flight_groups:
            for eviction in group.evictions if group.id in kept else ():
                if eviction.pod in self.pods and self.pods[eviction.pod].node == eviction.node:
                    yield group.beneficiary, eviction.pod

    def name(self, pod_group: str) -> str:
        """Name of a pod group, else its uid."""
        found = self.pod_groups.get(pod_group)
        return (found.name if found else "") or pod_group

    def queue(self, pod_group: str) -> str:
        """Queue of a pod group."""
        found = self.pod_groups.get(pod_group)
        return found.queue if found else ""

    def owner(self, pod: str) -> str:
        """Uid of the pod group of a pod."""
        found = self.pods.get(pod)
        return found.pod_group if found else pod

    @cached_property
    def pod_groups(self) -> Mapping[str, PodGroup]:
        """Pod groups by UID."""
        return {group.uid: group for group in self.snapshot.pod_groups}

    @cached_property
    def statuses(self) -> Mapping[str, PodGroupStatus]:
        """Statuses by UID of the pod group; empty if the request did not include them."""
        return {status.pod_group: status for status in self.response.pod_group_statuses}

    @cached_property
    def pods(self) -> dict[str, Pod]:
        """Pods by uid."""
        return {pod.uid: pod for pod in (*self.snapshot.pods, *from_columns(self.snapshot.pod_columns))}

    @cached_property
    def queues(self) -> dict[str, Queue]:
        """Queues by name."""
        return {queue.name: queue for queue in self.snapshot.queues}
