"""Options of nodes, queues, pod groups and pods, and their conversion to vectors of the model.

GPUs are numbers of devices (0.5 is a share of one), CPUs cores, memory GiB, durations text like `1h30m`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypedDict, cast

from tenure.solver.model.constraints import (
    Constraints,
    HostPort,
    OtherPods,
    PodAffinityTerm,
    PreferredNodes,
    PreferredPods,
    Requirement,
    Taint,
    Toleration,
    TopologySpread,
)
from tenure.solver.model.fate import Fate, HoldReason
from tenure.solver.model.node import MigStrategy, NumaPolicy
from tenure.solver.model.requeue import RequeueSettings
from tenure.solver.model.resources import (
    FIXED_SLOTS,
    GPU,
    WHOLE_GPU,
    Amounts,
    GpuRequest,
    device_slot,
    is_gpu_class,
    mig_gpu_milli,
)
from tenure.solver.model.workload_parts import Preemptibility, TaskShape, TopologyConstraint
from tenure.terms.formatting import known_names_hint


class NodeOptions(TypedDict, total=False):
    """Options of a node. Default: ready, 64 cores, 512 GiB, 110 pod slots, no GPU."""

    gpus: int
    cpus: float
    memory_gib: float
    pods: int
    extended: Mapping[str, int]
    """Other resources by name, MIG slices included."""
    gpu_memory_mib: int
    """Memory of each GPU; 0: unknown."""
    node_class: str
    labels: Mapping[str, str]
    taints: Sequence[Taint]
    unready: str
    mig_strategy: MigStrategy
    devices: Mapping[str, int]
    """Devices for resource claims, by class."""
    numa_policy: NumaPolicy
    numa_zones: Mapping[str, "ZoneOptions"]
    """NUMA zones by ID, lowest first."""
    other_pods: Sequence[OtherPods]


class ZoneOptions(TypedDict, total=False):
    """Amounts in one NUMA zone."""

    gpus: int
    cpus: float
    memory_gib: float


class ClaimOptions(TypedDict, total=False):
    """Options of a resource claim. Default: no queue label, no users besides pods of the cluster."""

    queue: str
    from_template: bool
    node: str
    other_consumers: int


class InFlightOptions(TypedDict, total=False):
    """Options of an in-flight group. Default: decided by reclaim, expires in five minutes.

    Its decisions are nodes by uids of pods.
    """

    beneficiary: str
    action: str
    expires_in: str
    evicts: Mapping[str, str]
    reserves: Mapping[str, str]
    binds: Mapping[str, str]
    gpu_groups: Mapping[str, Sequence[str]]
    """Shared devices by uids of pods with a reservation or binding."""


class QueueOptions(TypedDict, total=False):
    """Options of a queue. Default: unlimited."""

    parent: str
    created_ago: str
    """Default: the queue added first is the oldest."""
    priority: int
    quota: float
    """GPUs, as `limit` and `weight`. -1: unlimited."""
    limit: float
    weight: float
    cpu_quota: float
    cpu_limit: float
    cpu_weight: float
    memory_quota_gib: float
    memory_limit_gib: float
    memory_weight: float
    preempt_min_runtime: str
    reclaim_min_runtime: str
    max_min_runtime: str
    expected_runtime: str
    requeue_delay: str
    time_limit: str
    class_limits: Mapping[str, tuple[int, int]]
    """Quota and limit in GPUs by class of nodes; -1: unlimited."""
    lending_limit: float
    """GPUs."""
    max_running: int
    facts: Mapping[str, Any]
    """Other fields of QueueFacts."""


class GroupOptions(TypedDict, total=False):
    """Options of a pod group. Default: priority 50, started an hour ago."""

    queue: str
    namespace: str
    priority: int
    preemptibility: Preemptibility
    min_member: int
    """Default: all of its pods, if it has no subgroups."""
    min_sub_groups: int
    topology: TopologyConstraint
    started_ago: str | None
    """None: unknown."""
    evicted_ago: str
    created_ago: str
    """Default: the pod group added first is the oldest."""
    stale_ago: str
    staleness_grace_period: int
    """Nanoseconds; negative: unlimited."""
    preemption_delay: str
    never_evicts: bool
    expected_runtime: str
    requeue_delay: str
    requeue_in: str
    """Time until it may be nominated for a requeue."""
    min_runtime: str
    requeue: RequeueSettings
    """Replaces the four options before, for invalid values."""
    opt_out_actions: Sequence[str]
    eviction_count: int
    total_eviction_wait: str
    """Total time it waited after evictions."""
    evictions_without_progress: int
    on_evict: Fate
    on_time_limit: Fate
    suspendable: bool
    held_by: HoldReason
    start_in: str
    """Time until it may start; negative: since when."""
    eligible_ago: str
    depends_on: Sequence[str]
    """Names of pod groups."""
    evictions: Mapping[str, int]
    """By cause."""
    checkpoint_ago: str
    checkpoint_interval: str
    restart_cost: str
    eviction_cost: int
    """GPU-seconds."""
    shrink_loses_work: bool
    time_limit: str
    notice: str
    """Time between its notice and its eviction."""
    checkpoint_on_notice: bool
    last_notice_ago: str
    facts: Mapping[str, Any]
    """Other fields of PodGroupFacts."""


class PodOptions(TypedDict, total=False):
    """Options of a pod. Default: one core, one GiB, no GPU."""

    gpus: float
    devices: int
    """Number of devices to use a share of, if `gpus` is a share or memory is requested."""
    gpu_memory_mib: int
    """GPU memory instead of `gpus`."""
    cpus: float
    memory_gib: float
    extended: Mapping[str, int]
    node_selector: Mapping[str, str]
    node_affinity: Sequence[Sequence[Requirement]]
    tolerations: Sequence[Toleration]
    sub_group: str
    task_priority: int
    leader: bool
    nominated_node: str
    blocked_reason: str
    claims: Sequence[str]
    """Names of resource claims."""
    disruption_budgets: Sequence[str]
    """Names of disruption budgets."""
    labels: Mapping[str, str]
    pod_affinity: Sequence[PodAffinityTerm]
    pod_anti_affinity: Sequence[PodAffinityTerm]
    host_ports: Sequence[HostPort]
    topology_spread: Sequence[TopologySpread]
    preferred_nodes: Sequence[PreferredNodes]
    preferred_pods: Sequence[PreferredPods]
    preferred_spread: Sequence[TopologySpread]
    guaranteed: bool
    numa_placement: Mapping[str, ZoneOptions]
    """Use of the zones of its node, by ID."""


class JobOptions(GroupOptions, PodOptions, total=False):
    """Options of pods and their pod group together."""


def check_names(subject: str, given: Iterable[str], options: type) -> None:
    """Raise TypeError for a name that is not one of these options, with the nearest one."""
    known = tuple(options.__annotations__)
    for name in given:
        if name not in known:
            raise TypeError(f"{subject} has no option {name}; {known_names_hint(name, known)}")


def check_zones(subject: str, zones: Mapping[str, ZoneOptions]) -> None:
    """Raise TypeError for an option of a NUMA zone that does not exist."""
    for zone, options in zones.items():
        check_names(f"NUMA zone {zone} of {subject}", options, ZoneOptions)


def split(options: JobOptions) -> tuple[GroupOptions, PodOptions]:
    """Options of the pod group, and options of its pods."""
    of_group = GroupOptions.__annotations__
    group = {name: value for name, value in options.items() if name in of_group}
    pods = {name: value for name, value in options.items() if name not in of_group}
    return cast(GroupOptions, group), cast(PodOptions, pods)


CORE: Final = 1000
"""Milli-cores."""
GIB: Final = 1 << 30


class ShapeFactory:
    """Assigns shapes: equal requests have one shape."""

    def __init__(self, extended: Sequence[str]) -> None:
        self.names = (*FIXED_SLOTS, *extended)
        """Names of all resources, in slot order."""
        self.all: list[TaskShape] = []
        self._known: dict[tuple[object, ...], TaskShape] = {}

    def of(self, pod: PodOptions) -> TaskShape:
        """Shape of a pod."""
        gpu, extended = _gpu(pod), pod.get("extended", {})
        whole = 0 if gpu.is_shared else gpu.devices
        request = self.vector(pod.get("cpus", 1), pod.get("memory_gib", 1), whole, 1, extended)
        constraints, guaranteed = _constraints(pod), pod.get("guaranteed", False)
        key = (request, gpu, constraints, guaranteed)
        if key not in self._known:
            mig = sum(mig_gpu_milli(name) * count for name, count in extended.items())
            number = len(self.all)
            name = f"shape-{number}"
            self._known[key] = TaskShape(number, name, request, gpu, mig, constraints, guaranteed)
            self.all.append(self._known[key])
        return self._known[key]

    def devices(self, counts: Mapping[str, int]) -> Amounts:
        """Devices by the slot of their class; GPUs in the GPU slot too."""
        amounts = {self.names.index(device_slot(name)): count for name, count in counts.items()}
        gpus = sum(count for name, count in counts.items() if is_gpu_class(name))
        return tuple(sorted({**amounts, **({GPU: gpus * WHOLE_GPU} if gpus else {})}.items()))

    def vector(
        self, cpus: float, memory_gib: float, gpus: int, pods: int, extended: Mapping[str, int]
    ) -> tuple[int, ...]:
        """One amount per slot."""
        fixed = (round(cpus * CORE), round(memory_gib * GIB), gpus * WHOLE_GPU, pods)
        return (*fixed, *(extended.get(name, 0) for name in self.names[len(FIXED_SLOTS) :]))


def _gpu(pod: PodOptions) -> GpuRequest:
    gpus, memory = pod.get("gpus", 0), pod.get("gpu_memory_mib", 0)
    if memory:
        return GpuRequest(pod.get("devices", 1), 0, memory)
    if 0 < gpus < 1:
        return GpuRequest(pod.get("devices", 1), round(gpus * WHOLE_GPU))
    if gpus != int(gpus):
        raise ValueError(f"gpus={gpus}: ask for whole devices, or for a share of one, less than 1")
    return GpuRequest(int(gpus))


def _constraints(pod: PodOptions) -> Constraints:
    return Constraints(
        tuple(sorted(pod.get("node_selector", {}).items())),
        tuple(tuple(term) for term in pod.get("node_affinity", ())),
        tuple(pod.get("tolerations", ())),
        tuple(pod.get("pod_affinity", ())),
        tuple(pod.get("pod_anti_affinity", ())),
        tuple(pod.get("host_ports", ())),
        tuple(pod.get("topology_spread", ())),
        tuple(pod.get("preferred_nodes", ())),
        tuple(pod.get("preferred_pods", ())),
        tuple(pod.get("preferred_spread", ())),
    )
