"""Reclaim: pod groups of queues below their fair share take room back from other queues (semantics 6.1)."""

from tenure.solver.actions.context import Context
from tenure.solver.actions.evicting import EvictingAction, other_leaves, validate_by_plugins
from tenure.solver.model.reason import ReasonCode


def reclaim(context: Context) -> None:
    """Let every pod group that waits ask those of other queues."""
    reclaiming(context).run()


def reclaiming(context: Context) -> EvictingAction:
    """Victims are preemptible pod groups of other leaf queues; their priority does not matter."""
    return EvictingAction(
        context,
        "reclaim",
        ReasonCode.RECLAIMED,
        victim_queues=lambda group: list(other_leaves(context, group)),
        spares=None,
        validates=validate_by_plugins(context, "reclaim"),
        enters=context.after_delay,
    )
