"""Accumulate victims to scenarios for generators, and check necessary conditions (semantics R5.29-R5.33)."""

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Iterator, Sequence

from tenure.solver.framework.session import Session
from tenure.solver.model.placement import NOWHERE
from tenure.solver.model.workload import TaskShape
from tenure.solver.plugin_api.scenario import Batch, NodeAfterEviction, Scenario
from tenure.solver.search.node_sets import bit_set, bits
from tenure.solver.search.placer import Placer
from tenure.solver.search.speedups.pruning import LOOK_AHEAD, PrefixBounds, ProbeNeeds, Pruner
from tenure.solver.search.speedups.reclaim_bound import ReclaimBound
from tenure.solver.search.victim_order import VictimSequence


def gpu_demands(session: Session, pending: Iterable[int]) -> list[int]:
    """GPU amounts of pending tasks, largest first."""
    shapes = [session.cluster.tasks[task].shape for task in pending]
    return sorted((shape.gpu.gpu_milli() + shape.extra_gpu_milli for shape in shapes), reverse=True)


class GpuCapacityFilter:
    """Whether the pending tasks' GPUs could be packed if all accumulated victims were gone (semantics R5.30).

    Updates the free amount of every node as victims are added. Equal tasks are counted by fit counts; others
    are packed greedily on the largest nodes, as in KAI.
    """

    def __init__(
        self, session: Session, pending: Sequence[int], free: Sequence[int], nodes_with_capacity: int
    ) -> None:
        self._ledger = session.ledger
        self.demands = gpu_demands(session, pending)
        self.free = list(free)
        self._uniform = self.demands[0] if self.demands[0] == self.demands[-1] else 0
        self._slots = 0
        if self._uniform:
            self._slots = sum(max(0, self.free[node]) // self._uniform for node in bits(nodes_with_capacity))
        self._order = [] if self._uniform else sorted((-free, node) for node, free in enumerate(self.free))

    def add(self, tasks: Iterable[int]) -> None:
        """Add the GPUs that evicting these tasks frees."""
        for task in tasks:
            self._free(self._ledger.placements[task].node, self._ledger.freed_gpu_milli(task))

    def _free(self, node: int, amount: int) -> None:
        before = self.free[node]
        after = self.free[node] = before + amount
        if self._uniform:
            self._slots += max(0, after) // self._uniform - max(0, before) // self._uniform
        else:
            del self._order[bisect_left(self._order, (-before, node))]
            insort(self._order, (-after, node))

    def passes(self) -> bool:
        """Whether every demand fits on a node."""
        if self._uniform:
            return self._slots >= len(self.demands)
        left = [-free for free, _ in self._order[: len(self.demands)]]
        for demand in self.demands:
            if demand == 0:
                return True
            at = next((i for i, free in enumerate(left) if free >= demand), None)
            if at is None:
                return False
            left[at] -= demand
        return True


class PruningBounds:
    """Necessary conditions of one search, which let probes skip scenarios that cannot succeed."""

    def __init__(self, pruner: Pruner, bound: ReclaimBound | None, counts_whole_gpus: bool) -> None:
        """`counts_whole_gpus`: all GPU requests are for whole devices: fit counts imply capacity (R5.30)."""
        self.pruner = pruner
        self.bound = bound
        self.counts_whole_gpus = counts_whole_gpus
        self.prefix_bounds: PrefixBounds | None = None

    def for_other_order(self) -> "PruningBounds":
        """The same conditions for probes with another victim order."""
        return PruningBounds(self.pruner, self.bound, self.counts_whole_gpus)


class ScenarioAccumulator:
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
        pruning: PruningBounds | None,
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
        self._gpu_capacity: GpuCapacityFilter | None = None
        self._is_capacity_implied = pruning is not None and pruning.counts_whole_gpus and len(shapes) == 1
        self._allowed = [placer.allowed_nodes(shape) for shape in shapes.values() if _is_choosy(shape)]

    def outer_scenarios(self) -> Iterator[None]:
        """Recorded victims only, then with increasing parts of the victim order (semantics R5.29)."""
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
            if self._gpu_capacity is not None:
                self._gpu_capacity.add(batch.tasks)
            if self._passes():
                yield

    def scenario(self, potential: Sequence[Batch]) -> Scenario:
        """Scenario of the recorded victims and these."""
        return Scenario(self._preemptor, self._pending, self.recorded, tuple(potential))

    @property
    def skips_repeats(self) -> bool:
        """Whether generators may omit scenarios that they proposed before in this probe."""
        return self._pruning is not None

    def is_hopeless(self, scenario: Scenario) -> bool:
        """Whether a simulation of the scenario cannot succeed; with all accumulated victims, it may."""
        if self._pruning is None or self._needs is None or len(scenario.potential) == len(self.potential):
            return False
        prospects, nodes = self._pruning.prefix_bounds, self._nodes_of(scenario.potential)
        if prospects is not None and not prospects.can_meet(self._needs, nodes):
            return True
        return not self._needs.are_met_with(scenario.potential)

    def potential_on(self, node: int) -> list[Batch]:
        """All accumulated batches of the pod groups that have accumulated tasks on a node."""
        sequence, chosen, groups = self._sequence, list[Batch](), set[int]()
        for number in sequence.on(node):
            if not self._is_accumulated(number):
                continue
            batch = sequence.batches[number]
            numbers = sequence.of(batch.pod_group)
            if len(numbers) == 1:
                chosen.append(batch)
            elif batch.pod_group not in groups:
                groups.add(batch.pod_group)
                chosen.extend([sequence.batches[n] for n in numbers if self._is_accumulated(n)])
        return chosen

    def free_gpu_milli(self, node: int) -> int:
        """Idle and releasing GPUs of a node, and those of recorded victims there."""
        return self._placer.index.free_gpu_milli()[node] + self._freed.get(node, 0)

    def gpu_milli_on(self, task: int) -> int:
        """GPUs that evicting the task frees on its node."""
        return self._session.ledger.freed_gpu_milli(task)

    def nodes_after_eviction(self) -> list[NodeAfterEviction]:
        """Every node with accumulated tasks, after their eviction."""
        found = []
        for node, on in self._sequence.nodes.items():
            if on.numbers[0] < self._next:
                emptied = self.node_after_eviction(node)
                if emptied[3]:
                    found.append(emptied)
        return found

    def node_after_eviction(self, node: int) -> NodeAfterEviction:
        """A node after the eviction of its accumulated tasks."""
        skips = self._skips if node in self._freed else ()
        gpus, batches, first = self._sequence.freed_on(node, self._next, skips)
        return self.free_gpu_milli(node) + gpus, first, node, batches

    def batches_on(self, nodes: Iterable[int]) -> list[Batch]:
        """Accumulated batches with a task on one of the nodes, in the order of accumulation."""
        numbers = {
            number for node in nodes for number in self._sequence.on(node) if self._is_accumulated(number)
        }
        return [self._sequence.batches[number] for number in sorted(numbers)]

    def demands(self) -> list[int]:
        """GPU amounts of the pending tasks, largest first."""
        return gpu_demands(self._session, self._pending)

    def feasible_nodes(self) -> Iterator[int]:
        """Nodes with free or releasing capacity for the preemptor, or where recorded victims free it."""
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

    def _recorded_needs(self) -> ProbeNeeds | None:
        """Needs of the probe, with the contribution of the recorded victims."""
        if self._pruning is None:
            return None
        needs = ProbeNeeds(self._pruning.pruner, self._pruning.bound, self._pending)
        needs.add(self.recorded)
        return needs

    def _skip_ahead(self, needs: ProbeNeeds) -> bool:
        """Accumulate all batches before the first one that may meet the needs; False: there is none.

        If a prefix contains all recorded victims, its totals are used without recording them.
        """
        assert self._pruning is not None
        prospects = self._pruning.prefix_bounds
        count = None if prospects is None else prospects.first_sufficient(needs)
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
        """The same batch by batch; returns the number of batches, including that one."""
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
        """KAI's conditions on accumulated victims, as far as the needs do not imply them."""
        if not self._is_capacity_implied and not self._has_capacity():
            return False
        if not self._allowed:
            return True
        reachable = self._feasible | bit_set(self._nodes_of((*self.recorded, *self.potential)))
        return all(nodes & reachable for nodes in self._allowed)

    def _has_capacity(self) -> bool:
        if self._gpu_capacity is None:
            free = self._placer.index.free_gpu_milli()
            self._gpu_capacity = GpuCapacityFilter(self._session, self._pending, free, self._feasible)
            self._gpu_capacity.add(
                task for batch in (*self.recorded, *self.potential) for task in batch.tasks
            )
        return self._gpu_capacity.passes()

    def _is_accumulated(self, number: int) -> bool:
        return number < self._next and number not in self._skips

    def _nodes_of(self, batches: Iterable[Batch]) -> set[int]:
        """Nodes that the tasks of these batches are on."""
        placements = self._session.ledger.placements
        return {placements[task].node for batch in batches for task in batch.tasks}


def _is_choosy(shape: TaskShape) -> bool:
    return bool(shape.constraints.node_selector or shape.constraints.node_affinity)
