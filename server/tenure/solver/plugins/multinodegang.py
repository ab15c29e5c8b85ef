"""Scenarios that empty the smallest sufficient sets of nodes (semantics R5.45-R5.49)."""

from collections.abc import Iterator, Mapping

from tenure.solver.framework.scenario import Scenario, ScenarioBuilder
from tenure.solver.framework.session import Session


class MultiNodeGang:
    """Nodes with accumulated victims, the smallest capacity first, in sets that grow by doubling steps."""

    ARGUMENTS: Mapping[str, type] = {}

    def __init__(self, session: Session, arguments: Mapping[str, str]) -> None:
        pass

    def scenarios(self, builder: ScenarioBuilder) -> Iterator[Scenario]:
        """The accumulated victims on the first K nodes, for K from what suffices up to all of them."""
        demands = builder.demands()
        seen = 0
        freed: dict[int, int] = {}
        for _ in builder.outer_scenarios():
            for batch in builder.potential[seen:]:
                for task in batch.tasks:
                    node = builder.node_of(task)
                    freed[node] = freed.get(node, 0) + builder.gpu_milli_on(task)
            seen = len(builder.potential)
            if not seen:
                yield builder.scenario(())
                continue
            yield from self._prefixes(builder, demands, freed)

    def _prefixes(
        self, builder: ScenarioBuilder, demands: list[int], freed: dict[int, int]
    ) -> Iterator[Scenario]:
        capacity = {node: builder.free_gpu_milli(node) + amount for node, amount in freed.items()}
        nodes = [node for node in capacity if capacity[node] >= demands[-1]]
        nodes.sort(key=capacity.__getitem__)
        elsewhere = sum(builder.free_gpu_milli(n) for n in builder.feasible_nodes() if n not in freed)
        size = _sufficient([capacity[node] for node in nodes], sum(demands) - elsewhere)
        if size is None:
            return
        step = 1
        while True:
            yield self._on_nodes(builder, set(nodes[:size]))
            if size >= len(nodes):
                return
            size = min(size + step, len(nodes))
            step *= 2

    def _on_nodes(self, builder: ScenarioBuilder, nodes: set[int]) -> Scenario:
        chosen = [b for b in builder.potential if any(builder.node_of(task) in nodes for task in b.tasks)]
        return builder.scenario(chosen)


def _sufficient(capacities: list[int], needed: int) -> int | None:
    """How many of the capacities it takes to cover what is needed; None when all do not suffice."""
    if needed <= 0:
        return 0
    for count, capacity in enumerate(capacities, start=1):
        needed -= capacity
        if needed <= 0:
            return count
    return None
