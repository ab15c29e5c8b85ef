"""Random small clusters: a few nodes, queues and pod groups with every feature that affects decisions.

Running pods fit their nodes, and nearly all pod groups run with their minimum or not at all. Every name,
number and time is fixed by the choices. The same choices give the same cluster in whatever order it is built.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.constraints import (
    HostPort,
    Operator,
    PodAffinityTerm,
    PreferredNodes,
    PreferredPods,
    Requirement,
    TopologySpread,
)
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.testing import ClusterBuilder
from tenure.solver.testing.options import GroupOptions, PodOptions

from tests.properties.generators.draw import Draw
from tests.properties.generators.sub_group_structure import SubGroupStructure, random_structure

Step = Callable[[ClusterBuilder], object]
MIN_RUNTIMES: Final = (None, None, "0", "5m", "2h")
STARTED: Final = ("1h", "10m", "1m", None)
PRIORITIES: Final = (50, 50, 75, 90, 100, 125)
KINDS: Final = (
    Preemptibility.SEMI_PREEMPTIBLE,
    Preemptibility.SEMI_PREEMPTIBLE,
    Preemptibility.PREEMPTIBLE,
    Preemptibility.NON_PREEMPTIBLE,
)
OPT_OUTS: Final = (["reclaim"], ["preempt"], ["consolidation"], ["requeue"], ["reclaim", "preempt"])
Place = tuple[TaskStatus, str, tuple[str, ...]]
"""Status, node and shared devices of a pod."""


@dataclass(slots=True)
class NodeCapacity:
    """Free amounts of a node while running pods are placed on it."""

    name: str
    gpus: int
    cpus: int
    devices: dict[str, float] = field(default_factory=dict)

    def allocate(self, gpus: float, cpus: int) -> tuple[str, ...] | None:
        """Devices of a pod with a GPU share (none for other pods), or None if the pod does not fit."""
        if cpus > self.cpus:
            return None
        groups: tuple[str, ...] = ()
        if 0 < gpus < 1:
            device = next((name for name, free in self.devices.items() if free >= gpus), None)
            if device is None and self.gpus:
                device = f"{self.name}/gpu-{len(self.devices)}"
                self.devices[device] = 1.0
                self.gpus -= 1
            if device is None:
                return None
            self.devices[device] = round(self.devices[device] - gpus, 2)
            groups = (device,)
        elif gpus > self.gpus:
            return None
        else:
            self.gpus -= int(gpus)
        self.cpus -= cpus
        return groups


def draw_steps(draw: Draw, beside: Draw | None = None) -> list[Step]:
    """Draw the calls of a builder. The calls may be made in any order.

    `beside`: choices of constraints on other pods; None: there are none.
    """
    capacities, steps = _nodes(draw)
    leaves = _queues(draw, steps)
    for number in range(draw.integer(2, 9)):
        more = PodOptions() if beside is None else _constraints(beside)
        steps.append(_job(draw, f"job{number}", number, draw.choice(leaves), capacities, more))
    return steps


def _constraints(draw: Draw) -> PodOptions:
    """Host ports, affinities and topology spread, required and preferred, of few kinds, so that they meet."""
    pod: PodOptions = {"labels": {"app": draw.choice("xy")}}
    if draw.chance(35):
        pod["host_ports"] = [HostPort(draw.choice((80, 443)), ip=draw.choice(("", "10.0.0.1")))]
    if draw.chance(35):
        labels, least = (("app", draw.choice("xy")),), draw.integer(1, 2)
        pod["topology_spread"] = [TopologySpread("zone", draw.integer(1, 2), labels, min_domains=least)]
    if draw.chance(20):
        pod["pod_anti_affinity"] = [PodAffinityTerm((("app", draw.choice("xy")),), "zone")]
    if draw.chance(35):
        weight, term = draw.choice((-50, 1, 50)), PodAffinityTerm((("app", draw.choice("xy")),), "zone")
        pod["preferred_pods"] = [PreferredPods(weight, term)]
    if draw.chance(20):
        pod["preferred_spread"] = [TopologySpread("zone", 1, (("app", draw.choice("xy")),))]
    if draw.chance(20):
        zone = Requirement("zone", Operator.IN, (draw.choice("ab"),))
        pod["preferred_nodes"] = [PreferredNodes(draw.integer(1, 100), (zone,))]
    return pod


def build(steps: Sequence[Step]) -> Cluster:
    """Build the cluster of these calls."""
    builder = ClusterBuilder()
    for step in steps:
        step(builder)
    return builder.build()


def random_cluster(draw: Draw, beside: Draw | None = None) -> Cluster:
    """Build a cluster of random choices; `beside` are those of constraints on other pods, if any."""
    return build(draw_steps(draw, beside))


def _nodes(draw: Draw) -> tuple[list[NodeCapacity], list[Step]]:
    capacities, steps = [], []
    for number in range(draw.integer(1, 4)):
        capacity = NodeCapacity(f"n{number}", draw.choice((2, 4, 1, 0)), draw.choice((64, 8, 3)))
        options = {"gpus": capacity.gpus, "cpus": capacity.cpus, "labels": {"zone": draw.choice("ab")}}
        if draw.chance(5):
            options["unready"] = "cordoned"
        steps.append(lambda builder, name=capacity.name, options=options: builder.node(name, **options))
        capacities.append(capacity)
    return capacities, steps


def _queues(draw: Draw, steps: list[Step]) -> list[str]:
    """Add leaf queues below one or two departments, or at the top level."""
    leaves = []
    departments = ["", "dept-a", "dept-b"][: draw.integer(1, 3)]
    for number, name in enumerate(departments[1:]):
        steps.append(_queue(draw, name, "", number))
    for number in range(draw.integer(1, 4)):
        name = f"q{number}"
        # A department without children is a leaf itself, so the first leaves fill the departments.
        parent = departments[1:][number] if number < len(departments) - 1 else draw.choice(departments)
        steps.append(_queue(draw, name, parent, 10 + number))
        leaves.append(name)
    return leaves


def _queue(draw: Draw, name: str, parent: str, number: int) -> Step:
    options = {
        "parent": parent,
        "created_ago": f"{30 - number}h",
        "quota": draw.choice((2, 1, 0, 4, -1)),
        "weight": draw.choice((1, 1, 0, 2)),
        "limit": draw.choice((-1, -1, -1, -1, -1, 1, 3)),
        "priority": draw.choice((100, 100, 200)),
        "cpu_quota": draw.choice((-1, -1, -1, -1, 2, 8)),
        "preempt_min_runtime": draw.choice(MIN_RUNTIMES),
        "reclaim_min_runtime": draw.choice(MIN_RUNTIMES),
    }
    return lambda builder: builder.queue(name, **options)


def _job(
    draw: Draw, name: str, number: int, queue: str, capacities: list[NodeCapacity], more: PodOptions
) -> Step:
    group: GroupOptions = {
        "queue": queue,
        "priority": draw.choice(PRIORITIES),
        "created_ago": f"{500 - number}m",
        "started_ago": draw.choice(STARTED),
    }
    if draw.chance(10):
        group["preemption_delay"] = "9h"
    if draw.chance(35):
        group["preemptibility"] = draw.choice(KINDS)
    if draw.chance(12):
        group["opt_out_actions"] = draw.choice(OPT_OUTS)
    pod: PodOptions = {"gpus": draw.choice((1, 1, 2, 0.5, 0.3, 0)), "cpus": draw.choice((1, 1, 2))}
    if draw.chance(10):
        pod["node_selector"] = {"zone": draw.choice("ab")}
    pod.update(more)
    is_semi = group.get("preemptibility") is Preemptibility.SEMI_PREEMPTIBLE
    parts = random_structure(draw, draw.integer(2 if is_semi else 1, 5), is_elastic=is_semi)
    running = _running(draw, parts, pod, capacities)
    return lambda builder: _add_pod_group(builder, name, group, pod, parts, running)


def _running(
    draw: Draw, parts: SubGroupStructure, pod: PodOptions, capacities: list[NodeCapacity]
) -> dict[int, Place]:
    """Placements of the running pods of a job: at least its minimum or none. A few jobs lose a pod again."""
    if not draw.chance(80):
        return {}
    start, wanted = draw.integer(0, len(capacities) - 1), draw.integer(parts.needed, len(parts.pods))
    status = TaskStatus.RELEASING if draw.chance(8) else TaskStatus.RUNNING
    places: list[Place] = []
    for _ in range(wanted):
        for capacity in capacities[start:] + capacities[:start]:
            groups = capacity.allocate(pod["gpus"], int(pod["cpus"]))
            if groups is not None:
                places.append((status, capacity.name, groups))
                break
    if len(places) < parts.needed:
        return {}
    found = dict(enumerate(places))
    if draw.chance(5):
        del found[draw.integer(0, len(found) - 1)]
    return found


def _add_pod_group(
    builder: ClusterBuilder,
    name: str,
    group: GroupOptions,
    pod: PodOptions,
    parts: SubGroupStructure,
    running: Mapping[int, Place],
) -> None:
    builder.pod_group(name, **{**group, **parts.minimum})
    parts.add_to(builder, name)
    for number, part in enumerate(parts.pods):
        of_part: PodOptions = {**pod, "sub_group": part} if part else pod
        if number in running:
            status, node, groups = running[number]
            builder.pods(name, status, node=node, gpu_groups=groups, **of_part)
        else:
            builder.pending(name, **of_part)
