"""Accumulates victims into scenarios for the generators to draw from (semantics R5.29-R5.33)."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from tenure.solver.framework.scenario import Batch, Emptied, Scenario
from tenure.solver.framework.session import Session
from tenure.solver.model.placement import NOWHERE
from tenure.solver.model.workload import TaskShape
from tenure.solver.search.filters import GpuRoomFilter, gpu_demands
from tenure.solver.search.needs import LOOK_AHEAD, Needs, Prospects
from tenure.solver.search.nodesets import bit_set, bits
from tenure.solver.search.place import Placer
from tenure.solver.search.prune import Pruner
from tenure.solver.search.sequence import VictimSequence
from tenure.solver.search.takebound import TakeBound


class Pruning:
    """Necessary conditions of one search, for probes to skip what cannot succeed."""

    def __init__(self, pruner: Pruner, bound: TakeBound | None, counts_whole_gpus: bool) -> None:
        """`counts_whole_gpus`: whether GPUs are only ever asked for as whole devices: slots then imply room
        (semantics R5.30).
        """
        self.pruner = pruner
        self.bound = bound
        self.counts_whole_gpus = counts_whole_gpus
        self.prospects: Prospects | None = None

    def without_prospects(self) -> "Pruning":
        """The same for probes that meet their victims in another order."""
        return Pruning(self.pruner, self.bound, self.counts_whole_gpus)


class Accumulator:
    """The `ScenarioBuilder` of one probe: takes victims until the filters pass, then again one more."""

    def __init__(
        self,
        session: Session,
        placer: Placer,
        preemptor: int,
        pending: Sequence[int],
        recorded: tuple[Batch, ...],
        sequence: VictimSequence,
        skips: Collection[int],
        feasible: int,
        pruning: Pruning | None,
    ) -> None:
        """`skips` are the numbers of recorded batches in the sequence."""
        self.recorded = recorded
        self.potential: list[Batch] = []
        self._session = session
        self._placer = placer
        self._preemptor = preemptor
        self._pending = tuple(pending)
        self._sequence = sequence
        self._skips = skips
        self._next = 0
        self._feasible = feasible
        self._pruning = pruning
        self._needs = self._recorded_needs()
        self._freed: dict[int, int] = {}
        for batch in recorded:
            for task in batch.tasks:
                node = self.node_of(task)
                self._freed[node] = self._freed.get(node, 0) + self.gpu_milli_on(task)
        shapes: dict[int, TaskShape] = {}
        for task in pending:
            shape = session.cluster.tasks[task].shape
            shapes[shape.index] = shape
        self._room: GpuRoomFilter | None = None
        self._is_room_implied = pruning is not None and pruning.counts_whole_gpus and len(shapes) == 1
        self._allowed = [placer.allowed(shape) for shape in shapes.values() if _is_choosy(shape)]

    def outer_scenarios(self) -> Iterator[None]:
        """Recorded victims only, then with ever more of the victim order (semantics R5.29)."""
        if self._needs is None or self._needs.are_met():
            if self._passes():
                yield
        elif not self._skip_ahead(self._needs):
            return
        while self._sequence.reaches(self._next):
            self._next += 1
            if self._next - 1 in self._skips:
                continue
            batch = self._sequence.batches[self._next - 1]
            self.potential.append(batch)
            if self._room is not None:
                self._room.add(batch.tasks)
            if self._passes():
                yield

    def scenario(self, potential: Sequence[Batch]) -> Scenario:
        """The scenario of the recorded victims and these."""
        return Scenario(self._preemptor, self._pending, self.recorded, tuple(potential))

    @property
    def skips_repeats(self) -> bool:
        """Whether generators may leave out scenarios they proposed before in this probe."""
        return self._pruning is not None

    def is_hopeless(self, scenario: Scenario) -> bool:
        """Whether a simulation of the scenario cannot succeed; with all accumulated victims, it may."""
        if self._pruning is None or self._needs is None or len(scenario.potential) == len(self.potential):
            return False
        prospects, nodes = self._pruning.prospects, self._nodes_of(scenario.potential)
        if prospects is not None and not prospects.may_meet(self._needs, nodes):
            return True
        return not self._needs.are_met_with(scenario.potential)

    def potential_on(self, node: int) -> list[Batch]:
        """All accumulated batches of the pod groups that have accumulated tasks on a node."""
        sequence, chosen, groups = self._sequence, list[Batch](), set[int]()
        for number in sequence.on(node):
            if not self._is_taken(number):
                continue
            batch = sequence.batches[number]
            numbers = sequence.of(batch.pod_group)
            if len(numbers) == 1:
                chosen.append(batch)
            elif batch.pod_group not in groups:
                groups.add(batch.pod_group)
                chosen.extend([sequence.batches[n] for n in numbers if self._is_taken(n)])
        return chosen

    def free_gpu_milli(self, node: int) -> int:
        """Idle and releasing GPUs of a node, and those of recorded victims there."""
        return self._placer.index.free_gpu_milli()[node] + self._freed.get(node, 0)

    def gpu_milli_on(self, task: int) -> int:
        """GPUs that evicting the task frees on its node."""
        return self._session.ledger.freed_gpu_milli(task)

    def emptied(self) -> list[Emptied]:
        """Every node with accumulated tasks, once they left."""
        found = []
        for node, on in self._sequence.nodes.items():
            if on.numbers[0] < self._next:
                emptied = self.emptied_node(node)
                if emptied[3]:
                    found.append(emptied)
        return found

    def emptied_node(self, node: int) -> Emptied:
        """A node once its accumulated tasks left."""
        skips = self._skips if node in self._freed else ()
        gpus, batches, first = self._sequence.freed_on(node, self._next, skips)
        return self.free_gpu_milli(node) + gpus, first, node, batches

    def batches_on(self, nodes: Iterable[int]) -> list[Batch]:
        """Every accumulated batch that has a task on one of the nodes, in the order of accumulation."""
        numbers = {number for node in nodes for number in self._sequence.on(node) if self._is_taken(number)}
        return [self._sequence.batches[number] for number in sorted(numbers)]

    def demands(self) -> list[int]:
        """GPU amounts of the pending tasks, largest first."""
        return gpu_demands(self._session, self._pending)

    def feasible_nodes(self) -> Iterator[int]:
        """Nodes that have free or releasing room for the preemptor, or get it from recorded victims."""
        return bits(self._feasible | bit_set(self._nodes_of(self.recorded)))

    def node_of(self, task: int) -> int:
        """The node of a task."""
        return self._session.ledger.placements[task].node

    def nodes_of(self, pod_group: int) -> Sequence[int]:
        """Nodes that host any task of a pod group, by name."""
        tasks = self._session.cluster.pod_groups[pod_group].tasks
        if len(tasks) == 1:
            node = self.node_of(tasks[0])
            return () if node == NOWHERE else (node,)
        return sorted({self.node_of(task) for task in tasks} - {NOWHERE})

    def _recorded_needs(self) -> Needs | None:
        """What is needed, and what the recorded victims give of it."""
        if self._pruning is None:
            return None
        needs = Needs(self._pruning.pruner, self._pruning.bound, self._pending)
        needs.add(self.recorded)
        return needs

    def _skip_ahead(self, needs: Needs) -> bool:
        """Accumulate all batches before the first one with which the needs may be met; False: there is none.

        Once a prefix holds all recorded victims, it gives what it gives without recording them.
        """
        assert self._pruning is not None
        prospects = self._pruning.prospects
        count = None if prospects is None else prospects.first(needs)
        if prospects is not None and count is None:
            return False
        if count is None or count <= max(self._skips, default=-1) + 1:
            count = self._search_ahead()
        if count is None:
            return False
        self._next = count - 1
        self.potential = self._sequence.before(self._next, self._skips)
        return True

    def _search_ahead(self) -> int | None:
        """The same batch by batch; the number of batches, that one included."""
        assert self._pruning is not None
        needs, number = self._recorded_needs(), 0
        assert needs is not None
        while self._sequence.reaches(number):
            if number not in self._skips:
                needs.add((self._sequence.batches[number],))
            number += 1
            if needs.are_met():
                return number
            if number == LOOK_AHEAD and not self._pruning.pruner.is_possible():
                return None
        return None

    def _passes(self) -> bool:
        """What the reference asks of accumulated victims, as far as it does not follow from the needs."""
        if not self._is_room_implied and not self._has_room():
            return False
        if not self._allowed:
            return True
        reachable = self._feasible | bit_set(self._nodes_of((*self.recorded, *self.potential)))
        return all(nodes & reachable for nodes in self._allowed)

    def _has_room(self) -> bool:
        if self._room is None:
            free = self._placer.index.free_gpu_milli()
            self._room = GpuRoomFilter(self._session, self._pending, free, self._feasible)
            self._room.add(task for batch in (*self.recorded, *self.potential) for task in batch.tasks)
        return self._room.passes()

    def _is_taken(self, number: int) -> bool:
        return number < self._next and number not in self._skips

    def _nodes_of(self, batches: Iterable[Batch]) -> set[int]:
        """Nodes that the tasks of these batches are on."""
        placements = self._session.ledger.placements
        return {placements[task].node for batch in batches for task in batch.tasks}


def _is_choosy(shape: TaskShape) -> bool:
    return bool(shape.constraints.node_selector or shape.constraints.node_affinity)
