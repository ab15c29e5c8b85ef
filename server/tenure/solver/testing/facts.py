"""From options to the nodes of the model and to the specs that `resolution.reference_resolution` links."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, NamedTuple, TypeVar

from tenure.solver.model.claims import ResourceClaim
from tenure.solver.model.facts import (
    NO_VICTIM_FACTS,
    NodeFacts,
    PodGroupFacts,
    QueueFacts,
    TaskFacts,
    VictimFacts,
)
from tenure.solver.model.fate import NO_EVICTIONS, Fate, HoldReason
from tenure.solver.model.node import MigStrategy, Node, NumaPolicy, NumaZone
from tenure.solver.model.placement import NOWHERE, NumaPlacement, Placement, TaskStatus, Zones
from tenure.solver.model.requeue import ParsedValue, RequeueSettings
from tenure.solver.model.resources import GPU, MIG_PREFIX, UNLIMITED, WHOLE_GPU, ClassLimit, Share, Vector
from tenure.solver.model.workload_parts import DEFAULT_SUB_GROUP, Preemptibility, SubGroupFacts, TaskShape
from tenure.solver.testing.options import (
    CORE,
    GIB,
    ClaimOptions,
    GroupOptions,
    NodeOptions,
    PodOptions,
    QueueOptions,
    ShapeFactory,
    ZoneOptions,
)
from tenure.terms.durations import SECOND, parse_duration, parse_signed_duration
from tenure.terms.formatting import known_names_hint

_Facts = TypeVar("_Facts", QueueFacts, PodGroupFacts)
NOW: Final = 1_750_000_000 * SECOND
"""Time of every built cluster, in nanoseconds since the Unix epoch."""
FIRST_CREATION: Final = NOW - parse_duration("1d")
"""Creation time of the first queue and pod group; each further one is a second later."""
UNKNOWN_GPU_MEMORY_MIB: Final = 100

Nodes = Mapping[str, Node]
"""Nodes by name."""


@dataclass(slots=True)
class GroupPlan:
    """A pod group under construction."""

    options: GroupOptions
    sub_groups: list[SubGroupFacts]
    pods: int = 0


class PodPlan(NamedTuple):
    """A pod under construction."""

    group: str
    uid: str
    status: TaskStatus
    node: str
    gpu_groups: tuple[str, ...]
    options: PodOptions


def node(index: int, name: str, options: NodeOptions, shapes: ShapeFactory) -> Node:
    """Node with this index."""
    extended = options.get("extended", {})
    amounts = list(
        shapes.vector(
            options.get("cpus", 64),
            options.get("memory_gib", 512),
            options.get("gpus", 0),
            options.get("pods", 110),
            extended,
        )
    )
    devices = shapes.devices(options.get("devices", {}))
    for slot, amount in devices:
        amounts[slot] += amount
    memory = options.get("gpu_memory_mib", 0)
    return Node(
        index=index,
        facts=NodeFacts(
            name=name,
            labels=dict(options.get("labels", {})),
            node_class=options.get("node_class", ""),
        ),
        allocatable=tuple(amounts),
        gpu_memory_mib=memory or UNKNOWN_GPU_MEMORY_MIB,
        gpu_memory_known=memory > 0,
        taints=tuple(options.get("taints", ())),
        unready=options.get("unready", ""),
        mig_strategy=options.get("mig_strategy", MigStrategy.NONE),
        has_mig=any(resource.startswith(MIG_PREFIX) for resource in extended),
        claimable_gpu_milli=dict(devices).get(GPU, 0),
        numa_policy=options.get("numa_policy", NumaPolicy.NONE),
        numa_zones=tuple(
            NumaZone(zone, _zone_vector(zone_options, shapes))
            for zone, zone_options in options.get("numa_zones", {}).items()
        ),
        other_pods=tuple(options.get("other_pods", ())),
    )


def claim(
    index: int,
    name: str,
    devices: Mapping[str, int],
    options: ClaimOptions,
    shapes: ShapeFactory,
    nodes: Nodes,
) -> ResourceClaim:
    """Resource claim with this index."""
    return ResourceClaim(
        index=index,
        id=name,
        amounts=shapes.devices(devices),
        queue_name=options.get("queue", ""),
        from_template=options.get("from_template", False),
        node=nodes[options["node"]].index if "node" in options else NOWHERE,
        other_consumers=options.get("other_consumers", 0),
    )


def queue_spec(number: int, name: str, options: QueueOptions) -> QueueFacts:
    """Queue that was added after `number` others."""
    found = QueueFacts(
        name=name,
        parent_name=options.get("parent", ""),
        creation=_created(number, options.get("created_ago")),
        priority=options.get("priority", 100),
        quota=_share(
            options.get("cpu_quota", UNLIMITED),
            options.get("memory_quota_gib", UNLIMITED),
            options.get("quota", UNLIMITED),
        ),
        limit=_share(
            options.get("cpu_limit", UNLIMITED),
            options.get("memory_limit_gib", UNLIMITED),
            options.get("limit", UNLIMITED),
        ),
        weight=(options.get("cpu_weight", 1), options.get("memory_weight", 1), options.get("weight", 1)),
        preempt_min_runtime=_nanoseconds(options.get("preempt_min_runtime")),
        reclaim_min_runtime=_nanoseconds(options.get("reclaim_min_runtime")),
        expected_runtime=_nanoseconds(options.get("expected_runtime")),
        max_min_runtime=_nanoseconds(options.get("max_min_runtime")),
        requeue_delay=_nanoseconds(options.get("requeue_delay")),
        time_limit=_nanoseconds(options.get("time_limit")),
        max_running=options.get("max_running"),
        lending_limit=_share(UNLIMITED, UNLIMITED, options.get("lending_limit", UNLIMITED)),
        class_limits=_class_limits(options),
    )
    return _with_facts(found, options.get("facts", {}))


def _with_facts(found: _Facts, given: Mapping[str, Any]) -> _Facts:
    """Facts with these values in place of what other options give.

    Raises TypeError for a fact that does not exist.
    """
    known = tuple([field.name for field in fields(found)])
    for name in given:
        if name not in known:
            raise TypeError(f"{type(found).__name__} has no fact {name}; {known_names_hint(name, known)}")
    return replace(found, **given)


def _class_limits(options: QueueOptions) -> tuple[ClassLimit, ...]:
    limits = [
        ClassLimit(name, quota * 1_000 if quota >= 0 else quota, limit * 1_000 if limit >= 0 else limit)
        for name, (quota, limit) in sorted(options.get("class_limits", {}).items())
    ]
    return tuple(limits)


def group_spec(number: int, name: str, plan: GroupPlan) -> PodGroupFacts:
    """Pod group that was added after `number` others."""
    options = plan.options
    found = PodGroupFacts(
        uid=name,
        queue_name=options.get("queue", ""),
        name=name,
        namespace=options.get("namespace", ""),
        priority=options.get("priority", 50),
        preemptibility=options.get("preemptibility", Preemptibility.UNSPECIFIED),
        min_member=None if plan.sub_groups else options.get("min_member", plan.pods),
        min_sub_groups=options.get("min_sub_groups"),
        sub_groups=tuple(plan.sub_groups),
        topology=options.get("topology"),
        creation=_created(number, options.get("created_ago")),
        last_start=_ago(options.get("started_ago", "1h")),
        last_eviction=_ago(options.get("evicted_ago")),
        stale_since=_ago(options.get("stale_ago")),
        staleness_grace_period=options.get("staleness_grace_period"),
        preemption_delay=_nanoseconds(options.get("preemption_delay")) or 0,
        never_evicts=options.get("never_evicts", False),
        requeue=options.get("requeue", _requeue_terms(options)),
        opt_out_actions=frozenset(options.get("opt_out_actions", ())),
        eviction_count=options.get("eviction_count", 0),
        total_eviction_wait=_nanoseconds(options.get("total_eviction_wait")) or 0,
        evictions_without_progress=options.get("evictions_without_progress", 0),
        victim=_victim_facts(options),
    )
    return _with_facts(found, options.get("facts", {}))


def _victim_facts(options: GroupOptions) -> VictimFacts:
    found = VictimFacts(
        on_evict=options.get("on_evict", Fate.UNSPECIFIED),
        on_time_limit=options.get("on_time_limit", Fate.UNSPECIFIED),
        suspendable=options.get("suspendable", False),
        held_by=options.get("held_by", _delay(options)),
        not_before=NOW + parse_signed_duration(options["start_in"]) if "start_in" in options else None,
        eligible=_ago(options.get("eligible_ago")),
        depends_on=tuple(options.get("depends_on", ())),
        evictions=options.get("evictions", NO_EVICTIONS),
        last_checkpoint=_ago(options.get("checkpoint_ago")),
        checkpoint_interval=_nanoseconds(options.get("checkpoint_interval")) or 0,
        restart_cost=_nanoseconds(options.get("restart_cost")) or 0,
        eviction_cost=options.get("eviction_cost", 0),
        shrink_loses_work=options.get("shrink_loses_work", False),
        notice=_nanoseconds(options.get("notice")),
        checkpoint_on_notice=options.get("checkpoint_on_notice", False),
        last_notice=_ago(options.get("last_notice_ago")),
        time_limit=_nanoseconds(options.get("time_limit")) or 0,
    )
    return NO_VICTIM_FACTS if found == NO_VICTIM_FACTS else found


def _delay(options: GroupOptions) -> HoldReason:
    return HoldReason.NOT_BEFORE if "start_in" in options else HoldReason.UNSPECIFIED


def _requeue_terms(options: GroupOptions) -> RequeueSettings:
    wait = _nanoseconds(options.get("requeue_in"))
    return RequeueSettings(
        ParsedValue(_nanoseconds(options.get("expected_runtime"))),
        ParsedValue(_nanoseconds(options.get("requeue_delay"))),
        ParsedValue(None if wait is None else NOW + wait),
        ParsedValue(_nanoseconds(options.get("min_runtime"))),
    )


def task_spec(
    pod: PodPlan, shape: TaskShape, nodes: Nodes, claims: Mapping[str, int], shapes: ShapeFactory
) -> TaskFacts:
    """Pod with its node, if any."""
    options = pod.options
    placement = Placement(pod.status)
    if pod.node:
        devices = range(shape.gpu.devices if shape.gpu.is_shared else 0)
        groups = pod.gpu_groups or tuple(f"{pod.node}/gpu-{number}" for number in devices)
        on_node = nodes[pod.node]
        zones = _zones(options.get("numa_placement", {}), on_node, shapes)
        placement = Placement(pod.status, on_node.index, groups, zones=zones)
    nominated = options.get("nominated_node")
    return TaskFacts(
        uid=pod.uid,
        pod_group=pod.group,
        shape=shape,
        placement=placement,
        name=pod.uid,
        sub_group=options.get("sub_group", DEFAULT_SUB_GROUP),
        priority=options.get("task_priority"),
        leader=options.get("leader", False),
        nominated_node=nodes[nominated].index if nominated else NOWHERE,
        blocked_reason=options.get("blocked_reason", ""),
        claims=tuple(sorted(claims[name] for name in options.get("claims", ()))),
        labels=tuple(sorted(options.get("labels", {}).items())),
        disruption_budgets=tuple(options.get("disruption_budgets", ())),
    )


def _zones(placement: Mapping[str, ZoneOptions], node: Node, shapes: ShapeFactory) -> Zones:
    position = {zone.id: at for at, zone in enumerate(node.numa_zones)}
    shares = []
    for zone, options in placement.items():
        amounts = _zone_vector(options, shapes)
        taken = tuple((slot, amount) for slot, amount in enumerate(amounts) if amount)
        shares.append(NumaPlacement(position[zone], taken))
    return tuple(sorted(shares))


def _zone_vector(zone: ZoneOptions, shapes: ShapeFactory) -> Vector:
    return shapes.vector(zone.get("cpus", 0), zone.get("memory_gib", 0), zone.get("gpus", 0), 0, {})


def _share(cpus: float, memory_gib: float, gpus: float) -> Share:
    return (_bound(cpus, CORE), _bound(memory_gib, GIB), _bound(gpus, WHOLE_GPU))


def _bound(amount: float, unit: int) -> int:
    return UNLIMITED if amount == UNLIMITED else round(amount * unit)


def _created(number: int, ago: str | None) -> int:
    return FIRST_CREATION + number * SECOND if ago is None else NOW - parse_duration(ago)


def _nanoseconds(duration: str | None) -> int | None:
    return None if duration is None else parse_duration(duration)


def _ago(duration: str | None) -> int | None:
    return None if duration is None else NOW - parse_signed_duration(duration)
