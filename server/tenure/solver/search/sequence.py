"""The victims of one search in the order in which they are taken: popped once, kept for all its probes.

Every probe starts from the same state and so meets the same order; only victims that were recorded for
fewer tasks are left out. That holds as long as each recorded batch was the first of its pod group: where
more of a pod group was recorded at once, what is left of it comes at another time.
"""

from collections.abc import Iterable

from tenure.solver.framework.ledger import Ledger
from tenure.solver.framework.scenario import Batch
from tenure.solver.search.victims import VictimOrder


class VictimSequence:
    """Batches by number, drawn from the victim order as far as somebody asks."""

    def __init__(self, ledger: Ledger, order: VictimOrder) -> None:
        self.batches: list[Batch] = []
        self.freed: list[list[tuple[int, int]]] = []
        """By batch: nodes and GPUs that evicting each task frees there."""
        self._order = order
        self._ledger = ledger
        self._is_done = False
        self._of: dict[int, list[int]] = {}
        self._on: dict[int, list[int]] = {}

    def reaches(self, number: int) -> bool:
        """Whether there is a batch of this number."""
        while len(self.batches) <= number and not self._is_done:
            batch = self._order.pop()
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
        return self._on.get(node, [])

    def numbers(self, recorded: Iterable[Batch]) -> list[int] | None:
        """Numbers of recorded batches; None when this is not the order in which the others would come."""
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
        self._of.setdefault(batch.pod_group, []).append(number)
        freed: list[tuple[int, int]] = []
        for task in batch.tasks:
            node = self._ledger.placements[task].node
            freed.append((node, self._ledger.freed_gpu_milli(task)))
            numbers = self._on.setdefault(node, [])
            if not numbers or numbers[-1] != number:
                numbers.append(number)
        self.freed.append(freed)
