"""Consecutive single reclaims (S6): each job reclaims the capacity of one victim.

Between two cycles the caller applies the decisions: the victim terminates, the preemptor runs in its place,
and another job arrives.
"""

from typing import Final

from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.state_pb2 import StateDelta, StateReference

from tests.bench.workloads.case import DecisionCounts

CYCLES: Final = 1_000
"""Number of cycles. The cluster has twice as many victims, and the fair share covers half of them."""


class SingleReclaims:
    """The pending job, and the nodes of the victims."""

    expected: Final = DecisionCounts(0, 1, 1, {"WAITING_FOR_VICTIMS": 1})
    """Counts of each cycle."""

    def __init__(self, snapshot: pb.ClusterSnapshot) -> None:
        self.cycles: Final = min(CYCLES, len(snapshot.pods) // 2 - 1)
        self._now_s = snapshot.now.seconds
        self._groups = {pod.uid: pod.pod_group for pod in snapshot.pods}
        self._group = pb.PodGroup.FromString(snapshot.pod_groups[-1].SerializeToString())
        self._pod = pb.Pod.FromString(snapshot.pods[-1].SerializeToString())
        self._count = 0

    def delta(self, base: StateReference, answer: DecideResponse | None) -> StateDelta:
        """Return the delta since the response."""
        self._now_s += 1
        delta = StateDelta(base=base, version=base.version + 1, now={"seconds": self._now_s})
        for group in answer.groups if answer else ():
            for step in group.decisions:
                if step.HasField("evict"):
                    delta.removals.pods.append(step.evict.pod)
                    delta.removals.pod_groups.append(self._groups.pop(step.evict.pod))
                if step.HasField("reserve"):
                    self._run(delta, step.reserve.node)
                    self._submit(delta)
        return delta

    def _run(self, delta: StateDelta, node: str) -> None:
        self._pod.status, self._pod.node = pb.POD_STATUS_RUNNING, node
        self._group.last_start_time.seconds = self._now_s
        self._groups[self._pod.uid] = self._group.uid
        self._send(delta)

    def _submit(self, delta: StateDelta) -> None:
        self._count += 1
        self._group.uid = self._group.name = f"asks-{self._count:06}"
        self._group.creation_time.seconds = self._now_s
        self._group.ClearField("last_start_time")
        self._pod.uid, self._pod.pod_group = f"{self._group.uid}-0", self._group.uid
        self._pod.status, self._pod.node = pb.POD_STATUS_PENDING, ""
        self._send(delta)

    def _send(self, delta: StateDelta) -> None:
        delta.upserts.pods.add().CopyFrom(self._pod)
        delta.upserts.pod_groups.add().CopyFrom(self._group)
