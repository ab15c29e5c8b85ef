"""Preempt: pod groups of higher priority take room from lower ones in their queue (semantics 6.2)."""

from tenure.solver.actions.context import Context
from tenure.solver.actions.evicting import EvictingAction, validate_by_plugins
from tenure.solver.model.reason import ReasonCode
from tenure.solver.model.workload import PodGroup


def preempt(context: Context) -> None:
    """Victims are preemptible pod groups of strictly lower priority in the same leaf queue."""

    def is_lower(group: PodGroup, victim: PodGroup) -> bool:
        return victim.priority < group.priority and victim.index != group.index

    EvictingAction(
        context,
        "preempt",
        ReasonCode.PREEMPTED,
        victim_queues=lambda group: [] if group.queue is None else [group.queue],
        allows=is_lower,
        validates=validate_by_plugins(context, "preempt"),
        enters=context.after_delay,
    ).run()
