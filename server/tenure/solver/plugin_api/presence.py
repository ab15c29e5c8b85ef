"""What a pod is to others, by its state: whether it provides, blocks or counts (semantics R3.70-R3.74).

Every rule about other pods asks this table. It has two times: `now`, when a binding is applied, and `later`,
when the victims of decisions have left and their beneficiaries have started. A placement that the table
permits only later is reserved and not bound.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple, final

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.placement import ALLOCATED, NOWHERE, PIPELINED, Placement, TaskStatus


class Presence(IntEnum):
    """How a pod is on a node."""

    STAYS = 0
    """It runs, or is bound by this cycle or by an in-flight group, and nothing evicts it."""
    RESERVED = 1
    """It has a reservation: of this cycle or of an in-flight group, also as a victim that is placed again."""
    LEAVES = 2
    """This cycle or an in-flight group evicts it, also if it is placed again elsewhere."""
    TERMINATES = 3
    """It was terminating before, for a reason that no decision knows, or is stuck while terminating."""


class PodRelation(IntEnum):
    """What one pod is to another."""

    PROVIDES = 0
    """A required pod affinity needs it."""
    BLOCKS = 1
    """A required anti-affinity of either pod, or a host port of both, keeps the other away."""
    COUNTS = 2
    """A topology spread counts it."""
    ATTRACTS = 3
    """A preference for nearness counts it, as in Kubernetes."""


class Effect(NamedTuple):
    """Whether it does that at the two times."""

    now: bool
    later: bool


_NEVER, _LATER, _NOW, _ALWAYS = (
    Effect(False, False),
    Effect(False, True),
    Effect(True, False),
    Effect(True, True),
)
EFFECTS: Final[Mapping[PodRelation, tuple[Effect, Effect, Effect, Effect]]] = {
    PodRelation.PROVIDES: (_ALWAYS, _LATER, _NEVER, _NEVER),
    PodRelation.BLOCKS: (_ALWAYS, _ALWAYS, _NOW, _ALWAYS),
    PodRelation.COUNTS: (_ALWAYS, _ALWAYS, _NEVER, _NEVER),
    PodRelation.ATTRACTS: (_ALWAYS, _ALWAYS, _NEVER, _ALWAYS),
}
"""By `Presence`."""


FOR_RESERVED: Final[Mapping[PodRelation, tuple[Effect, Effect, Effect, Effect]]] = {
    **EFFECTS,
    PodRelation.BLOCKS: (_ALWAYS, _ALWAYS, _NOW, _NOW),
}
"""The table for a pod with a reservation: it waits for a pod that terminates in its place."""


Places = Sequence[tuple[int, Presence]]
"""Nodes on which a task is, and how."""


def presence_of_other(is_terminating: bool) -> Presence:
    """Of a pod that is no task."""
    return Presence.TERMINATES if is_terminating else Presence.STAYS


@final
class Presences:
    """The presences of the tasks of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._tasks = cluster.tasks
        self._evicted = frozenset(
            step.task
            for group in cluster.in_flight
            if cluster.now < group.expire_time
            for step in (*group.evictions, *group.notices)
            if step.task != NOWHERE
        )
        """By in-flight groups."""

    def of(self, task: int, placement: Placement) -> Iterator[tuple[int, Presence]]:
        """Nodes on which the task is in a placement, and how."""
        each: Placement | None = placement
        while each is not None:
            if each.use and each.node != NOWHERE:
                yield each.node, self._presence(task, each)
            each = each.previous

    def _presence(self, task: int, placement: Placement) -> Presence:
        if placement.use == PIPELINED:
            return Presence.RESERVED
        if placement.use == ALLOCATED:
            is_stuck = placement.status is TaskStatus.STUCK_IN_RELEASING
            return Presence.TERMINATES if is_stuck else Presence.STAYS
        was_terminating = self._tasks[task].placement.status is TaskStatus.RELEASING
        return Presence.TERMINATES if was_terminating and task not in self._evicted else Presence.LEAVES
