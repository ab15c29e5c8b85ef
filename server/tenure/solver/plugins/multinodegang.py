"""Scenarios that empty the smallest sufficient sets of nodes (semantics R5.45-R5.49)."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

from tenure.solver.framework.profile import Parsers
from tenure.solver.framework.scenario import Batch, Scenario, ScenarioBuilder
from tenure.solver.framework.session import Session

Entry = tuple[int, int, int, int]
"""Capacity in thousandths of a GPU, when the node was first seen, node, number of its batches."""


class MultiNodeGang:
    """Nodes with accumulated victims, the smallest capacity first, in sets that grow by doubling steps."""

    ARGUMENTS: ClassVar[Parsers] = {}

    def __init__(self, session: Session, arguments: Mapping[str, str]) -> None:
        pass

    def scenarios(self, builder: ScenarioBuilder) -> Iterator[Scenario]:
        """The accumulated victims on the first K nodes, for K from what suffices up to all of them."""
        nodes = _Nodes(builder)
        proposed: set[tuple[Entry, ...]] = set()
        for _ in builder.outer_scenarios():
            nodes.follow()
            if not builder.potential:
                yield builder.scenario(())
                continue
            for prefix in nodes.prefixes():
                if prefix not in proposed or not builder.skips_repeats:
                    proposed.add(prefix)
                    yield builder.scenario(nodes.batches_on(prefix))


class _Nodes:
    """Nodes with accumulated victims, the smallest capacity first, then the first seen."""

    def __init__(self, builder: ScenarioBuilder) -> None:
        self._builder = builder
        self._demands = builder.demands()
        self._seen = 0
        self._order: list[Entry] = []
        self._entries: dict[int, Entry] = {}
        self._batches: dict[int, list[int]] = {}
        self._feasible = set(builder.feasible_nodes())
        self._elsewhere = sum(builder.free_gpu_milli(node) for node in self._feasible)

    def follow(self) -> None:
        """Take in the batches that were added since."""
        if not self._seen:
            self._take_in_first()
            return
        for number in range(self._seen, len(self._builder.potential)):
            for node, gpus in self._builder.freed_by(number):
                old, new = self._add(number, node, gpus)
                if old is not None:
                    del self._order[bisect_left(self._order, old)]
                insort(self._order, new)
        self._seen = len(self._builder.potential)

    def _take_in_first(self) -> None:
        """All that there are to begin with, and nodes are sorted once."""
        freed: dict[int, int] = {}
        self._seen = len(self._builder.potential)
        for number in range(self._seen):
            for node, gpus in self._builder.freed_by(number):
                if node in freed:
                    freed[node] += gpus
                    numbers = self._batches[node]
                    if numbers[-1] != number:
                        numbers.append(number)
                else:
                    freed[node] = gpus
                    self._batches[node] = [number]
        for node, gpus in freed.items():
            entry = (self._capacity(node) + gpus, len(self._entries), node, len(self._batches[node]))
            self._entries[node] = entry
        self._order = sorted(self._entries.values())

    def _capacity(self, node: int) -> int:
        """Free GPUs of a node that is seen for the first time: they count there from now on."""
        capacity = self._builder.free_gpu_milli(node)
        if node in self._feasible:
            self._elsewhere -= capacity
        return capacity

    def prefixes(self) -> Iterator[tuple[Entry, ...]]:
        """The smallest sufficient prefix of the nodes, then longer ones in doubling steps, then all."""
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

    def batches_on(self, nodes: Iterable[Entry]) -> list[Batch]:
        """Every batch that has a task on one of the nodes, in the order of accumulation."""
        numbers = {number for _, _, node, _ in nodes for number in self._batches[node]}
        return [self._builder.potential[number] for number in sorted(numbers)]

    def _add(self, number: int, node: int, gpus: int) -> tuple[Entry | None, Entry]:
        """The entry of the node before and after a task of a batch there is counted."""
        old = self._entries.get(node)
        if old is None:
            capacity, first_seen = self._capacity(node), len(self._entries)
        else:
            capacity, first_seen, _, _ = old
        numbers = self._batches.setdefault(node, [])
        if not numbers or numbers[-1] != number:
            numbers.append(number)
        entry = (capacity + gpus, first_seen, node, len(numbers))
        self._entries[node] = entry
        return old, entry


def _sufficient(nodes: Iterable[Entry], needed: int) -> int | None:
    """How many of the nodes it takes to cover what is needed; None when all do not suffice."""
    if needed <= 0:
        return 0
    for count, (capacity, _, _, _) in enumerate(nodes, start=1):
        needed -= capacity
        if needed <= 0:
            return count
    return None
