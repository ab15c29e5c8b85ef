"""What of a snapshot decides which sets of victims are legal, read from the message by the rules alone.

It knows the snapshots of `gang_snapshots`: one gang that waits, whole GPUs, pod groups of equal pods without
subgroups, queues without limits. Amounts of pods and nodes are CPU, memory, thousandths of GPUs and slots.
"""

from collections.abc import Set
from typing import Final, NamedTuple

from google.protobuf.duration_pb2 import Duration
from tenure.v1.snapshot_pb2 import (
    POD_STATUS_RUNNING,
    PREEMPTIBILITY_NON_PREEMPTIBLE,
    PREEMPTIBILITY_SEMI_PREEMPTIBLE,
    ClusterSnapshot,
    PodGroup,
    PodShape,
    Queue,
)

from tests.properties.optimum.fair_shares import QueueFacts, fair_shares
from tests.properties.optimum.gang_snapshots import GANG

Amounts = tuple[int, int, int, int]
_MILLI: Final = 1000


class Candidate(NamedTuple):
    """A pod group that may be a victim."""

    uid: str
    queue: str
    priority: int
    pods: tuple[str, ...]
    """In task order (R3.11): what is beyond the minimum is last."""
    minimum: int
    keeps_core: bool
    most: int
    """Pods that its disruption budget allows."""
    gpus: int
    """Of one pod."""
    seconds: int
    """Since its last start."""
    created: int


class ClusterFacts:
    """The facts of one snapshot for one action."""

    def __init__(self, snapshot: ClusterSnapshot, action: str) -> None:
        self.action: Final = action
        self._shapes = {shape.id: shape for shape in snapshot.shapes}
        self._now = snapshot.now.seconds
        self._queues = {queue.name: queue for queue in snapshot.queues}
        self.amounts: Final = {pod.uid: _amounts(self._shapes[pod.shape]) for pod in snapshot.pods}
        self.running: Final = [pod for pod in snapshot.pods if pod.status == POD_STATUS_RUNNING]
        self.node_of: Final = {pod.uid: pod.node for pod in self.running}
        self.group_of: Final = {pod.uid: pod.pod_group for pod in snapshot.pods}
        self.waiting: Final = [pod.uid for pod in snapshot.pods if pod.pod_group == GANG]
        self.free: Final = self._free(snapshot)
        self.groups: Final = {group.uid: group for group in snapshot.pod_groups}
        self.queues: Final = self._queue_facts(snapshot)
        self.total: Final = sum(node.allocatable.gpu_milli for node in snapshot.nodes) // _MILLI
        self.fair: Final = fair_shares(self.total, self.queues)
        budgets = {budget.name: budget.allowed for budget in snapshot.disruption_budgets}
        possible = (self._candidate(group, budgets) for group in snapshot.pod_groups)
        self.candidates: Final = [candidate for candidate in possible if candidate is not None]

    @property
    def requested(self) -> int:
        """GPUs of the gang."""
        return sum(self.gpus(pod) for pod in self.waiting)

    @property
    def may_start(self) -> bool:
        """Whether the action searches for victims: a reclaim stays within the fair share (R4.40)."""
        queue = self.groups[GANG].queue
        is_within = self.queues[queue].used + self.requested <= self.fair[queue]
        return is_within or self.action == "preempt"

    def gpus(self, pod: str) -> int:
        """Of a pod."""
        return self.amounts[pod][2] // _MILLI

    def gpu_seconds(self, pod: str) -> int:
        """Run time of its pod group times its GPUs."""
        return self.gpus(pod) * (self._now - self.groups[self.group_of[pod]].last_start_time.seconds)

    def path(self, queue: str) -> list[str]:
        """The queue and its ancestors, from the top."""
        parent = self.queues[queue].parent
        return [*(self.path(parent) if parent else ()), queue]

    def spare(self, leaves: Set[str]) -> dict[str, int]:
        """GPUs above their quotas of these queues and those above them, but for the path of the gang."""
        shared = self.path(self.groups[GANG].queue)
        names = sorted({name for leaf in leaves for name in self.path(leaf)}.difference(shared))
        return {name: max(self.queues[name].used - self.queues[name].quota, 0) for name in names}

    def levels(self, queue: str) -> tuple[str, str]:
        """The queues of the gang's path and of that of another leaf queue where they part (R4.45)."""
        pairs = zip(self.path(self.groups[GANG].queue), self.path(queue), strict=False)
        return next(pair for pair in pairs if pair[0] != pair[1])

    def _free(self, snapshot: ClusterSnapshot) -> dict[str, Amounts]:
        free = {}
        for node in snapshot.nodes:
            amounts, has = node.allocatable, [0, 0, 0, 0]
            for pod in self.running:
                if pod.node == node.name:
                    has = [a + b for a, b in zip(has, self.amounts[pod.uid], strict=True)]
            all_of = (amounts.cpu_milli, amounts.memory_bytes, amounts.gpu_milli, amounts.pods)
            cpu, memory, gpu, slots = (a - b for a, b in zip(all_of, has, strict=True))
            free[node.name] = (cpu, memory, gpu, slots)
        return free

    def _queue_facts(self, snapshot: ClusterSnapshot) -> dict[str, QueueFacts]:
        used, requested = dict.fromkeys(self._queues, 0), dict.fromkeys(self._queues, 0)
        for pod in snapshot.pods:
            name = self.groups[pod.pod_group].queue
            while name:
                requested[name] += self.gpus(pod.uid)
                used[name] += self.gpus(pod.uid) * (pod.status == POD_STATUS_RUNNING)
                name = self._queues[name].parent
        return {
            name: QueueFacts(
                name,
                queue.parent,
                queue.gpu_milli.quota // _MILLI,
                int(queue.gpu_milli.over_quota_weight),
                queue.creation_time.seconds,
                used[name],
                requested[name],
            )
            for name, queue in self._queues.items()
        }

    def _candidate(self, group: PodGroup, budgets: dict[str, int]) -> Candidate | None:
        """The pod group as a victim; None if no pod of it may be taken."""
        gang, pods = self.groups[GANG], [pod for pod in self.running if pod.pod_group == group.uid]
        if group.uid == GANG or not pods or self.action in group.opt_out_actions:
            return None
        is_same = group.queue == gang.queue
        is_lower = group.priority < gang.priority
        if not {"preempt": is_same and is_lower, "reclaim": not is_same}.get(self.action, True):
            return None
        if group.preemptibility == PREEMPTIBILITY_NON_PREEMPTIBLE:
            return None
        seconds = self._now - group.last_start_time.seconds
        is_semi = group.preemptibility == PREEMPTIBILITY_SEMI_PREEMPTIBLE
        named = {budget for pod in pods for budget in pod.disruption_budgets}
        candidate = Candidate(
            group.uid,
            group.queue,
            group.priority,
            tuple(sorted(pod.uid for pod in pods)),
            group.min_member,
            is_semi or seconds < self._min_runtime(group),
            min([len(pods), *(budgets[name] for name in named)]),
            self.gpus(pods[0].uid),
            seconds,
            group.creation_time.seconds,
        )
        has_surplus = len(pods) > group.min_member
        return candidate if has_surplus or not candidate.keeps_core else None

    def _min_runtime(self, group: PodGroup) -> int:
        """Seconds (R7.10, R7.12, R7.46): of its leaf queue, or below the common ancestor, or of one above."""
        path, action = self.path(group.queue), "preempt"
        if group.queue != self.groups[GANG].queue:
            path, action = path[: path.index(self.levels(group.queue)[1]) + 1], "reclaim"
        values = (_min_runtime_of(self._queues[name], action) for name in reversed(path))
        return next((value.seconds for value in values if value is not None), 0)


def _min_runtime_of(queue: Queue, action: str) -> Duration | None:
    field = f"{action}_min_runtime"
    return getattr(queue, field) if queue.HasField(field) else None


def _amounts(shape: PodShape) -> Amounts:
    return shape.requests.cpu_milli, shape.requests.memory_bytes, _MILLI * shape.gpu.devices, 1
