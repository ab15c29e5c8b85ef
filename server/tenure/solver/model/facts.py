"""Specifications of a cluster's entities: flat rows that refer to each other by name."""

from dataclasses import dataclass
from typing import Final

from tenure.solver.model.constraints import Labels
from tenure.solver.model.fast_dataclass import fast_dataclass
from tenure.solver.model.placement import Placement
from tenure.solver.model.requeue import NO_TERMS, RequeueSettings
from tenure.solver.model.resources import UNLIMITED, Share
from tenure.solver.model.workload import Preemptibility, TaskShape, TopologyConstraint

DEFAULT_SUB_GROUP: Final = "default"
"""Name of the only subgroup of a pod group that declares none (semantics R1.51)."""


@dataclass(frozen=True, slots=True)
class QueueSpec:
    """A queue that names its parent; empty: top level. Fields as in Queue."""

    name: str
    parent: str = ""
    creation: int = 0
    priority: int = 100
    quota: Share = (UNLIMITED, UNLIMITED, UNLIMITED)
    limit: Share = (UNLIMITED, UNLIMITED, UNLIMITED)
    weight: tuple[float, float, float] = (1.0, 1.0, 1.0)
    preempt_min_runtime: int | None = None
    reclaim_min_runtime: int | None = None
    expected_runtime: int | None = None
    requeue_delay: int | None = None


@fast_dataclass(slots=True, init=False)
class SubGroupSpec:
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


@fast_dataclass(slots=True, init=False)
class PodGroupSpec:
    """A pod group that names its queue. Fields as in PodGroup, times in nanoseconds."""

    uid: Final[str]
    queue: Final[str]
    name: Final[str]
    namespace: Final[str]
    priority: Final[int]
    preemptibility: Final[Preemptibility]
    min_member: Final[int | None]
    """Without subgroups only; None counts as 1 (semantics R1.50)."""
    min_sub_groups: Final[int | None]
    sub_groups: Final[tuple[SubGroupSpec, ...]]
    topology: Final[TopologyConstraint | None]
    creation: Final[int]
    last_start: Final[int | None]
    last_eviction: Final[int | None]
    stale_since: Final[int | None]
    staleness_grace_period: Final[int | None]
    preemption_delay: Final[int]
    requeue: Final[RequeueSettings]
    opt_out_actions: Final[frozenset[str]]
    eviction_count: Final[int]
    total_eviction_wait: Final[int]
    unknown_preemptibility: Final[str]

    def __init__(
        self,
        uid: str,
        queue: str,
        name: str = "",
        namespace: str = "",
        priority: int = 0,
        preemptibility: Preemptibility = Preemptibility.UNSPECIFIED,
        min_member: int | None = None,
        min_sub_groups: int | None = None,
        sub_groups: tuple[SubGroupSpec, ...] = (),
        topology: TopologyConstraint | None = None,
        creation: int = 0,
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
        self.uid = uid
        self.queue = queue
        self.name = name
        self.namespace = namespace
        self.priority = priority
        self.preemptibility = preemptibility
        self.min_member = min_member
        self.min_sub_groups = min_sub_groups
        self.sub_groups = sub_groups
        self.topology = topology
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


@fast_dataclass(slots=True, init=False)
class TaskSpec:
    """A task that names its pod group by uid and its subgroup by name. Fields as in Task."""

    uid: Final[str]
    pod_group: Final[str]
    shape: Final[TaskShape]
    placement: Final[Placement]
    name: Final[str]
    sub_group: Final[str]
    creation: Final[int]
    priority: Final[int | None]
    leader: Final[bool]
    nominated_node: Final[int]
    blocked_reason: Final[str]
    claims: Final[tuple[int, ...]]
    labels: Final[Labels]

    def __init__(
        self,
        uid: str,
        pod_group: str,
        shape: TaskShape,
        placement: Placement,
        name: str = "",
        sub_group: str = DEFAULT_SUB_GROUP,
        creation: int = 0,
        priority: int | None = None,
        leader: bool = False,
        nominated_node: int = -1,
        blocked_reason: str = "",
        claims: tuple[int, ...] = (),
        labels: Labels = (),
    ) -> None:
        self.uid = uid
        self.pod_group = pod_group
        self.shape = shape
        self.placement = placement
        self.name = name
        self.sub_group = sub_group
        self.creation = creation
        self.priority = priority
        self.leader = leader
        self.nominated_node = nominated_node
        self.blocked_reason = blocked_reason
        self.claims = claims
        self.labels = labels
