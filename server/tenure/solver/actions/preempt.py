"""Preempt: pod groups of higher priority take room from lower ones in their queue (semantics 6.2)."""

from typing import Final

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.actions.eviction_action import EvictionAction, validate_by_plugins
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.workload import PodGroup
from tenure.terms.reasons import ReasonCode

_NOT_LOWER: Final = Rejection(ReasonCode.PRIORITY_NOT_LOWER, "its priority is not lower", source="preempt")


def preempt(context: CycleContext) -> None:
    """Let every pod group that waits ask those of its queue."""
    preemption_action(context).run()


def preemption_action(context: CycleContext) -> EvictionAction:
    """Victims are preemptible pod groups of strictly lower priority in the same leaf queue."""

    def spares(group: PodGroup, victim: PodGroup) -> Rejection | None:
        is_lower = victim.priority < group.priority and victim.index != group.index
        return None if is_lower else _NOT_LOWER

    return EvictionAction(
        context,
        "preempt",
        ReasonCode.PREEMPTED,
        victim_queues=lambda group: [] if group.queue is None else [group.queue],
        victim_rule=spares,
        kind=lambda group: group.priority,
        validates=validate_by_plugins(context, "preempt"),
        may_start=context.after_delay,
    )
