"""Position of a victim in the victim order: the first criterion in which it differs from others."""

from enum import Enum
from typing import NamedTuple

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.diagnosis.eligibility import VictimQuery
from tenure.solver.search.victim_keys import VictimKeys, deciding_order


class OrderCriterion(Enum):
    """Criterion that orders two victims."""

    QUEUE = "queue"
    """Its queue is further above its share."""
    PLUGIN = "plugin"
    """Order of a plugin within a queue."""
    AGE = "age"
    """It is younger."""


class Precedence(NamedTuple):
    """Why a victim precedes the next one."""

    later: int
    """Pod group that comes next."""
    criterion: OrderCriterion
    plugin: str = ""


class VictimPosition(NamedTuple):
    """Position of a victim in the order of all candidates."""

    earlier: tuple[int, ...]
    """Pod groups taken before its first tasks, in order."""
    later: tuple[Precedence, ...]
    """Next pod groups, and why they come later."""


def find_position(context: CycleContext, query: VictimQuery, victim: int, most: int) -> VictimPosition:
    """Position of a victim, with a limited number of those after it."""
    orders = (list(dict.fromkeys(order)) for order in query.orders())
    order = next((order for order in orders if victim in order), None)
    if order is None:
        return VictimPosition((), ())
    at = order.index(victim)
    later = order[at + 1 : at + 1 + most]
    return VictimPosition(tuple(order[:at]), tuple(_precedence(context, victim, other) for other in later))


def _precedence(context: CycleContext, victim: int, later: int) -> Precedence:
    session = context.session
    groups = session.cluster.pod_groups
    if groups[victim].queue != groups[later].queue:
        return Precedence(later, OrderCriterion.QUEUE)
    order = deciding_order(session, VictimKeys(session, context.gangs), victim, later)
    if order is not None:
        return Precedence(later, OrderCriterion.PLUGIN, order)
    return Precedence(later, OrderCriterion.AGE)
