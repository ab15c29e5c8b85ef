"""Status of every pod after a cycle, and in-flight groups from options."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tenure.solver.model.caller_state import InFlightDecision, InFlightGroup
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult
from tenure.solver.model.node import Node
from tenure.solver.model.persistent_vector import PersistentVector
from tenure.solver.model.placement import NOWHERE, TaskStatus
from tenure.solver.model.workload import PodGroup, Task
from tenure.solver.play.next_cluster import placements
from tenure.solver.testing.facts import NOW
from tenure.solver.testing.options import InFlightOptions
from tenure.terms.durations import parse_duration


def in_flight_groups(
    named: Mapping[str, InFlightOptions],
    pod_groups: PersistentVector[PodGroup],
    tasks: PersistentVector[Task],
    nodes: Mapping[str, Node],
) -> tuple[InFlightGroup, ...]:
    """In-flight groups by ID. A missing pod belongs to the pod group that its uid starts with."""
    groups = {group.facts.uid: group.index for group in pod_groups}
    pods = {task.facts.uid: task.index for task in tasks}

    def steps(where: Mapping[str, str], devices: Mapping[str, Sequence[str]]) -> Iterator[InFlightDecision]:
        for pod, name in where.items():
            yield InFlightDecision(
                pod=pod,
                task=pods.get(pod, NOWHERE),
                node=nodes[name].index if name in nodes else NOWHERE,
                pod_group=groups.get(pod.rpartition("-")[0], NOWHERE),
                gpu_groups=tuple(devices.get(pod, ())),
            )

    return tuple(
        InFlightGroup(
            id=name,
            action=options.get("action", "reclaim"),
            beneficiary=groups.get(options.get("beneficiary", ""), NOWHERE),
            expire_time=NOW + parse_duration(options.get("expires_in", "5m")),
            evictions=tuple(steps(options.get("evicts", {}), {})),
            reservations=tuple(steps(options.get("reserves", {}), options.get("gpu_groups", {}))),
            bindings=tuple(steps(options.get("binds", {}), options.get("gpu_groups", {}))),
        )
        for name, options in sorted(named.items())
    )


class TaskState(NamedTuple):
    """Node (empty: none) and status of a pod."""

    status: TaskStatus
    node: str


def statuses(cluster: Cluster, decision: CycleResult) -> dict[str, TaskState]:
    """Status and node of every pod when the decisions are applied, by uid."""
    names = {NOWHERE: "", **{node.index: node.facts.name for node in cluster.nodes}}
    after = placements(cluster, decision.groups)
    return {
        task.facts.uid: TaskState(after[task.index].status, names[after[task.index].node])
        for task in cluster.tasks
    }


def evictions(decision: CycleResult) -> Iterator[int]:
    """Evicted tasks, relocated ones included."""
    return (evict.task for group in decision.groups for evict in group.evictions)
