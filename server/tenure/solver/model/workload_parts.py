"""Parts of workloads that facts refer to: shapes, subgroups, topology constraints, preemptibility."""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tenure.solver.model.constraints import Constraints
from tenure.solver.model.fast_dataclass import fast_dataclass
from tenure.solver.model.resources import CPU, MEMORY, GpuRequest, MutableVector, Share, Vector
from tenure.terms.preemptibility import Preemptibility as Preemptibility

NO_GPU: Final = GpuRequest()
NO_CONSTRAINTS: Final = Constraints()


@dataclass(frozen=True, slots=True)
class TaskShape:
    """Requests and constraints of tasks. Tasks of one shape are interchangeable for placement."""

    index: int
    id: str
    request: Vector
    """Charged to the node; includes GPUs only for whole devices."""
    gpu: GpuRequest = NO_GPU
    mig_gpu_milli: int = 0
    """GPU amount of the MIG slices in the request."""
    constraints: Constraints = NO_CONSTRAINTS
    is_guaranteed: bool = False
    """Kubernetes QoS class Guaranteed: CPU and memory are aligned with NUMA zones."""
    claimed_gpu_milli: int = 0
    """GPU amount of devices of its own resource claims; included in the request."""
    shared_claims: tuple[int, ...] = ()
    """Resource claims that it shares with others; their devices are not in the request."""
    shared_gpu_milli: int = 0
    """GPU amount of the shared claims; counted once for all tasks that share them."""
    shares_devices: bool = field(init=False, compare=False, default=False)
    """Whether it shares devices with others: a share of a GPU, or shared claims."""
    request_vector: MutableVector = field(init=False, compare=False, repr=False)
    """The request as a vector for sums and comparisons; must not be changed."""
    is_cpu_only: bool = field(init=False, compare=False, default=False)
    """Whether it requests no GPU in any form (semantics R1.10)."""

    def __post_init__(self) -> None:
        gpus = (self.gpu.devices, self.mig_gpu_milli, self.claimed_gpu_milli, self.shared_gpu_milli)
        object.__setattr__(self, "is_cpu_only", not any(gpus))
        object.__setattr__(self, "shares_devices", self.gpu.is_shared or bool(self.shared_claims))
        object.__setattr__(self, "request_vector", MutableVector(self.request))

    @property
    def needs_gpu_capacity(self) -> bool:
        """Whether it needs free GPUs; tasks that share claims may need no more of them."""
        return not self.shared_claims and not self.is_cpu_only

    @property
    def all_claimed_gpu_milli(self) -> int:
        """Maximum GPU amount of its resource claims, own and shared."""
        return self.claimed_gpu_milli + self.shared_gpu_milli

    @property
    def extra_gpu_milli(self) -> int:
        """GPU amount besides the GPU request: MIG slices, and devices of its own claims (R1.8)."""
        return self.mig_gpu_milli + self.claimed_gpu_milli


def share_of(shape: TaskShape, gpu_milli: int) -> Share:
    """What a task counts for in its queue, with this amount of its GPU request (semantics R1.17)."""
    return (shape.request[CPU], shape.request[MEMORY], gpu_milli + shape.extra_gpu_milli)


def share_on(shape: TaskShape, device_memory_mib: int) -> Share:
    """What a task counts for in its queue on a node whose GPUs have this memory (semantics R1.17, R2.19)."""
    if not shape.gpu.memory_mib:
        return share_of(shape, shape.gpu.gpu_milli())
    milli = -(-shape.gpu.memory_mib * 100 // device_memory_mib) * 10
    return share_of(shape, milli * shape.gpu.devices)


DEFAULT_SUB_GROUP: Final = "default"
"""Name of the only subgroup of a pod group that declares none (semantics R1.51)."""


class TopologyConstraint(NamedTuple):
    """Restricts pods to one domain of a topology (semantics R9.21)."""

    topology: str
    required_level: str = ""
    preferred_level: str = ""


@fast_dataclass(slots=True, init=False)
class SubGroupFacts:
    """A subgroup that names its parent; empty: the pod group itself."""

    name: Final[str]
    parent: Final[str]
    min_member: Final[int | None]
    """Leaves only; None counts as 0 (semantics R1.50)."""
    min_sub_groups: Final[int | None]
    topology: Final[TopologyConstraint | None]

    def __init__(
        self,
        name: str,
        parent: str = "",
        min_member: int | None = None,
        min_sub_groups: int | None = None,
        topology: TopologyConstraint | None = None,
    ) -> None:
        self.name = name
        self.parent = parent
        self.min_member = min_member
        self.min_sub_groups = min_sub_groups
        self.topology = topology
