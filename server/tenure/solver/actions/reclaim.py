"""Reclaim: pod groups of queues below their fair share take room back from other queues (semantics 6.1)."""

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.actions.eviction_action import EvictionAction, other_leaf_queues, validate_by_plugins
from tenure.terms.reasons import ReasonCode


def reclaim(context: CycleContext) -> None:
    """Let every pod group that waits ask those of other queues."""
    reclaim_action(context).run()


def reclaim_action(context: CycleContext) -> EvictionAction:
    """Victims are preemptible pod groups of other leaf queues; their priority does not matter."""
    return EvictionAction(
        context,
        "reclaim",
        ReasonCode.RECLAIMED,
        victim_queues=lambda group: list(other_leaf_queues(context, group)),
        victim_rule=None,
        validates=validate_by_plugins(context, "reclaim"),
        may_start=context.after_delay,
    )
