"""Additional fit counts of a shape from evictions: counted, not simulated."""

from collections.abc import Iterable, Mapping

from tenure.solver.framework.session import Session
from tenure.solver.model.resources import MutableVector
from tenure.solver.model.workload import TaskShape
from tenure.solver.search.speedups.fit_counts import count_fits
from tenure.solver.search.speedups.reclaim_bound import NO_BOUND


class _NodeFits:
    """Resources that victims on one node free for one shape."""

    __slots__ = ("before", "free", "freed", "is_allowed", "is_settled", "is_shared", "node", "victims")

    def __init__(self, node: int, is_allowed: bool, free: MutableVector, before: int) -> None:
        self.node = node
        self.is_allowed = is_allowed
        """Whether the shape may run there; otherwise nothing is tracked."""
        self.free = free
        """Free resources without the victims."""
        self.before = before
        self.victims: list[int] = []
        self.is_shared = False
        """Whether any victim there, or the shape, shares devices."""
        self.freed = 0
        self.is_settled = True
        """Whether `gained` includes all victims."""


class FreedFits:
    """Additional fit counts of one shape from victims.

    Freed resources are summed per node and converted to fit counts on demand. Only where devices are shared
    does the combination of victims matter: there everything is counted again.
    """

    __slots__ = (
        "_allowed",
        "_before",
        "_nodes",
        "_session",
        "_total",
        "_unsettled",
        "shape",
    )

    def __init__(self, session: Session, shape: TaskShape, allowed: int, before: Mapping[int, int]) -> None:
        """`allowed` nodes may run the shape; `before` are fit counts without evictions, by node."""
        self._session = session
        self.shape = shape
        self._allowed = allowed
        self._before = before
        self._nodes: dict[int, _NodeFits] = {}
        self._unsettled: list[_NodeFits] = []
        self._total = 0

    def add(self, tasks: Iterable[int]) -> None:
        """Add tasks to the victims."""
        session = self._session
        placements, facts, stop = session.ledger.placements, session.cluster.tasks, session.stop
        for task in tasks:
            stop.check()
            node = placements[task].node
            on = self._nodes.get(node)
            if on is None:
                on = self._nodes[node] = self._add_node(node)
            if on.is_allowed:
                on.victims.append(task)
                on.is_shared |= self._free(on.free, facts[task].shape)
                if on.is_settled:
                    on.is_settled = False
                    self._unsettled.append(on)

    def total(self) -> int:
        """Total over all nodes."""
        if self._unsettled:
            self._settle()
        return self._total

    def on(self, node: int) -> int:
        """Gain on one node."""
        if self._unsettled:
            self._settle()
        on = self._nodes.get(node)
        return 0 if on is None else on.freed

    def total_with(self, tasks: Iterable[int]) -> int:
        """Total gain if these tasks were victims too."""
        placements, facts = self._session.ledger.placements, self._session.cluster.tasks
        more: dict[int, list[int]] = {}
        for task in tasks:
            more.setdefault(placements[task].node, []).append(task)
        gained = self.total()
        for node, victims in more.items():
            on = self._nodes.get(node) or self._add_node(node)
            if on.is_allowed:
                free, is_shared = on.free.copy(), on.is_shared
                for task in victims:
                    is_shared |= self._free(free, facts[task].shape)
                fitting = self._fitting(node, free, (*on.victims, *victims), is_shared)
                gained += fitting - on.before - on.freed
        return gained

    def _add_node(self, node: int) -> _NodeFits:
        """Start tracking a node without victims."""
        room, is_allowed = self._session.ledger.node_infos[node], bool(self._allowed >> node & 1)
        return _NodeFits(node, is_allowed, room.soon(), self._before.get(node, 0))

    def _free(self, free: MutableVector, victim: TaskShape) -> bool:
        """Add a victim's resources; True if sums do not suffice because devices are shared."""
        free.add(victim.request_vector)
        return victim.shares_devices or self.shape.shares_devices

    def _settle(self) -> None:
        for on in self._unsettled:
            gained = self._fitting(on.node, on.free, on.victims, on.is_shared) - on.before
            self._total += gained - on.freed
            on.freed, on.is_settled = gained, True
        self._unsettled.clear()

    def _fitting(self, node: int, free: MutableVector, victims: Iterable[int], is_shared: bool) -> int:
        """Fit count on a node with these free resources, without these victims."""
        if is_shared:
            return count_fits(self._session.ledger, self.shape, node, victims)
        return max(0, free.times(self.shape.request_vector, NO_BOUND))
