"""Scenarios that empty one node (R5.40-R5.44), or the smallest sufficient set of nodes (R5.45-R5.49)."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.points import ScenarioGenerator
from tenure.solver.plugin_api.scenario import NodeAfterEviction, Scenario, ScenarioBuilder
from tenure.solver.plugin_api.traits import Traits


class NodeLocalGreedy(ScenarioGenerator):
    """Proposes victims on one node.

    For every node of the last accumulated victim: the accumulated victims with tasks there.
    """

    TRAITS: ClassVar = Traits(first_scenario_is_first_victim=True)

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        pass

    def scenarios(self, builder: ScenarioBuilder) -> Iterator[Scenario]:
        """The first scenario consists of the recorded victims, if there are any."""
        for _ in builder.outer_scenarios():
            if not builder.potential:
                if builder.recorded:
                    yield builder.scenario((), by_pod_group=True)
                continue
            nodes, proposed = builder.nodes_of(builder.potential[-1].pod_group), set[frozenset[int]]()
            for node in nodes:
                chosen = builder.potential_on(node)
                if len(nodes) > 1:
                    tasks = frozenset([task for batch in chosen for task in batch.tasks])
                    if tasks in proposed:
                        continue
                    proposed.add(tasks)
                if chosen:
                    yield builder.scenario(chosen, by_pod_group=True)


class MultiNodeGang(ScenarioGenerator):
    """Proposes victims on a growing set of nodes, nodes with the smallest capacity first."""

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        pass

    def scenarios(self, builder: ScenarioBuilder) -> Iterator[Scenario]:
        """The accumulated victims on the first K nodes, from the smallest sufficient K to all nodes."""
        nodes = _Nodes(builder)
        proposed: set[tuple[NodeAfterEviction, ...]] = set()
        for _ in builder.outer_scenarios():
            nodes.follow()
            if not builder.potential:
                yield builder.scenario(())
                continue
            for prefix in nodes.prefixes():
                if prefix not in proposed or not builder.skips_repeats:
                    proposed.add(prefix)
                    yield builder.scenario(builder.batches_on([node for _, _, node, _ in prefix]))


class _Nodes:
    """Nodes with accumulated victims, by capacity and then by the time they were added."""

    def __init__(self, builder: ScenarioBuilder) -> None:
        self._builder = builder
        self._demands = builder.demands()
        self._seen = 0
        self._order: list[NodeAfterEviction] = []
        self._entries: dict[int, NodeAfterEviction] = {}
        self._feasible = set(builder.feasible_nodes())
        self._elsewhere = 0
        """Free GPUs of feasible nodes without accumulated victims."""

    def follow(self) -> None:
        """Add the batches that were accumulated since the last call."""
        if self._seen:
            self._add_batches()
        else:
            self._order = sorted(self._builder.nodes_after_eviction())
            self._entries = {entry[2]: entry for entry in self._order}
            others = self._feasible.difference(self._entries)
            self._elsewhere = sum([self._builder.free_gpu_milli(node) for node in others])
        self._seen = len(self._builder.potential)

    def _add_batches(self) -> None:
        builder = self._builder
        for number in range(self._seen, len(builder.potential)):
            for node in {builder.node_of(task) for task in builder.potential[number].tasks}:
                old = self._entries.get(node)
                if old is not None:
                    del self._order[bisect_left(self._order, old)]
                elif node in self._feasible:
                    self._elsewhere -= builder.free_gpu_milli(node)
                new = self._entries[node] = builder.node_after_eviction(node)
                insort(self._order, new)

    def prefixes(self) -> Iterator[tuple[NodeAfterEviction, ...]]:
        """The smallest sufficient prefix of the nodes, then longer ones with doubling steps, then all."""
        useful = self._order[bisect_left(self._order, (self._demands[-1], -1, -1, -1)) :]
        size = _sufficient(useful, sum(self._demands) - self._elsewhere)
        if size is None:
            return
        step = 1
        while True:
            yield tuple(useful[:size])
            if size >= len(useful):
                return
            size = min(size + step, len(useful))
            step *= 2


def _sufficient(nodes: Iterable[NodeAfterEviction], needed: int) -> int | None:
    """Number of nodes that cover the needed amount; None if all nodes do not."""
    if needed <= 0:
        return 0
    for count, (capacity, _, _, _) in enumerate(nodes, start=1):
        needed -= capacity
        if needed <= 0:
            return count
    return None
