"""What is free later: the ends of what runs and the starts of earlier plans, on the ledger (semantics R17.5).

A trial moves the ledger forward event by event, and back to the begin. Before a plan is tried on the ledger,
the number of pods that fit is counted, which costs one step per event.
"""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Final, NamedTuple, final

from tenure.solver.ends import UNKNOWN_END, end_after, end_of
from tenure.solver.framework.ledger import Ledger
from tenure.solver.framework.session import Session
from tenure.solver.model.caller_state import Certainty
from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.model.resources import WHOLE_GPU, MutableVector
from tenure.solver.model.workload import PodGroup
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.search.node_order import AllowedNodes, bits
from tenure.terms.durations import SECOND

TERMINATION: Final = 30 * SECOND
"""How long evicted pods take to terminate, as far as plans know."""
_MANY: Final = 1_000_000
_ENDED: Final = Placement(TaskStatus.SUCCEEDED)


class EventKind(IntEnum):
    """Events of equal times come in this order."""

    END = 0
    START = 1

    @property
    def sign(self) -> int:
        """Whether capacity becomes free (1) or is taken (-1)."""
        return 1 - 2 * self.value


class Event(NamedTuple):
    """A pod group ends, or one with an earlier plan starts."""

    time: int
    kind: EventKind
    uid: str
    pod_group: int
    certainty: Certainty
    placements: tuple[tuple[int, Placement], ...] = ()
    """Tasks of one that starts, with their places."""
    owner: int = -1
    """The pod group for which a backfill ends."""


def ends_of_running(session: Session, horizon: int) -> list[Event]:
    """The likely ends of all pod groups with placed tasks up to a time, in order.

    One that starts in this cycle counts from now.
    """
    cluster, found = session.cluster, list[Event]()
    now, active, bare = cluster.now, session.ledger.active_allocated, set[int | None]()
    for index in session.phases.running | session.moved_pod_groups():
        group = cluster.pod_groups[index]
        queue, facts = group.queue, group.facts
        is_silent = facts.victim.time_limit is None and not facts.requeue.expected_runtime.is_set
        if is_silent and queue in bare:
            continue
        if not any(active[each.index] for each in group.pod_sets):
            continue
        if index in session.phases.running:
            end = end_of(group, cluster.queues, now)
        else:
            start = now if starts_now(session, group) else now + TERMINATION
            end = end_after(group, cluster.queues, start, now)
        if end.likely is not None and end.likely <= horizon:
            found.append(Event(end.likely, EventKind.END, facts.uid, index, end.certainty))
        elif is_silent and end is UNKNOWN_END and facts.last_start is not None:
            bare.add(queue)  # neither have others of the queue that say nothing themselves
    return sorted(found)


def starts_now(session: Session, group: PodGroup) -> bool:
    """Whether a pod group waits for no pods that terminate."""
    return not any(session.ledger.pipelined[each.index] for each in group.pod_sets)


@final
class FreeCapacity:
    """Idle and releasing amounts by node, and how many tasks of a shape they suffice for."""

    def __init__(self, session: Session, allowed: AllowedNodes) -> None:
        self._ledger = session.ledger
        self._allowed = allowed
        self._nodes = range(len(session.cluster.nodes))
        self._free: dict[int, MutableVector] = {}
        self._fitting: dict[int, tuple[dict[int, int], int]] = {}
        """By shape: number of tasks by node, and of all nodes."""

    def of(self, node: int) -> MutableVector:
        """Amounts of a node; to be copied before a change."""
        found = self._free.get(node)
        if found is None:
            info = self._ledger.node_infos[node]
            found = info.idle.copy()
            found.add(info.releasing)
            self._free[node] = found
        return found

    def fitting(self, shape: TaskShape) -> tuple[dict[int, int], int]:
        """How many tasks fit by node, of the nodes that accept them, and in all."""
        found = self._fitting.get(shape.index)
        if found is None:
            by_node = {node: fit_count(self.of(node), shape) for node in bits(self._allowed.of(shape))}
            found = self._fitting[shape.index] = by_node, sum(by_node.values())
        return found


def fit_count(free: MutableVector, shape: TaskShape) -> int:
    """Upper bound of the tasks of a shape for which amounts suffice. Parts of shared devices do not count."""
    return max(0, free.times(shape.request_vector, _MANY))


@final
class Counts:
    """How many tasks of some shapes fit, as events happen."""

    def __init__(self, ledger: Ledger, free: FreeCapacity, wanted: Sequence[tuple[TaskShape, int]]) -> None:
        self._ledger, self._free = ledger, free
        self._own: dict[int, MutableVector] = {}
        """Amounts of nodes that changed."""
        self._wanted = list(wanted)
        self._changed: list[dict[int, int]] = [{} for _ in wanted]
        self._totals = [free.fitting(shape)[1] for shape, _ in wanted]

    @property
    def suffice(self) -> bool:
        """Whether all tasks may fit; False is certain."""
        return all(total >= number for total, (_, number) in zip(self._totals, self._wanted, strict=True))

    @property
    def shapes(self) -> list[TaskShape]:
        """What fits or not."""
        return [shape for shape, _ in self._wanted]

    def change(self, tasks: Iterable[tuple[TaskShape, int]], sign: int) -> None:
        """Tasks leave their nodes (sign 1) or are placed there (sign -1)."""
        nodes: dict[int, None] = {}
        for shape, node in tasks:
            amounts = self._own.get(node)
            if amounts is None:
                amounts = self._own[node] = self._free.of(node).copy()
            charge = self._ledger.charge(shape, node)
            if sign > 0:
                amounts.add(charge)
                if shape.gpu.is_shared:  # the last one on a device leaves the whole of it
                    amounts.gpu += shape.gpu.devices * WHOLE_GPU
            else:
                amounts.subtract(charge)
            nodes[node] = None
        for place, (shape, _) in enumerate(self._wanted):
            by_node, changed = self._free.fitting(shape)[0], self._changed[place]
            for node in nodes:
                if node not in by_node:
                    continue
                before = changed.get(node, by_node[node])
                after = changed[node] = fit_count(self._own[node], shape)
                self._totals[place] += after - before


@final
class Trial:
    """Moves that are undone."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._moves: list[tuple[int, Placement, Placement]] = []

    def end(self, tasks: Sequence[int]) -> None:
        """Tasks end, the last first, so that they come back in their order."""
        for task in reversed(tasks):
            if self._ledger.placements[task].is_active_allocated:
                self._move(task, _ENDED)

    def start(self, placements: Iterable[tuple[int, Placement]]) -> None:
        """Tasks are placed as planned."""
        for task, placement in placements:
            self._move(task, placement)

    @property
    def moves(self) -> int:
        """Number of moves so far."""
        return len(self._moves)

    def undo(self, moves: int = 0) -> None:
        """Undo all moves but the first ones."""
        while len(self._moves) > moves:
            task, before, after = self._moves.pop()
            self._ledger.apply(task, after, before)

    def _move(self, task: int, after: Placement) -> None:
        before = self._ledger.placements[task]
        self._ledger.apply(task, before, after)
        self._moves.append((task, before, after))
