"""The victim order by number, drawn on demand and shared by all attempts of a search.

Every attempt starts from the same state and so has the same order; only victims recorded for fewer tasks are
omitted. This holds while each recorded batch was the first of its pod group: if more of a pod group was
recorded at once, its remaining tasks have another position.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable
from itertools import compress

from tenure.solver.framework.ledger import Ledger
from tenure.solver.model.persistent_vector import PersistentVector
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.scenario import Batch
from tenure.solver.search.victim_batches import VictimBatches


class NodeBatches:
    """Batches with tasks on one node, summed up so that totals of any prefix can be looked up."""

    __slots__ = ("first_tasks", "numbers", "sums")

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.sums: list[int] = []
        """GPUs that evicting each batch and those before it frees there, in thousandths."""
        self.first_tasks: list[int] = []
        """Of each batch, the first task there, counted over the whole sequence."""


class VictimSequence:
    """Batches by number, drawn from the victim order on demand."""

    def __init__(self, ledger: Ledger, source: VictimBatches) -> None:
        self.batches: list[Batch] = []
        self.nodes: dict[int, NodeBatches] = {}
        """Nodes with tasks of batches, in order of first occurrence."""
        self._source = source
        self._ledger = ledger
        self._is_done = False
        self._tasks = 0
        self._of: dict[int, list[int]] = {}
        self._split: set[int] = set()
        """Pod groups with several batches."""

    def reaches(self, number: int) -> bool:
        """Whether there is a batch of this number."""
        while len(self.batches) <= number and not self._is_done:
            batch = self._source.pop()
            if batch is None:
                self._is_done = True
            else:
                self._take(batch)
        return len(self.batches) > number

    def of(self, pod_group: int) -> list[int]:
        """Numbers of the batches of a pod group so far."""
        return self._of.get(pod_group, [])

    def on(self, node: int) -> list[int]:
        """Numbers of the batches so far that have a task on a node."""
        on = self.nodes.get(node)
        return [] if on is None else on.numbers

    def before(self, number: int, skips: Collection[int]) -> list[Batch]:
        """All batches before this number, except `skips`."""
        if not skips:
            return self.batches[:number]
        kept = bytearray(b"\1") * number
        for skipped in skips:
            if skipped < number:
                kept[skipped] = 0
        return list(compress(self.batches, kept))

    def complete(self, numbers: set[int], pod_groups: PersistentVector[PodGroup]) -> None:
        """Add the batches before these of pod groups that would otherwise be cut below their minimum."""
        if not self._split:
            return
        for pod_group in self._split.intersection([self.batches[number].pod_group for number in numbers]):
            own = self._of[pod_group]
            chosen = [number for number in own if number in numbers]
            if len(chosen) < len(own) and self._is_cut(pod_groups[pod_group], chosen):
                numbers.update([number for number in own if number < chosen[-1]])

    def _is_cut(self, group: PodGroup, numbers: list[int]) -> bool:
        """Whether a pod group that has its minimum is left without it, and with other tasks."""
        taken = Counter[int]()
        for number in numbers:
            for task in self.batches[number].tasks:
                pod_set = self._ledger.tasks[task].pod_set
                if pod_set is not None:
                    taken[pod_set] += 1
        return group.is_cut(self._ledger.active_allocated, taken)

    def freed_on(self, node: int, number: int, skips: Collection[int]) -> tuple[int, int, int]:
        """Totals on a node of the batches before this number, except `skips`.

        Returns the GPUs that they free in thousandths, how many of them have tasks there, and the first such
        task, counted over the whole sequence.
        """
        on = self.nodes[node]
        count = bisect_left(on.numbers, number)
        if not skips:
            return (on.sums[count - 1], count, on.first_tasks[0]) if count else (0, 0, 0)
        gpus, kept, first = 0, 0, 0
        for i in range(count):
            if on.numbers[i] not in skips:
                gpus += on.sums[i] - (on.sums[i - 1] if i else 0)
                first = first if kept else on.first_tasks[i]
                kept += 1
        return gpus, kept, first

    def numbers(self, recorded: Iterable[Batch]) -> list[int] | None:
        """Numbers of recorded batches; None if the others would come in a different order."""
        found = []
        for batch in recorded:
            numbers = self._of.get(batch.pod_group)
            if not numbers or self.batches[numbers[0]].tasks != batch.tasks:
                return None
            found.append(numbers[0])
        return found

    def _take(self, batch: Batch) -> None:
        number = len(self.batches)
        self.batches.append(batch)
        own = self._of.setdefault(batch.pod_group, [])
        own.append(number)
        if len(own) > 1:
            self._split.add(batch.pod_group)
        for task in batch.tasks:
            node = self._ledger.placements[task].node
            on = self.nodes.get(node)
            if on is None:
                on = self.nodes[node] = NodeBatches()
            if not on.numbers or on.numbers[-1] != number:
                on.sums.append(on.sums[-1] if on.sums else 0)
                on.numbers.append(number)
                on.first_tasks.append(self._tasks)
            on.sums[-1] += self._ledger.freed_gpu_milli(task)
            self._tasks += 1
