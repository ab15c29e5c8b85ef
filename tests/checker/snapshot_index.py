"""A snapshot and its response, indexed for the rules, which only read it."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from tenure.v1 import decide_pb2, decision_pb2, resources_pb2, snapshot_pb2

from tests.checker.in_flight_overlay import with_in_flight

OCCUPYING = frozenset(
    {snapshot_pb2.POD_STATUS_BINDING, snapshot_pb2.POD_STATUS_BOUND, snapshot_pb2.POD_STATUS_RUNNING}
)
"""Statuses of pods that occupy their node and do not terminate."""

ON_NODE = OCCUPYING | {snapshot_pb2.POD_STATUS_RELEASING, snapshot_pb2.POD_STATUS_STUCK_IN_RELEASING}
"""Statuses of pods that occupy a node at the time of the snapshot."""


class PodPlacement(NamedTuple):
    """A pod on a node, with the shared devices it uses."""

    pod: str
    node: str
    gpu_groups: tuple[str, ...]


class EvictionDecision(NamedTuple):
    """An eviction and its decision group."""

    group: decision_pb2.DecisionGroup
    evict: decision_pb2.Evict


@dataclass(frozen=True)
class SnapshotIndex:
    """Lookup tables. Decisions about unknown pods or nodes are left out; the identity rule reports them."""

    snapshot: snapshot_pb2.ClusterSnapshot
    """The snapshot with in-flight decisions applied; `taken_up_snapshot` is the one that was sent."""
    taken_up_snapshot: snapshot_pb2.ClusterSnapshot
    response: decide_pb2.DecideResponse
    nodes: Mapping[str, snapshot_pb2.Node]
    queues: Mapping[str, snapshot_pb2.Queue]
    pod_groups: Mapping[str, snapshot_pb2.PodGroup]
    pods: Mapping[str, snapshot_pb2.Pod]
    shapes: Mapping[str, snapshot_pb2.PodShape]
    claims: Mapping[str, snapshot_pb2.ResourceClaim]
    binds: tuple[PodPlacement, ...]
    reserves: tuple[PodPlacement, ...]
    """Reservations of this response, including those of groups that stay in flight."""
    in_flight: frozenset[str]
    """Pods with a reservation of an in-flight group."""
    evictions: tuple[EvictionDecision, ...]
    requeues: tuple[decision_pb2.Requeue, ...]

    @classmethod
    def of(
        cls, snapshot: snapshot_pb2.ClusterSnapshot, response: decide_pb2.DecideResponse
    ) -> "SnapshotIndex":
        """Index both messages."""
        asked, snapshot = snapshot, with_in_flight(snapshot, response)
        pods = {pod.uid: pod for pod in snapshot.pods}
        nodes = {node.name: node for node in snapshot.nodes}
        steps = [(group, step) for group in response.groups for step in group.decisions]
        stays = {
            kind: tuple(
                PodPlacement(part.pod, part.node, tuple(part.gpu_groups))
                for _, step in steps
                if step.WhichOneof("kind") == kind
                for part in [getattr(step, kind)]
                if part.pod in pods and part.node in nodes
            )
            for kind in ("bind", "reserve")
        }
        kept = [hold for status in response.in_flight_group_statuses for hold in status.reservations]
        known = [hold for hold in kept if hold.pod in pods and hold.node in nodes]
        return cls(
            snapshot=snapshot,
            taken_up_snapshot=asked,
            response=response,
            nodes=nodes,
            queues={queue.name: queue for queue in snapshot.queues},
            pod_groups={group.uid: group for group in snapshot.pod_groups},
            pods=pods,
            shapes={shape.id: shape for shape in snapshot.shapes},
            claims={claim.id: claim for claim in snapshot.resource_claims},
            binds=stays["bind"],
            reserves=(*stays["reserve"], *(PodPlacement(h.pod, h.node, tuple(h.gpu_groups)) for h in known)),
            in_flight=frozenset(hold.pod for hold in known),
            evictions=tuple(
                EvictionDecision(group, step.evict)
                for group, step in steps
                if step.WhichOneof("kind") == "evict" and step.evict.pod in pods
            ),
            requeues=tuple(step.requeue for _, step in steps if step.WhichOneof("kind") == "requeue"),
        )

    def shape_of(self, pod: str) -> snapshot_pb2.PodShape:
        """Return the shape of the pod."""
        return self.shapes[self.pods[pod].shape]

    def group_of(self, pod: str) -> snapshot_pb2.PodGroup:
        """Return the pod group of the pod."""
        return self.pod_groups[self.pods[pod].pod_group]

    @cached_property
    def members(self) -> Mapping[str, list[snapshot_pb2.Pod]]:
        """All pods by pod group."""
        members: dict[str, list[snapshot_pb2.Pod]] = defaultdict(list)
        for pod in self.snapshot.pods:
            members[pod.pod_group].append(pod)
        return members

    @cached_property
    def protections(self) -> Mapping[str, list[decision_pb2.Protection]]:
        """Protections of the response by pod group."""
        protections: dict[str, list[decision_pb2.Protection]] = defaultdict(list)
        for protection in self.response.protections:
            protections[protection.pod_group].append(protection)
        return protections

    @cached_property
    def victims(self) -> frozenset[str]:
        """Evicted pods, including relocated ones."""
        return frozenset(eviction.evict.pod for eviction in self.evictions)

    @cached_property
    def active_before(self) -> frozenset[str]:
        """Pods of the snapshot that occupy a node and do not terminate."""
        return frozenset(pod.uid for pod in self.snapshot.pods if pod.status in OCCUPYING)

    @cached_property
    def active_after(self) -> frozenset[str]:
        """Pods that occupy a node or have a reservation after the decisions are applied."""
        gained = {stay.pod for stay in (*self.binds, *self.reserves)}
        return (self.active_before - self.victims) | gained

    def zones_of(self, kind: str) -> list[tuple[PodPlacement, list[resources_pb2.NumaPlacement]]]:
        """Return the NUMA zones of `bind` or `reserve` decisions and of reservations that stay in flight."""
        steps = [step for group in self.response.groups for step in group.decisions]
        parts = [getattr(step, kind) for step in steps if step.WhichOneof("kind") == kind]
        if kind == "reserve":
            parts.extend(
                hold for status in self.response.in_flight_group_statuses for hold in status.reservations
            )
        return [(PodPlacement(part.pod, part.node, ()), list(part.numa_placement)) for part in parts]

    def present_now(self) -> Iterator[PodPlacement]:
        """Return the pods on nodes when bindings are applied and no victim has terminated."""
        yield from self._stays(leave_out=frozenset(), statuses=ON_NODE)
        yield from self.binds

    def present_later(self) -> Iterator[PodPlacement]:
        """Return the pods on nodes after victims have terminated and reservations are fulfilled."""
        statuses = ON_NODE - {snapshot_pb2.POD_STATUS_RELEASING}
        yield from self._stays(leave_out=self.victims, statuses=statuses)
        yield from self.binds
        yield from self.reserves

    @cached_property
    def evicted_in_flight(self) -> frozenset[str]:
        """Pods that terminate because of in-flight groups; not those that are stuck."""
        now = self.snapshot.now.ToNanoseconds()
        alive = [g for g in self.snapshot.in_flight_groups if now < g.expire_time.ToNanoseconds()]
        named = {step.pod for group in alive for step in (*group.evictions, *group.notices)}
        releasing = snapshot_pb2.POD_STATUS_RELEASING
        return frozenset(
            pod.uid for pod in self.snapshot.pods if pod.uid in named and pod.status == releasing
        )

    def _stays(self, leave_out: frozenset[str], statuses: frozenset[int]) -> Iterator[PodPlacement]:
        for pod in self.snapshot.pods:
            if pod.status in statuses and pod.uid not in leave_out:
                yield PodPlacement(pod.uid, pod.node, tuple(pod.gpu_groups))
