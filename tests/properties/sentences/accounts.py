"""Accounts of GPUs: they add up, and what is free and given is what the decisions leave."""

import re
from collections.abc import Iterator
from typing import Final

from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.resources import GPU
from tenure.solver.model.workload_parts import TaskShape

from tests.properties.sentences.applied import PLACED
from tests.properties.sentences.case import Case, Said, amount, number

_ROUNDING: Final = 0.006
"""Of each printed amount."""
_PART: Final = re.compile(r"([\d.,]+) (free|of terminating pods|given to other pod groups in this cycle|.*)")


def usable_nodes(case: Case, pod_group: int) -> set[int]:
    """Nodes that the first pending pod may use: ready, selected and tolerated, with enough in all."""
    shape = next_shape(case, pod_group)
    return {
        node.index
        for node in case.cluster.nodes
        if not node.unready
        and shape.constraints.selects(node.facts.labels)
        and shape.constraints.untolerated(node.taints) is None
    }


def next_shape(case: Case, pod_group: int) -> TaskShape:
    """The shape of a pod that waits."""
    tasks = [case.cluster.tasks[task] for task in case.cluster.pod_groups[pod_group].tasks]
    return next(
        task.shape
        for task in tasks
        if case.after[task.index].status in (TaskStatus.PENDING, TaskStatus.GATED)
    )


def gpus_of(shape: TaskShape) -> float:
    """GPUs that a pod asks for."""
    return shape.gpu.gpu_milli() / 1000


def account(case: Case, said: Said) -> Iterator[str]:
    """Of N GPUs on nodes that it may use: each part is named once, and all of them are N."""
    total, parts = amount(said.parts[0]), [part.strip() for part in said.parts[1].split(", ")]
    amounts = {match[2]: amount(match[1]) for part in parts if (match := re.match(r"([\d.,]+) (.*)", part))}
    slack = _ROUNDING * (len(amounts) + 1)
    if abs(sum(amounts.values()) - total) > slack:
        yield f"{said.text} The parts are {sum(amounts.values()):g}"
    nodes = usable_nodes(case, said.about)
    exists = sum(case.cluster.nodes[node].allocatable[GPU] for node in nodes) / 1000
    if abs(exists - total) > slack:
        yield f"{said.text} These nodes have {exists:g}"
    if (left := _free_after(case, nodes)) is not None and abs(left - amounts.get("free", 0)) > slack:
        yield f"{said.text} After the decisions, {left:g} are free"


def _free_after(case: Case, nodes: set[int]) -> float | None:
    """GPUs of nodes that nothing has or is given; None where devices are shared or moved within a node."""
    left = 0.0
    for node in nodes:
        used = leaving = promised = 0.0
        for task in case.cluster.tasks:
            place = case.after[task.index]
            if task.shape.gpu.is_shared:
                return None
            needs = gpus_of(task.shape)
            if place.previous is not None and place.previous.node == node:
                leaving += needs
            if place.node != node:
                continue
            if place.status is TaskStatus.RELEASING:
                leaving += needs
            elif place.status is TaskStatus.PIPELINED:
                promised += needs
            elif place.status.is_active_used:
                used += needs
        has = case.cluster.nodes[node].allocatable[GPU] / 1000
        left += max(0, has - used - leaving - max(0, promised - leaving))
    return left if not case.cluster.in_flight and not case.decision.planned_starts else None


def fragments(case: Case, said: Said) -> Iterator[str]:
    """N are free on nodes that it may use, at most M on one node; each of its pods needs K."""
    free, largest, needs = (amount(part) for part in said.parts)
    if largest >= needs > 0 and free < needs:
        yield f"{said.text} These amounts contradict each other"
    if largest > free:
        yield f"{said.text} One node has more than all"
    if needs != gpus_of(next_shape(case, said.about)) and not next_shape(case, said.about).gpu.is_shared:
        yield f"{said.text} It asks for {gpus_of(next_shape(case, said.about)):g}"


def position(case: Case, said: Said) -> Iterator[str]:
    """It is number P of N pending pod groups of its queue: N wait there, and P is one of them."""
    place, total = number(said.parts[0]), number(said.parts[1])
    queue = case.cluster.pod_groups[said.about].queue
    waiting = [
        each
        for each in case.decision.outcomes
        if case.cluster.pod_groups[each.pod_group].queue == queue
        and (each.kind not in PLACED or each.pending)
    ]
    if not 1 < place <= total or total > len(waiting):
        yield f"{said.text} {len(waiting)} wait"
    urgent = sum(
        case.cluster.pod_groups[each.pod_group].facts.priority
        > case.cluster.pod_groups[said.about].facts.priority
        for each in waiting
        if each.kind not in PLACED and each.kind.name not in ("HELD", "INVALID_POD_GROUP")
    )
    if place <= urgent and "aging" not in [plugin.name for plugin in case.profile.plugins]:
        yield f"{said.text} {urgent} have a higher priority"
