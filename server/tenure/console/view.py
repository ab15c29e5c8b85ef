"""What is known of one cluster at a time: its state, its recent cycles, and what pages derive from both."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

from tenure.render.response_view import ResponseView
from tenure.v1.cycles_pb2 import RecentCycle
from tenure.v1.decide_pb2 import DecideResponse, QueueStatus
from tenure.v1.decision_pb2 import Nomination, PodGroupOutcome, Protection
from tenure.v1.pod_group_status_pb2 import PodGroupStatus, UnusableGpus
from tenure.v1.snapshot_pb2 import ClusterSnapshot, Pod, PodShape, Queue
from tenure.v1.state_pb2 import StateReference

WHOLE_GPU: Final = 1000


class ShardName(NamedTuple):
    """A cluster ID and a node pool."""

    cluster_id: str
    node_pool: str

    @property
    def label(self) -> str:
        """Both in one text."""
        return f"{self.cluster_id} / {self.node_pool}" if self.node_pool else self.cluster_id


@dataclass(frozen=True)
class View:
    """One version of a state with the cycles up to it. Immutable: every request renders from one view."""

    number: int
    """Increases with every view of a process; identifies it for browsers."""
    state: StateReference
    snapshot: ClusterSnapshot
    """With all pods as rows."""
    cycles: Sequence[RecentCycle]
    """Oldest first."""
    seen_at: float
    """Time by the monotonic clock of this process when the newest part of it was received."""
    earlier: Sequence[ClusterSnapshot] = ()
    """Snapshots of earlier versions, oldest first, to decide cycles again."""
    statuses: Mapping[str, PodGroupStatus] = field(default_factory=dict)
    """Statuses of the pod groups of the state, by uid."""
    unusable: UnusableGpus = field(default_factory=UnusableGpus)
    """Free GPUs that the workloads of the state cannot use."""
    caches: dict[str, object] = field(default_factory=dict, compare=False)

    @property
    def shard(self) -> ShardName:
        """The cluster."""
        return ShardName(self.state.cluster_id, self.state.node_pool)

    @cached_property
    def response(self) -> DecideResponse:
        """The newest response; without cycles an empty one."""
        return self.cycles[-1].response if self.cycles else DecideResponse()

    @cached_property
    def versions(self) -> Mapping[int, ClusterSnapshot]:
        """Snapshots that are kept, by version."""
        return {snapshot.version: snapshot for snapshot in (*self.earlier, self.snapshot)}

    @cached_property
    def names(self) -> ResponseView:
        """Lookups by uid."""
        return ResponseView(self.snapshot, self.response)

    @cached_property
    def now(self) -> int:
        """Time of the newest cycle or of the state, the later one, in nanoseconds."""
        return max(self.response.header.now.ToNanoseconds(), self.snapshot.now.ToNanoseconds())

    @cached_property
    def outcomes(self) -> Mapping[str, PodGroupOutcome]:
        """Outcomes by uid of the pod group."""
        return {outcome.pod_group: outcome for outcome in self.response.outcomes}

    @cached_property
    def nominations(self) -> Mapping[str, Nomination]:
        """Nominations by uid of the pod group."""
        return {nomination.pod_group: nomination for nomination in self.response.nominations}

    @cached_property
    def protections(self) -> Mapping[str, Sequence[Protection]]:
        """Protections by uid of the pod group."""
        found: defaultdict[str, list[Protection]] = defaultdict(list)
        for protection in self.response.protections:
            found[protection.pod_group].append(protection)
        return found

    @cached_property
    def queue_status(self) -> Mapping[str, QueueStatus]:
        """Shares by name of the queue."""
        return {status.name: status for status in self.response.queues}

    @cached_property
    def queues(self) -> Mapping[str, Queue]:
        """Queues by name."""
        return {queue.name: queue for queue in self.snapshot.queues}

    @cached_property
    def shapes(self) -> Mapping[str, PodShape]:
        """Shapes by ID."""
        return {shape.id: shape for shape in self.snapshot.shapes}

    @cached_property
    def pods_of(self) -> Mapping[str, Sequence[Pod]]:
        """Pods by uid of their pod group."""
        found: defaultdict[str, list[Pod]] = defaultdict(list)
        for pod in self.snapshot.pods:
            found[pod.pod_group].append(pod)
        return found

    def path_of(self, queue: str) -> list[str]:
        """A queue and its ancestors, itself first."""
        path: list[str] = []
        while queue in self.queues and queue not in path:
            path.append(queue)
            queue = self.queues[queue].parent
        return path

    def pod_gpus(self, pod: Pod) -> int:
        """GPUs that a pod requests, in thousandths; a request by memory counts by the memory of its node."""
        return self._shape_gpus.get(pod.shape, 0) + sum(
            self._claim_gpus.get(claim, 0) for claim in pod.resource_claims
        )

    @cached_property
    def _shape_gpus(self) -> Mapping[str, int]:
        memory = next((node.gpu_memory_mib for node in self.snapshot.nodes if node.gpu_memory_mib), 0)
        return {shape.id: _gpus(shape, memory) for shape in self.snapshot.shapes}

    @cached_property
    def _claim_gpus(self) -> Mapping[str, int]:
        return {
            claim.id: sum(
                request.count * WHOLE_GPU for request in claim.requests if "gpu" in request.device_class
            )
            for claim in self.snapshot.resource_claims
        }


def _gpus(shape: PodShape, memory_mib: int) -> int:
    gpu = shape.gpu
    match gpu.WhichOneof("share"):
        case "portion_milli":
            return gpu.devices * gpu.portion_milli
        case "memory_mib":
            portion = min(WHOLE_GPU, gpu.memory_mib * WHOLE_GPU // memory_mib) if memory_mib else WHOLE_GPU
            return max(1, gpu.devices) * portion
    return gpu.devices * WHOLE_GPU
