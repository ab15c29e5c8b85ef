"""Consolidation: move running pod groups together so that scattered room becomes usable (semantics 6.3)."""

from collections.abc import Callable
from typing import Final

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.actions.eviction_action import EvictionAction
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.workload import PodGroup, TaskShape
from tenure.solver.plugin_api.scenario import Scenario
from tenure.terms.reasons import ReasonCode

_NOT_FOR_ALL: Final = Rejection(
    ReasonCode.INSUFFICIENT_RESOURCES, "others are moved for preemptible pods only"
)

_ITSELF: Final = Rejection(ReasonCode.NO_SOLUTION, "it does not make room for itself")


def consolidation(context: CycleContext) -> None:
    """Let every pod group that waits ask anybody to move."""
    if context.session.options.max_consolidation_victims:
        consolidation_action(context).run()


def consolidation_action(context: CycleContext) -> EvictionAction:
    """Victims are preemptible pod groups of any queue; each must find another place."""
    return EvictionAction(
        context,
        "consolidation",
        ReasonCode.CONSOLIDATED,
        victim_queues=lambda group: context.pod_group_index.leaf_queues(),
        victim_rule=lambda group, victim: _ITSELF if victim.index == group.index else None,
        kind=lambda group: None if context.pod_group_index.is_victim(group.index) else 0,
        validates=_find_unplaced(context),
        may_start=_may_start(context),
        similar_by_queue=False,
        max_victims=context.session.options.max_consolidation_victims,
    )


def _find_unplaced(context: CycleContext) -> Callable[[Scenario], Rejection | None]:
    """Nobody may be left without a place (semantics R6.33)."""

    def validates(scenario: Scenario) -> Rejection | None:
        rejection = context.session.guards.allows_scenario("consolidation", scenario)
        if rejection is not None:
            return rejection
        placements = context.session.ledger.placements
        for tasks in scenario.victims().values():
            if any(placements[task].status is TaskStatus.RELEASING for task in tasks):
                return Rejection(ReasonCode.NO_SOLUTION, "a pod group that would move finds no other place")
        return None

    return validates


def _may_start(context: CycleContext) -> Callable[[PodGroup], Rejection | None]:
    """Preemptible pods, if the cluster has the room in sum (semantics R6.30, R6.31, R6.35).

    A semi-preemptible pod group is like a non-preemptible one until it has its minimum.
    """
    session = context.session
    gpus = context.placer.index.free_gpu_milli()
    free = sum(gpus[node.index] for node in session.cluster.nodes if not node.unready)

    def enters(group: PodGroup) -> Rejection | None:
        tasks = context.gangs.tasks_to_allocate(group.index)
        if session.cores.has_firm_request(group.index, tasks):
            return _NOT_FOR_ALL
        if (rejection := context.after_delay(group)) is not None:
            return rejection
        if sum(_gpu_milli(session.cluster.tasks[task].shape) for task in tasks) <= free:
            return None
        return Rejection(
            ReasonCode.INSUFFICIENT_RESOURCES, "the cluster has not enough free GPUs, however they are spread"
        )

    return enters


def _gpu_milli(shape: TaskShape) -> int:
    """GPUs it asks for, MIG slices apart."""
    return shape.gpu.gpu_milli() + shape.claimed_gpu_milli
