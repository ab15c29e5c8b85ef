"""Capacity that pod groups left when they ended in a play: since when a later start could have used it.

A played cycle may come long after an end. What it starts is dated back to the end that freed the capacity for
it, so that capacity does not stand idle in a play until its next cycle (semantics R17.22).
"""

from collections.abc import Iterable
from typing import Final, NamedTuple, final

from tenure.solver.framework.ledger import Ledger
from tenure.solver.model.caller_state import Certainty
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import Bind, CycleResult
from tenure.solver.model.resources import MutableVector
from tenure.solver.model.workload import Task
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.play.played_ends import AwaitedEnd

MAX_AWAITED: Final = 5
"""Ends that are named for one start."""


class FreedPart(NamedTuple):
    """What a task left on its node."""

    time: int
    shape: TaskShape


@final
class FreedCapacity:
    """What ended on each node."""

    def __init__(self) -> None:
        self._last: dict[int, list[AwaitedEnd]] = {}
        """The last ends by node, in order."""
        self._certainty: dict[int, Certainty] = {}
        """The worst of all ends by node."""
        self._fresh: dict[int, list[FreedPart]] = {}
        """What was freed since the last cycle, by node, in order of time."""

    def note(self, task: Task, end: AwaitedEnd) -> None:
        """A task on a node ends with its pod group. Ends come in order of time."""
        node = task.placement.node
        self._fresh.setdefault(node, []).append(FreedPart(end.time, task.shape))
        last = self._last.setdefault(node, [])
        if end not in last:
            del last[: max(len(last) - MAX_AWAITED + 1, 0)]
            last.append(end)
        self._certainty[node] = max(end.certainty, self._certainty.get(node, Certainty.BOUNDED))

    def awaited(self, nodes: Iterable[int]) -> tuple[AwaitedEnd, ...]:
        """The last ends on these nodes, the latest first."""
        ends = {end for node in nodes for end in self._last.get(node, ())}
        return tuple(sorted(ends, key=lambda end: (-end.time, end.pod_group)))

    def certainty(self, nodes: Iterable[int]) -> Certainty:
        """The worst of all ends on these nodes."""
        known = [self._certainty.get(node, Certainty.BOUNDED) for node in nodes]
        return max(known, default=Certainty.BOUNDED)

    def date(self, cluster: Cluster, ledger: Ledger, decision: CycleResult) -> dict[int, int]:
        """When the last end freed what pods of a pod group are bound to, by pod group, at the end of a cycle.

        Capacity that was idle in the cycle before is given out first; a pod group that takes nothing else
        has no date, since something else kept it from starting. After this, nothing is fresh any more.
        """
        by_node: dict[int, list[Bind]] = {}
        for bind in [bind for group in decision.groups for bind in group.bindings]:
            if bind.node in self._fresh:
                by_node.setdefault(bind.node, []).append(bind)
        dates: dict[int, int] = {}
        for node, binds in by_node.items():
            shapes = [cluster.tasks[bind.task].shape for bind in binds]
            for bind, time in zip(binds, _dates(ledger, node, shapes, self._fresh[node]), strict=True):
                if time is not None:
                    pod_group = cluster.tasks[bind.task].pod_group
                    dates[pod_group] = max(time, dates.get(pod_group, time))
        self._fresh.clear()
        return dates


def _dates(
    ledger: Ledger, node: int, shapes: Iterable[TaskShape], fresh: Iterable[FreedPart]
) -> list[int | None]:
    """By task, in the order in which the cycle placed them; None: its capacity was idle before."""
    charges = [ledger.charge(shape, node) for shape in shapes]
    parts = iter([(part.time, ledger.charge(part.shape, node)) for part in fresh])
    there = ledger.node_info(node).idle.copy()  # what was idle before any of these ends
    for charge in charges:
        there.add(charge)
    for part in fresh:
        there.subtract(ledger.charge(part.shape, node))
    taken, last, dates = MutableVector((0,) * len(there.vector())), None, list[int | None]()
    for charge in charges:
        taken.add(charge)
        while not there.cover(taken) and (part_freed := next(parts, None)) is not None:
            last = part_freed[0]
            there.add(part_freed[1])
        dates.append(last)
    return dates
