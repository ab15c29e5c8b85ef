"""Why one victim is taken before another: the first thing in which the two differ in the order."""

from enum import Enum
from typing import NamedTuple

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.explain.eligibility import VictimQuery


class OrderCriterion(Enum):
    """What put one victim before another."""

    QUEUE = "queue"
    """Its queue yields first: it is further above its share."""
    PLUGIN = "plugin"
    """An order that a plugin keeps within a queue."""
    AGE = "age"
    """It is the younger one."""


class Precedence(NamedTuple):
    """Why a victim comes before the next one in the order."""

    later: int
    """The pod group that comes next."""
    criterion: OrderCriterion
    plugin: str = ""


class VictimPosition(NamedTuple):
    """Where a victim stands in the order of all who may yield."""

    earlier: tuple[int, ...]
    """Pod groups that are taken before it is taken for the first time, in that order."""
    later: tuple[Precedence, ...]
    """The next ones, and why they come later."""


def find_position(context: CycleContext, asking: VictimQuery, victim: int, most: int) -> VictimPosition:
    """Where a victim stands, with at most so many of those after it."""
    order = list(dict.fromkeys(asking.order()))
    if victim not in order:
        return VictimPosition((), ())
    at = order.index(victim)
    later = order[at + 1 : at + 1 + most]
    return VictimPosition(tuple(order[:at]), tuple(_precedence(context, victim, other) for other in later))


def _precedence(context: CycleContext, victim: int, later: int) -> Precedence:
    session = context.session
    groups, active = session.cluster.pod_groups, session.ledger.active_allocated
    if groups[victim].queue != groups[later].queue:
        return Precedence(later, OrderCriterion.QUEUE)
    for key in session.chains.pod_group_key:
        if key(victim, active) != key(later, active):
            return Precedence(later, OrderCriterion.PLUGIN, session.chains.names[key])
    return Precedence(later, OrderCriterion.AGE)
