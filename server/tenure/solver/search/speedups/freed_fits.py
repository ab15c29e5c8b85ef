"""Saves, with `pruning`: simulating what cannot fit; additional fits from evictions are counted instead.
Sound: evicting frees at most what victims hold; placing them again only takes capacity.
Switch: `pruning`. Plain: the simulation.
Compared by: tests/solver/search/speedups/test_freed_fits.py (equal to fresh counts), and the check
`differential`.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from tenure.solver.framework.session import Session
from tenure.solver.model.resources import NOTHING, MutableVector
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.search.fits import NO_BOUND, count_fits
from tenure.solver.search.node_order import AllowedNodes
from tenure.solver.search.speedup import FitCheck
from tenure.solver.search.speedups.fit_counts import FitCounts


class _NodeFits:
    """Resources that victims on one node free for one shape."""

    __slots__ = ("before", "free", "freed", "is_settled", "is_shared", "node", "victims")

    def __init__(self, node: int, free: MutableVector, before: int) -> None:
        self.node = node
        self.free = free
        """Free resources without the victims."""
        self.before = before
        self.victims: list[int] = []
        self.is_shared = False
        """Whether any victim there, or the shape, shares devices."""
        self.freed = 0
        self.is_settled = True
        """Whether `gained` includes all victims."""


_EXCLUDED: Final = _NodeFits(-1, MutableVector(NOTHING), 0)
"""All nodes that may not run a shape: nothing is tracked there."""


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

    def __init__(self, session: Session, shape: TaskShape, allowed: int, before: Sequence[int]) -> None:
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
            if on is not _EXCLUDED:
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
            if on is not _EXCLUDED:
                free, is_shared = on.free.copy(), on.is_shared
                for task in victims:
                    is_shared |= self._free(free, facts[task].shape)
                fitting = self._fitting(node, free, (*on.victims, *victims), is_shared)
                gained += fitting - on.before - on.freed
        return gained

    def _add_node(self, node: int) -> _NodeFits:
        """Start tracking a node without victims."""
        if not self._allowed >> node & 1:
            return _EXCLUDED
        return _NodeFits(node, self._session.ledger.node_infos[node].soon(), self._before[node])

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


Victims = Callable[[], Iterable[int]]
"""Returns every task that might be evicted for a preemptor."""


class SearchFits:
    """Current fit counts of the feasible nodes; one per preemptor, shared by its attempts.

    Without `counts`, every shape counts as fitting often enough.
    """

    def __init__(
        self,
        session: Session,
        allowed_nodes: AllowedNodes,
        counts: FitCounts | None,
        feasible: int,
        pending: Sequence[int],
        victims: Victims,
    ) -> None:
        self._pending = pending
        self._victims = victims
        self._is_possible: bool | None = None
        self.session = session
        self._allowed_nodes = allowed_nodes
        self._counts = counts
        self._feasible = feasible
        self._free: dict[int, tuple[int, list[int]]] = {}
        self._missing_fits: dict[int, list[tuple[TaskShape, int]]] = {}

    def is_possible(self) -> bool:
        """Whether all tasks would fit if every possible victim were gone; counted once."""
        if self._is_possible is None:
            count = FitTally(self, self._pending)
            count.add(self._victims())
            self._is_possible = count.is_sufficient()
        return self._is_possible

    def missing_fits(self, pending: Sequence[int]) -> list[tuple[TaskShape, int]]:
        """Shapes that do not fit now for these tasks, with the number of missing fits.

        The tasks must be all tasks of the search, or the first of them.
        """
        if self._counts is None:
            return []
        wanted = self._missing_fits.get(len(pending))
        if wanted is None:
            counts: dict[int, int] = {}
            shapes: dict[int, TaskShape] = {}
            for task in pending:
                shape = self.session.cluster.tasks[task].shape
                shapes[shape.index] = shape
                counts[shape.index] = counts.get(shape.index, 0) + 1
            missing = [(shapes[i], count - self.fit_counts(shapes[i])[0]) for i, count in counts.items()]
            wanted = self._missing_fits[len(pending)] = [
                (shape, count) for shape, count in missing if count > 0
            ]
        return wanted

    def freed_fits(self, shape: TaskShape) -> FreedFits:
        """Counter of additional fits of the shape, without victims yet."""
        return FreedFits(self.session, shape, self._allowed_nodes.of(shape), self.fit_counts(shape)[1])

    def fit_counts(self, shape: TaskShape) -> tuple[int, list[int]]:
        """Fit counts without evictions: total, and by node; cached per shape."""
        known = self._free.get(shape.index)
        if known is None:
            nodes = self._feasible & self._allowed_nodes.of(shape)
            assert self._counts is not None
            known = self._free[shape.index] = self._counts.on(shape, nodes)
        return known


class FitTally(FitCheck):
    """Fit counts for the pending tasks of one attempt, updated as victims are added."""

    def __init__(self, fits: SearchFits, pending: Sequence[int]) -> None:
        self._shortfalls = [
            (fits.freed_fits(shape), missing) for shape, missing in fits.missing_fits(pending)
        ]

    def add(self, tasks: Iterable[int]) -> None:
        """Add tasks to the victims."""
        victims = list(tasks)
        for gains, _ in self._shortfalls:
            gains.add(victims)

    def is_sufficient(self) -> bool:
        """Whether every shape fits often enough without the victims so far."""
        return all(gains.total() >= missing for gains, missing in self._shortfalls)
