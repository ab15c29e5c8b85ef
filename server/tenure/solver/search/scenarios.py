"""Accumulates victims into scenarios for the generators to draw from (semantics R5.29-R5.33)."""

from collections.abc import Iterator, Sequence
from typing import Final

from tenure.solver.framework.scenario import Batch, Scenario
from tenure.solver.framework.session import Session
from tenure.solver.model.workload import NOWHERE
from tenure.solver.search.filters import GpuRoomFilter
from tenure.solver.search.nodeindex import bits
from tenure.solver.search.place import Placer
from tenure.solver.search.prune import Pruner, SlotCount
from tenure.solver.search.takebound import TakeBound, TakeCount
from tenure.solver.search.victims import VictimOrder

LOOK_AHEAD: Final = 1024
"""Batches after which a search without any promising scenario asks whether there can be one at all."""


class Accumulator:
    """The `ScenarioBuilder` of one probe: pops victims until the filters pass, then again one more."""

    def __init__(
        self,
        session: Session,
        placer: Placer,
        preemptor: int,
        pending: Sequence[int],
        recorded: tuple[Batch, ...],
        order: VictimOrder,
        feasible: int,
        pruner: Pruner | None,
        bound: TakeBound | None,
    ) -> None:
        self.recorded = recorded
        self.potential: list[Batch] = []
        self._session = session
        self._preemptor = preemptor
        self._pending = tuple(pending)
        self._order = order
        self._recorded_tasks = {task for batch in recorded for task in batch.tasks}
        self._room = GpuRoomFilter(session, pending, placer.index.free_gpu_milli(), feasible)
        self._room.add(sorted(self._recorded_tasks))
        tasks = session.cluster.tasks
        self._allowed = [
            placer.allowed(tasks[t].shape)
            for t in pending
            if tasks[t].shape.constraints.node_selector or tasks[t].shape.constraints.node_affinity
        ]
        self._reachable = feasible
        for task in self._recorded_tasks:
            self._reachable |= 1 << self.node_of(task)
        self._with_room = self._reachable
        self._free_before = list(self._room.free)
        self._pruner = pruner
        self._slots = None if pruner is None else SlotCount(pruner, pending)
        self._taken = None if bound is None else TakeCount(bound, pending)
        if self._slots is not None:
            self._slots.add(sorted(self._recorded_tasks))
        if self._taken is not None:
            for batch in recorded:
                self._taken.add(batch)

    def outer_scenarios(self) -> Iterator[None]:
        """Recorded victims only, then with ever more of the victim order (semantics R5.29)."""
        if self._passes():
            yield
        has_passed = False
        while (batch := self._order.pop()) is not None:
            self.potential.append(batch)
            self._room.add(batch.tasks)
            if self._slots is not None:
                self._slots.add(batch.tasks)
            if self._taken is not None:
                self._taken.add(batch)
            for task in batch.tasks:
                self._reachable |= 1 << self.node_of(task)
            if self._passes():
                has_passed = True
                yield
            elif len(self.potential) == LOOK_AHEAD and not has_passed and not self._is_possible():
                return

    def scenario(self, potential: Sequence[Batch]) -> Scenario:
        """The scenario of the recorded victims and these."""
        return Scenario(self._preemptor, self._pending, self.recorded, tuple(potential))

    @property
    def skips_repeats(self) -> bool:
        """Whether generators may leave out scenarios they proposed before in this probe."""
        return self._slots is not None

    def is_hopeless(self, scenario: Scenario) -> bool:
        """Whether a simulation of the scenario cannot succeed."""
        if self._taken is not None and self._taken.is_hopeless(scenario):
            return True
        return self._slots is not None and self._slots.is_hopeless(scenario)

    def free_gpu_milli(self, node: int) -> int:
        """Idle and releasing GPUs of a node, and those of recorded victims there."""
        return self._free_before[node]

    def gpu_milli_on(self, task: int) -> int:
        """GPUs that evicting the task frees on its node."""
        return self._session.ledger.freed_gpu_milli(task)

    def demands(self) -> list[int]:
        """GPU amounts of the pending tasks, largest first."""
        return self._room.demands

    def feasible_nodes(self) -> Iterator[int]:
        """Nodes that have free or releasing room for the preemptor, or get it from recorded victims."""
        return bits(self._with_room)

    def node_of(self, task: int) -> int:
        """The node of a task."""
        return self._session.ledger.placements[task].node

    def nodes_of(self, pod_group: int) -> Sequence[int]:
        """Nodes that host any task of a pod group, by name."""
        tasks = self._session.cluster.pod_groups[pod_group].tasks
        return sorted({self.node_of(task) for task in tasks} - {NOWHERE})

    def _is_possible(self) -> bool:
        return self._pruner is None or self._pruner.is_possible()

    def _passes(self) -> bool:
        if self._slots is not None and not self._slots.suffice():
            return False
        if self._taken is not None and not self._taken.suffice():
            return False
        return self._room.passes() and all(nodes & self._reachable for nodes in self._allowed)
