"""A closed cluster in which pod groups arrive, disruption budgets are counted, and a tenant writes."""

from dataclasses import dataclass
from typing import Final
from zlib import crc32

from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decide_pb2 import DecideResponse

from tests.properties.levers.contested_queues import TENANT, ContestedQueues
from tests.properties.relations.closed_cluster import ClosedCluster

ENDED: Final = (pb.POD_STATUS_SUCCEEDED, pb.POD_STATUS_FAILED)


@dataclass(slots=True)
class Budget:
    """A disruption budget of a tenant: so many of these pods are to run."""

    name: str
    groups: frozenset[str]
    min_available: int


class TenantCluster(ClosedCluster):
    """The cluster of a twin: both draw the same times of termination."""

    def __init__(self, drawn: ContestedQueues) -> None:
        snapshot = pb.ClusterSnapshot()
        snapshot.CopyFrom(drawn.snapshot)
        super().__init__(snapshot)
        self._arrivals = drawn.arrivals
        self.budgets: list[Budget] = []
        self.cycle = 0

    def begin_cycle(self) -> None:
        """Let pod groups arrive, and count the budgets."""
        for arrival in self._arrivals:
            if arrival.cycle == self.cycle:
                self.snapshot.pod_groups.add().CopyFrom(arrival.group)
                for pod in arrival.pods:
                    self.snapshot.pods.add().CopyFrom(pod)
                    self.origin[pod.uid] = pod.uid
        del self.snapshot.disruption_budgets[:]
        for pod in self.snapshot.pods:
            del pod.disruption_budgets[:]
        for budget in self.budgets:
            pods = [pod for pod in self.snapshot.pods if pod.pod_group in budget.groups]
            healthy = sum(pod.status == pb.POD_STATUS_RUNNING for pod in pods)
            allowed = max(healthy - budget.min_available, 0)
            self.snapshot.disruption_budgets.add(name=budget.name, allowed=allowed)
            for pod in pods:
                pod.disruption_budgets.append(budget.name)

    def apply(self, response: DecideResponse) -> None:
        running = {pod.pod_group for pod in self.snapshot.pods if pod.node}
        starts = {
            group.uid: group.last_start_time.ToNanoseconds()
            for group in self.snapshot.pod_groups
            if group.uid in running
        }
        super().apply(response)
        for group in self.snapshot.pod_groups:
            if group.uid in starts:  # more pods are no new start
                group.last_start_time.FromNanoseconds(starts[group.uid])
        self.cycle += 1

    def given(self) -> dict[str, tuple[int, int]]:
        """GPUs of running pods by queue, and the least that one of its pending pod groups can go on with.

        What the tenant calls its queue does not matter. What is not preemptible needs quota.
        """
        quotas = {queue.name: queue.gpu_milli.quota // 1000 for queue in self.snapshot.queues}
        soft = pb.PREEMPTIBILITY_PREEMPTIBLE
        found = dict[str, tuple[int, int]]()
        pods: dict[str, list[pb.Pod]] = {group.uid: [] for group in self.snapshot.pod_groups}
        for pod in self.snapshot.pods:
            pods[pod.pod_group].append(pod)
        for group in self.snapshot.pod_groups:
            gpus, least = found.get(group.namespace, (0, 0))
            size = int(pods[group.uid][0].shape[-1])
            running, waiting = (
                sum(pod.status == status for pod in pods[group.uid])
                for status in (pb.POD_STATUS_RUNNING, pb.POD_STATUS_PENDING)
            )
            step = size * max(group.min_member - running, 1) if waiting else 0
            if group.preemptibility != soft and step > quotas[group.namespace]:
                step = 0
            found[group.namespace] = gpus + size * running, min(filter(None, (least, step)), default=0)
        return found

    def own_groups(self) -> list[pb.PodGroup]:
        """Pod groups of the tenant."""
        return [group for group in self.snapshot.pod_groups if group.namespace == TENANT]

    def runs(self, group: pb.PodGroup) -> bool:
        """Whether pods of it are on nodes."""
        return any(pod.node for pod in self.snapshot.pods if pod.pod_group == group.uid)

    def _cycles_to_terminate(self, pod: pb.Pod) -> int:
        return 1 + (crc32(self.origin[pod.uid].encode()) % 3 == 0)
