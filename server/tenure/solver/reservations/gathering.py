"""Where capacity is gathered for a pod group whose start is not known (semantics R17.5, R17.7).

Pods without an end are counted as ended on the nodes of the known plan, then on those with the fewest,
until all tasks may fit. What becomes free there from then on is reserved, piece by piece. Otherwise those
that need less take it at once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.ends import end_of
from tenure.solver.model.resources import CPU, GPU
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.reservations.plugin import ReservedCapacity
from tenure.solver.reservations.timeline import fit_count
from tenure.solver.search.node_order import AllowedNodes, bits


class Endless(NamedTuple):
    """What runs on a node without an end."""

    pod_groups: tuple[int, ...]
    firm: int
    """GPUs of those that are not preemptible, in thousandths; cores if the node has no GPUs."""
    total: int


def endless_on_nodes(context: CycleContext) -> Mapping[int, Endless]:
    """Running pod groups without an end, by node."""
    session, cluster = context.session, context.session.cluster
    found: dict[int, tuple[dict[int, None], list[int]]] = {}
    for index in sorted(session.phases.running):
        group = cluster.pod_groups[index]
        if end_of(group, cluster.queues, cluster.now).likely is not None:
            continue
        for task in group.tasks:
            placement = session.ledger.placements[task]
            if not placement.is_active_allocated:
                continue
            slot = GPU if cluster.nodes[placement.node].allocatable[GPU] else CPU
            amount = cluster.tasks[task].shape.request[slot]
            groups, amounts = found.setdefault(placement.node, ({}, [0, 0]))
            groups[index] = None
            amounts[0] += 0 if group.is_preemptible else amount
            amounts[1] += amount
    return {node: Endless(tuple(groups), *amounts) for node, (groups, amounts) in found.items()}


def nodes_to_gather_on(
    context: CycleContext,
    endless: Mapping[int, Endless],
    shapes: Sequence[TaskShape],
    allowed: AllowedNodes,
    known: Iterable[int],
    busy: int,
) -> Iterator[int]:
    """Nodes on which more tasks of these shapes fit when what has no end has ended, in order.

    First those of the known plan, last those that are reserved for others (`busy`).
    """
    here = [node for node in sorted(known) if node in endless]
    yield from here
    accepting = 0
    for shape in shapes:
        accepting |= allowed.of(shape)
    ranked = [
        (busy >> node & 1, endless[node].firm, endless[node].total, node)
        for node in bits(accepting)
        if node in endless and node not in here and _gains(context, endless[node], shapes, node)
    ]
    yield from [node for _, _, _, node in sorted(ranked)]


def _gains(context: CycleContext, endless: Endless, shapes: Sequence[TaskShape], node: int) -> bool:
    ledger, cluster = context.session.ledger, context.session.cluster
    free = ledger.node_infos[node].idle.copy()
    free.add(ledger.node_infos[node].releasing)
    before = [fit_count(free, shape) for shape in shapes]
    for index in endless.pod_groups:
        for task in cluster.pod_groups[index].tasks:
            placement = ledger.placements[task]
            if placement.node == node and placement.is_active_allocated:
                free.add(ledger.charge(cluster.tasks[task].shape, node))
    return any(fit_count(free, shape) > count for shape, count in zip(shapes, before, strict=True))


def endless_behind(context: CycleContext, endless: Mapping[int, Endless], pod_group: int) -> list[int]:
    """What runs without an end and comes behind a pod group in its queue: its queue is due no less for it."""
    session, groups = context.session, context.session.cluster.pod_groups
    idle = [0] * len(session.ledger.active_allocated)
    queue, key = groups[pod_group].queue, session.pod_group_key(pod_group, idle)
    running = sorted({index for node in endless.values() for index in node.pod_groups})
    return [
        index
        for index in running
        if groups[index].queue == queue and session.pod_group_key(index, idle) > key
    ]


def held_without_start(reserved: ReservedCapacity, pod_group: int) -> int:
    """Nodes on which capacity is gathered for others, as bits."""
    nodes = 0
    for node, entries in reserved.nodes.by_node.items():
        if any(each.owner.start is None and each.owner.index != pod_group for each in entries):
            nodes |= 1 << node
    return nodes
