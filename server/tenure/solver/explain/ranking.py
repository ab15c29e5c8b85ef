"""Why one victim is taken before another: the first thing in which the two differ in the order."""

from enum import Enum
from typing import NamedTuple

from tenure.solver.actions.context import Context
from tenure.solver.explain.asking import Asking


class Rank(Enum):
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
    rank: Rank
    plugin: str = ""


class Place(NamedTuple):
    """Where a victim stands in the order of all who may yield."""

    earlier: tuple[int, ...]
    """Pod groups that are taken before it is taken for the first time, in that order."""
    later: tuple[Precedence, ...]
    """The next ones, and why they come later."""


def place(context: Context, asking: Asking, victim: int, most: int) -> Place:
    """Where a victim stands, with at most so many of those after it."""
    order = list(dict.fromkeys(asking.order()))
    if victim not in order:
        return Place((), ())
    at = order.index(victim)
    later = order[at + 1 : at + 1 + most]
    return Place(tuple(order[:at]), tuple(_precedence(context, victim, other) for other in later))


def _precedence(context: Context, victim: int, later: int) -> Precedence:
    session = context.session
    groups, active = session.cluster.pod_groups, session.ledger.active_allocated
    if groups[victim].queue != groups[later].queue:
        return Precedence(later, Rank.QUEUE)
    for key in session.chains.pod_group_key:
        if key(victim, active) != key(later, active):
            return Precedence(later, Rank.PLUGIN, session.chains.names[key])
    return Precedence(later, Rank.AGE)
