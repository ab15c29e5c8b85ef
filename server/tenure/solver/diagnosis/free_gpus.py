"""GPUs that are free on a node and given to no pod (semantics R13.51).

A pod with reserved capacity takes first what other pods of its node release, then what is idle. What it takes
of the idle GPUs is not free, although it does not run yet.
"""

from collections import Counter
from typing import Final, final

from tenure.solver.framework.ledger import Ledger
from tenure.solver.model.placement import TaskStatus


@final
class FreeGpus:
    """As the ledger was when this was made; amounts in thousandths of a GPU."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger: Final = ledger
        self._leaving, self._given = Counter[int](), Counter[int]()
        """By node: what pods release, and what others have been given of that or of what is idle."""
        for task, placement in enumerate(ledger.placements):
            previous = placement.previous
            if previous is not None:
                self._leaving[previous.node] += ledger.freed_gpu_milli(task)
            if placement.status is TaskStatus.RELEASING:
                self._leaving[placement.node] += ledger.freed_gpu_milli(task)
            elif placement.status is TaskStatus.PIPELINED:
                self._given[placement.node] += ledger.freed_gpu_milli(task)

    def on(self, node: int) -> int:
        """What is idle on a node, and given to no pod that waits for it."""
        beyond = max(0, self._given[node] - self._leaving[node])
        return max(0, self._ledger.node_infos[node].idle_gpu_milli() - beyond)

    def leaving(self, node: int) -> int:
        """What pods release on a node, and no other pod has been given."""
        return max(0, self._leaving[node] - self._given[node])
