"""Workloads: pod groups, their subgroups and their tasks."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, NamedTuple

from tenure.solver.model.constraints import Constraints, Labels
from tenure.solver.model.fast_dataclass import fast_dataclass
from tenure.solver.model.placement import NOWHERE, Placement
from tenure.solver.model.requeue import NO_TERMS, RequeueSettings
from tenure.solver.model.resources import GpuRequest, MutableVector, Share, Vector

Counts = Sequence[int] | Mapping[int, int]
"""Number of tasks by pod set."""

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


@fast_dataclass(slots=True, init=False)
class Task:
    """One pod. `index` is its slot: slots are ordered by uid, and an empty one has no uid."""

    index: Final[int]
    uid: Final[str]
    name: Final[str]
    pod_group: Final[int]
    pod_set: Final[int | None]
    """Dense index over all pod sets; None if its subgroup does not exist (semantics R1.53)."""
    shape: Final[TaskShape]
    placement: Final[Placement]
    creation: Final[int]
    priority: Final[int | None]
    leader: Final[bool]
    nominated_node: Final[int]
    blocked_reason: Final[str]
    """Why it cannot be placed, whatever is evicted, as known to the caller; empty: no obstacle."""
    claims: Final[tuple[int, ...]]
    """All its resource claims."""
    labels: Final[Labels]

    def __init__(
        self,
        index: int,
        uid: str,
        name: str,
        pod_group: int,
        pod_set: int | None,
        shape: TaskShape,
        placement: Placement,
        creation: int = 0,
        priority: int | None = None,
        leader: bool = False,
        nominated_node: int = NOWHERE,
        blocked_reason: str = "",
        claims: tuple[int, ...] = (),
        labels: Labels = (),
    ) -> None:
        self.index = index
        self.uid = uid
        self.name = name
        self.pod_group = pod_group
        self.pod_set = pod_set
        self.shape = shape
        self.placement = placement
        self.creation = creation
        self.priority = priority
        self.leader = leader
        self.nominated_node = nominated_node
        self.blocked_reason = blocked_reason
        self.claims = claims
        self.labels = labels


class TopologyConstraint(NamedTuple):
    """Restricts pods to one domain of a topology (semantics R9.21)."""

    topology: str
    required_level: str = ""
    preferred_level: str = ""


@fast_dataclass(slots=True, init=False)
class PodSet:
    """A leaf of the subgroup tree: tasks with a minimum (semantics R1.51)."""

    index: Final[int]
    name: Final[str]
    min_available: Final[int]
    tasks: Final[tuple[int, ...]]
    topology: Final[TopologyConstraint | None]

    def __init__(
        self,
        index: int,
        name: str,
        min_available: int,
        tasks: tuple[int, ...],
        topology: TopologyConstraint | None = None,
    ) -> None:
        self.index = index
        self.name = name
        self.min_available = min_available
        self.tasks = tasks
        self.topology = topology

    def is_met(self, active: Counts) -> bool:
        """Whether the minimum is met by the counts (semantics R1.55)."""
        return active[self.index] >= self.min_available

    @property
    def has_surplus(self) -> bool:
        """Whether it has tasks beyond the minimum, whatever their status (semantics R1.57)."""
        return self.min_available < len(self.tasks)


@fast_dataclass(slots=True, init=False)
class SubGroupSet:
    """An inner node of the subgroup tree. `min_sub_groups` None: every member is required."""

    name: Final[str]
    members: Final[tuple["PodSet | SubGroupSet", ...]]
    min_sub_groups: Final[int | None]
    topology: Final[TopologyConstraint | None]

    def __init__(
        self,
        name: str,
        members: tuple["PodSet | SubGroupSet", ...],
        min_sub_groups: int | None = None,
        topology: TopologyConstraint | None = None,
    ) -> None:
        self.name = name
        self.members = members
        self.min_sub_groups = min_sub_groups
        self.topology = topology

    @property
    def is_lone(self) -> bool:
        """Whether it has a single member, which is required."""
        return self.required == len(self.members) == 1

    @property
    def required(self) -> int:
        """Number of members that must be satisfied."""
        return len(self.members) if self.min_sub_groups is None else self.min_sub_groups

    def is_met(self, active: Counts) -> bool:
        """Whether enough members are met by the counts (semantics R1.55)."""
        met = 0
        for member in self.members:
            met += member.is_met(active)
        return met >= self.required

    @property
    def has_surplus(self) -> bool:
        """Whether it has more members than required, or a member has surplus."""
        return self.required < len(self.members) or any(member.has_surplus for member in self.members)


Member = PodSet | SubGroupSet


class Preemptibility(IntEnum):
    """Whether a pod group may be evicted. UNSPECIFIED falls back to the legacy priority rule."""

    UNSPECIFIED = 0
    PREEMPTIBLE = 1
    NON_PREEMPTIBLE = 2
    SEMI_PREEMPTIBLE = 3


LEGACY_NON_PREEMPTIBLE_PRIORITY: Final = 100
"""Lowest priority at which a pod group without a value is non-preemptible (semantics R1.80)."""


@fast_dataclass(slots=True, init=False)
class PodGroup:
    """A pod group. `index` is its slot, as for tasks; `rank` orders pod groups by creation time, then uid."""

    index: Final[int]
    uid: Final[str]
    name: Final[str]
    namespace: Final[str]
    queue: Final[int | None]
    """None if the queue does not exist or is not a leaf (semantics R3.3)."""
    queue_name: Final[str]
    priority: Final[int]
    preemptibility: Final[Preemptibility]
    root: Final[SubGroupSet]
    pod_sets: Final[tuple[PodSet, ...]]
    tasks: Final[tuple[int, ...]]
    rank: Final[int]
    creation: Final[int]
    last_start: Final[int | None]
    last_eviction: Final[int | None]
    stale_since: Final[int | None]
    staleness_grace_period: Final[int | None]
    preemption_delay: Final[int]
    requeue: Final[RequeueSettings]
    opt_out_actions: Final[frozenset[str]]
    """Actions that may not evict its tasks."""
    eviction_count: Final[int]
    total_eviction_wait: Final[int]
    """Nanoseconds."""
    unknown_preemptibility: Final[str]
    """Unknown preemptibility value; such a pod group is treated as non-preemptible."""

    def __init__(
        self,
        index: int,
        uid: str,
        name: str,
        namespace: str,
        queue: int | None,
        queue_name: str,
        priority: int,
        preemptibility: Preemptibility,
        root: SubGroupSet,
        pod_sets: tuple[PodSet, ...],
        tasks: tuple[int, ...],
        rank: int,
        creation: int,
        last_start: int | None = None,
        last_eviction: int | None = None,
        stale_since: int | None = None,
        staleness_grace_period: int | None = None,
        preemption_delay: int = 0,
        requeue: RequeueSettings = NO_TERMS,
        opt_out_actions: frozenset[str] = frozenset(),
        eviction_count: int = 0,
        total_eviction_wait: int = 0,
        unknown_preemptibility: str = "",
    ) -> None:
        self.index = index
        self.uid = uid
        self.name = name
        self.namespace = namespace
        self.queue = queue
        self.queue_name = queue_name
        self.priority = priority
        self.preemptibility = preemptibility
        self.root = root
        self.pod_sets = pod_sets
        self.tasks = tasks
        self.rank = rank
        self.creation = creation
        self.last_start = last_start
        self.last_eviction = last_eviction
        self.stale_since = stale_since
        self.staleness_grace_period = staleness_grace_period
        self.preemption_delay = preemption_delay
        self.requeue = requeue
        self.opt_out_actions = opt_out_actions
        self.eviction_count = eviction_count
        self.total_eviction_wait = total_eviction_wait
        self.unknown_preemptibility = unknown_preemptibility

    @property
    def is_preemptible(self) -> bool:
        """Whether all of it is preemptible: explicit value, else the legacy rule (semantics R1.80)."""
        mode = self.preemptibility
        if mode is Preemptibility.PREEMPTIBLE:
            return True
        return mode is Preemptibility.UNSPECIFIED and self.priority < LEGACY_NON_PREEMPTIBLE_PRIORITY

    @property
    def is_evictable(self) -> bool:
        """Whether any of its tasks may be a victim: of semi-preemptible ones the surplus (R8.30)."""
        return self.is_preemptible or self.is_semi_preemptible

    @property
    def is_semi_preemptible(self) -> bool:
        """Whether its minimum is protected, and what goes beyond is not (semantics R8.30)."""
        return self.preemptibility is Preemptibility.SEMI_PREEMPTIBLE

    def is_firm(self, fair_share_actions: AbstractSet[str]) -> bool:
        """Whether all of it must be within quota, because no other queue can take any of it back.

        That is so for non-preemptible pod groups, and for those that opt out of an action by which queues
        take back their fair shares (semantics R4.61).
        """
        return not self.is_evictable or not self.opt_out_actions.isdisjoint(fair_share_actions)

    @property
    def is_elastic(self) -> bool:
        """Whether it can lose tasks and still meet its minimum when all run (semantics R1.57)."""
        return self.root.has_surplus


def add_shares(a: Share, b: Share) -> Share:
    """Component-wise sum."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])
