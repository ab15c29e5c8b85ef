"""Conditions on accumulated victims: GPUs suffice and required nodes are reachable (R5.29-R5.33)."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence

from tenure.solver.framework.session import Session
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.plugin_api.scenario import Batch
from tenure.solver.search.attempts import Attempt
from tenure.solver.search.node_order import bit_set
from tenure.solver.search.search_components import SearchComponents
from tenure.solver.search.search_result import SearchState


def gpu_demands(session: Session, pending: Iterable[int]) -> list[int]:
    """GPU amounts of pending tasks, largest first."""
    shapes = [session.cluster.tasks[task].shape for task in pending]
    return sorted((shape.gpu.gpu_milli() + shape.extra_gpu_milli for shape in shapes), reverse=True)


class GpuCapacityFilter:
    """Whether the GPUs of the tasks could be packed if all accumulated victims were gone (semantics R5.30).

    Updates the free amount of every node as victims are added. Equal tasks are counted by fit counts; others
    are packed greedily on the largest nodes, as in KAI.
    """

    def __init__(self, session: Session, pending: Sequence[int], free: Sequence[int]) -> None:
        """`free` GPUs by node, in thousandths, idle or being released."""
        self._ledger = session.ledger
        self.demands = gpu_demands(session, pending)
        self.free = list(free)
        self._uniform = self.demands[0] if self.demands[0] == self.demands[-1] else 0
        self._fits = 0
        for amount in self.free if self._uniform else ():
            if amount > 0:
                self._fits += amount // self._uniform
        self._order = [] if self._uniform else sorted((-free, node) for node, free in enumerate(self.free))

    def add(self, tasks: Iterable[int]) -> None:
        """Add the GPUs that evicting these tasks frees."""
        for task in tasks:
            self._free(self._ledger.placements[task].node, self._ledger.freed_gpu_milli(task))

    def _free(self, node: int, amount: int) -> None:
        before = self.free[node]
        after = self.free[node] = before + amount
        if self._uniform:
            self._fits += max(0, after) // self._uniform - max(0, before) // self._uniform
        else:
            del self._order[bisect_left(self._order, (-before, node))]
            insort(self._order, (-after, node))

    def passes(self) -> bool:
        """Whether every demand fits on a node."""
        if self._uniform:
            return self._fits >= len(self.demands)
        left = [-free for free, _ in self._order[: len(self.demands)]]
        for demand in self.demands:
            if demand == 0:
                return True
            at = next((i for i, free in enumerate(left) if free >= demand), None)
            if at is None:
                return False
            left[at] -= demand
        return True


class ScenarioFilters:
    """The conditions for one attempt."""

    def __init__(self, components: SearchComponents, state: SearchState, attempt: Attempt) -> None:
        self._session = components.session
        self._node_order = components.node_order
        self._feasible = state.feasible
        self._attempt = attempt
        self._capacity: GpuCapacityFilter | None = None
        self._is_capacity_implied = any(each.implies_gpu_capacity(attempt) for each in state.conditions)
        tasks, shapes = components.session.cluster.tasks, dict[int, TaskShape]()
        for task in attempt.tasks:
            shapes[tasks[task].shape.index] = tasks[task].shape
        self._required = [
            components.allowed_nodes.of(shape) for shape in shapes.values() if _is_choosy(shape)
        ]
        """Nodes of which one must be reachable, by shape."""

    def add(self, batch: Batch) -> None:
        """Add accumulated victims."""
        if self._capacity is not None:
            self._capacity.add(batch.tasks)

    def pass_with(self, potential: Sequence[Batch]) -> bool:
        """Whether the conditions are met with the recorded and these accumulated victims."""
        if not self._is_capacity_implied and not self._has_gpu_capacity(potential):
            return False
        if not self._required:
            return True
        placements = self._session.ledger.placements
        batches = (*self._attempt.recorded, *potential)
        left = {placements[task].node for batch in batches for task in batch.tasks}
        reachable = self._feasible | bit_set(left)
        return all(nodes & reachable for nodes in self._required)

    def _has_gpu_capacity(self, potential: Sequence[Batch]) -> bool:
        if self._capacity is None:
            free = self._node_order.free_gpu_milli()
            self._capacity = GpuCapacityFilter(self._session, self._attempt.tasks, free)
            for batch in (*self._attempt.recorded, *potential):
                self._capacity.add(batch.tasks)
        return self._capacity.passes()


def _is_choosy(shape: TaskShape) -> bool:
    return bool(shape.constraints.node_selector or shape.constraints.node_affinity)
