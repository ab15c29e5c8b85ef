"""Preempt: pod groups of higher priority take room from lower ones in their queue (semantics 6.2)."""

from typing import Final

from tenure.solver.actions.context import Context
from tenure.solver.actions.evicting import EvictingAction, validate_by_plugins
from tenure.solver.model.reason import ReasonCode, Rejection
from tenure.solver.model.workload import PodGroup

_NOT_LOWER: Final = Rejection(ReasonCode.PRIORITY, "its priority is not lower", source="preempt")


def preempt(context: Context) -> None:
    """Let every pod group that waits ask those of its queue."""
    preempting(context).run()


def preempting(context: Context) -> EvictingAction:
    """Victims are preemptible pod groups of strictly lower priority in the same leaf queue."""

    def spares(group: PodGroup, victim: PodGroup) -> Rejection | None:
        is_lower = victim.priority < group.priority and victim.index != group.index
        return None if is_lower else _NOT_LOWER

    return EvictingAction(
        context,
        "preempt",
        ReasonCode.PREEMPTED,
        victim_queues=lambda group: [] if group.queue is None else [group.queue],
        spares=spares,
        kind=lambda group: group.priority,
        validates=validate_by_plugins(context, "preempt"),
        enters=context.after_delay,
    )
