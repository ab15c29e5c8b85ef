"""Victims are accumulated in order, one batch after the other, and generators choose scenarios from them.

A `ScenarioAccumulator` is what a generator sees of one attempt. It stops wherever KAI's filters pass
(semantics R5.29).
"""

from collections.abc import Collection, Iterator, Sequence

from tenure.solver.model.placement import NOWHERE
from tenure.solver.plugin_api.scenario import Batch, Batches, NodeAfterEviction, Scenario
from tenure.solver.search.attempts import Attempt
from tenure.solver.search.node_order import bit_set, bits
from tenure.solver.search.scenario_filters import ScenarioFilters, gpu_demands
from tenure.solver.search.search_components import SearchComponents
from tenure.solver.search.search_result import SearchState


class ScenarioAccumulator:
    """The `ScenarioBuilder` of one attempt: takes victims until the filters pass, then again one more."""

    def __init__(self, components: SearchComponents, state: SearchState, attempt: Attempt) -> None:
        self.recorded = attempt.recorded
        self.potential: list[Batch] = []
        self._session = components.session
        self._ledger = components.session.ledger
        self._nodes = components.node_order
        self._search = state.search
        self._feasible = state.feasible
        self._conditions = state.conditions
        self._attempt = attempt
        self._sequence = attempt.sequence
        self._skips = attempt.skips
        self._next = 0
        self._last_nodes: Collection[int] = ()
        self._freed: dict[int, int] = {}
        for batch in attempt.recorded:
            for task in batch.tasks:
                node = self.node_of(task)
                self._freed[node] = self._freed.get(node, 0) + self.gpu_milli_on(task)
        self._filters = ScenarioFilters(components, state, attempt)

    def outer_scenarios(self) -> Iterator[None]:
        """Recorded victims only, then with increasing parts of the victim order (semantics R5.29)."""
        first = self._first_prefix()
        if first is None:
            return
        if first == 0:
            if self._filters.pass_with(self.potential):
                yield
        else:
            self._next = first - 1
            self.potential = self._sequence.before(self._next, self._skips)
        while self._sequence.reaches(self._next):
            self._next += 1
            if self._next - 1 in self._skips:
                continue
            batch = self._sequence.batches[self._next - 1]
            self.potential.append(batch)
            self._filters.add(batch)
            if self._filters.pass_with(self.potential):
                yield

    def scenario(self, potential: Sequence[Batch], by_pod_group: bool = False) -> Scenario:
        """Scenario of the recorded victims and these."""
        recorded, chosen = self._trim(potential, self._last_nodes)
        return Scenario(self._search.preemptor, self._attempt.tasks, recorded, chosen, by_pod_group)

    @property
    def skips_repeats(self) -> bool:
        """Whether generators may omit scenarios that they proposed before in this attempt."""
        return bool(self._conditions)

    def is_ruled_out(self, scenario: Scenario) -> bool:
        """Whether a simulation of the scenario cannot succeed; with all accumulated victims, it may."""
        if not self._conditions or len(scenario.potential) == len(self.potential):
            return False
        return any(condition.rules_out(scenario.potential) for condition in self._conditions)

    def potential_on(self, node: int) -> Sequence[Batch]:
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
        return self._trim(chosen, (node,))[1]

    def free_gpu_milli(self, node: int) -> int:
        """Idle and releasing GPUs of a node, and those of recorded victims there."""
        return self._nodes.free_gpu_milli_on(node) + self._freed.get(node, 0)

    def gpu_milli_on(self, task: int) -> int:
        """GPUs that evicting the task frees on its node."""
        return self._ledger.freed_gpu_milli(task)

    def nodes_after_eviction(self) -> list[NodeAfterEviction]:
        """Every node with accumulated tasks, after their eviction."""
        nodes = [node for node, on in self._sequence.nodes.items() if on.numbers[0] < self._next]
        return [node for node in map(self.node_after_eviction, nodes) if node[3]]

    def node_after_eviction(self, node: int) -> NodeAfterEviction:
        """A node after the eviction of its accumulated tasks."""
        skips = self._skips if node in self._freed else ()
        gpus, batches, first = self._sequence.freed_on(node, self._next, skips)
        return self.free_gpu_milli(node) + gpus, first, node, batches

    def batches_on(self, nodes: Collection[int]) -> Sequence[Batch]:
        """Accumulated batches with a task on one of the nodes, in the order of accumulation."""
        found = {n for node in nodes for n in self._sequence.on(node) if self._is_accumulated(n)}
        self._sequence.complete(found, self._session.cluster.pod_groups)
        chosen = [self._sequence.batches[number] for number in sorted(found) if self._is_accumulated(number)]
        return self._trim(chosen, nodes)[1]

    def demands(self) -> list[int]:
        """GPU amounts of the pending tasks, largest first."""
        return gpu_demands(self._session, self._attempt.tasks)

    def feasible_nodes(self) -> Iterator[int]:
        """Nodes with free or releasing capacity for the preemptor, or where recorded victims free it."""
        return bits(self._feasible | bit_set(self._freed))

    def node_of(self, task: int) -> int:
        """The node of a task."""
        return self._ledger.placements[task].node

    def nodes_of(self, pod_group: int) -> Sequence[int]:
        """Nodes that host any task of a pod group, by name."""
        tasks = self._session.cluster.pod_groups[pod_group].tasks
        if len(tasks) == 1:
            node = self.node_of(tasks[0])
            return () if node == NOWHERE else (node,)
        return sorted({self.node_of(task) for task in tasks} - {NOWHERE})

    def _trim(self, potential: Sequence[Batch], nodes: Collection[int]) -> tuple[Batches, Batches]:
        self._last_nodes, limits, search = nodes, self._session.disruptions, self._search
        return limits.trim(search.action, search.preemptor, self.recorded, tuple(potential), nodes)

    def _first_prefix(self) -> int | None:
        """Victims to take before the first scenario that no condition rules out; None: there is none."""
        most = 0
        for condition in self._conditions:
            count = condition.first_prefix(self._attempt)
            if count is None:
                return None
            most = max(most, count)
        return most

    def _is_accumulated(self, number: int) -> bool:
        return number < self._next and number not in self._skips
