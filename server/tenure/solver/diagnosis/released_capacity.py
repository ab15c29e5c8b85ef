"""Which waiting pod groups fit on what the evictions of this cycle release beyond their purpose.

An evicted gang may release more than its preemptor uses. The rest is free in a later cycle, whatever else
keeps a pod group waiting now (semantics R13.40).
"""

from collections.abc import Container, Hashable, Iterable, Sequence
from contextlib import ExitStack, suppress
from typing import Final

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.diagnosis.kept_capacity import kept_key
from tenure.solver.framework.session import Session
from tenure.solver.framework.stop_signal import CycleStopped
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.rejection import Rejection
from tenure.terms.reasons import ReasonCode

MAX_PLACED: Final = 64
"""Pod groups in queue order that are placed."""
SEARCHED: Final = (
    ReasonCode.NO_SOLUTION,
    ReasonCode.INSUFFICIENT_RESOURCES,
    ReasonCode.SIMILAR_FAILED,
    ReasonCode.OVER_FAIR_SHARE,
    ReasonCode.WITHIN_FAIR_SHARE,
)
"""Rejections of searches for capacity. Those that dominate them are bounds and times, which stand."""
RELEASED: Final = Rejection(
    ReasonCode.NO_CAPACITY, "pods that are being evicted for others release enough for it", source="release"
)


def find_released(context: CycleContext, waiting: Sequence[int], placed: Container[int]) -> list[int]:
    """Pod groups that fit beside those before them in queue order. Those in `placed` have capacity."""
    session, found, failed = context.session, list[int](), set[Hashable]()
    places = _nodes_with_evictions(session)
    if not places:
        return found
    open_groups = {pod_group for pod_group in waiting if _is_open(session.rejections.get(pod_group))}
    with suppress(CycleStopped), ExitStack() as others:
        if not _fits_any(context, open_groups, places):
            return found
        queue, nodes = context.pending(lambda group: None), context.components.node_order.all_nodes
        while len(found) + len(failed) < MAX_PLACED and (entry := queue.pop()) is not None:
            pod_group = entry.pod_group
            if pod_group not in open_groups or pod_group in placed:
                continue
            tasks = context.gangs.tasks_to_allocate(pod_group)
            group = session.cluster.pod_groups[pod_group]
            kind = (group.queue, kept_key(session, group), *_shapes(context, tasks))
            if not tasks or kind in failed:
                continue
            trial = others.enter_context(session.statement())
            is_full = context.placer.capacity(pod_group, tasks) is not None
            if is_full or context.placer.place(trial, pod_group, tasks, nodes) is not None:
                failed.add(kind)
            else:
                found.append(pod_group)
    return found


def _nodes_with_evictions(session: Session) -> set[int]:
    return {
        move.before.node
        for commit in session.commits
        if commit.frees_for_others
        for move in commit.moves
        if move.after.status is TaskStatus.RELEASING
    }


def _is_open(rejection: Rejection | None) -> bool:
    return rejection is not None and (rejection.code in SEARCHED or rejection.until is not None)


def _fits_any(context: CycleContext, pod_groups: Iterable[int], nodes: Iterable[int]) -> bool:
    """Whether the first pod of any of these fits on any of these nodes."""
    first = [tasks[0] for each in pod_groups if (tasks := context.gangs.tasks_to_allocate(each))]
    shapes = {shape.index: shape for shape in (context.session.cluster.tasks[task].shape for task in first)}
    fits = context.session.ledger.fits_soon
    return any(fits(shape, node) for shape in shapes.values() for node in nodes)


def _shapes(context: CycleContext, tasks: Sequence[int]) -> list[int]:
    return [context.session.cluster.tasks[task].shape.index for task in tasks]
