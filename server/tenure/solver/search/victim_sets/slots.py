"""Slots: how many tasks of a shape the nodes would take once some tasks left them, by counting amounts."""

from collections.abc import Iterable
from typing import Final, final

from tenure.solver.framework.session import Session
from tenure.solver.model.resources import GPU
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.search.fits import NO_BOUND, count_fits
from tenure.solver.search.node_order import AllowedNodes, bits, free_gpu_milli
from tenure.solver.search.search import Budget


@final
class Slots:
    """Slots for the tasks of one shape, on the nodes that it allows, while tasks are said to leave."""

    def __init__(
        self, session: Session, allowed: AllowedNodes, shape: TaskShape, feasible: int, budget: Budget
    ) -> None:
        """`feasible` are the nodes that may have slots before any task leaves."""
        self._session = session
        self._shape: Final = shape
        self.allowed: Final = allowed.of(shape)
        self._budget = budget
        self._gone: dict[int, list[int]] = {}
        """Tasks that leave, by node."""
        self._known: dict[int, int] = {}
        """Slots by node."""
        self.total = 0
        for node in bits(feasible & self.allowed):
            self._session.stop.check()
            slots = self._known[node] = self._count(node, ())
            self.total += slots

    def on(self, node: int) -> int:
        """Slots on a node without the tasks that leave it."""
        known = self._known.get(node)
        if known is None:
            is_open = self.allowed >> node & 1
            known = self._known[node] = self._count(node, self._gone.get(node, ())) if is_open else 0
            self.total += known
        return known

    def on_without(self, node: int, tasks: Iterable[int]) -> int:
        """Slots on a node if these tasks leave it too."""
        if not self.allowed >> node & 1:
            return 0
        return self._count(node, (*self._gone.get(node, ()), *tasks))

    def lacking_gpus(self, node: int) -> int:
        """GPUs that tasks must leave on a node for one more slot, at least, in thousandths."""
        ledger, request = self._session.ledger, self._shape.request_vector[GPU]
        if not request or self._shape.shares_devices:
            return 0
        gone = sum([ledger.freed_gpu_milli(task) for task in self._gone.get(node, ())])
        return (self.on(node) + 1) * request - free_gpu_milli(ledger, node) - gone

    def leave(self, tasks: Iterable[int]) -> None:
        """Let tasks leave."""
        self._change(tasks, is_leaving=True)

    def stay(self, tasks: Iterable[int]) -> None:
        """Let tasks that left stay."""
        self._change(tasks, is_leaving=False)

    def _change(self, tasks: Iterable[int], *, is_leaving: bool) -> None:
        placements, nodes = self._session.ledger.placements, dict[int, None]()
        for task in tasks:
            node = placements[task].node
            self.on(node)
            gone = self._gone.setdefault(node, [])
            if is_leaving:
                gone.append(task)
            else:
                gone.remove(task)
            nodes[node] = None
        for node in nodes:
            if self.allowed >> node & 1:
                slots = self._count(node, self._gone[node])
                self.total += slots - self._known[node]
                self._known[node] = slots

    def _count(self, node: int, gone: Iterable[int]) -> int:
        self._budget.check()
        ledger, facts, shape = self._session.ledger, self._session.cluster.tasks, self._shape
        left = list(gone)
        if shape.shares_devices or any(facts[task].shape.shares_devices for task in left):
            return count_fits(ledger, shape, node, left)
        free = ledger.node_infos[node].soon()
        for task in left:
            free.add(facts[task].shape.request_vector)
        return max(free.times(shape.request_vector, NO_BOUND), 0)
