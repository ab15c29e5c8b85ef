"""How many GPUs may restart elsewhere for each GPU that is requested (semantics R15.14)."""

from collections.abc import Collection, Iterable
from typing import Final, final

from tenure.solver.framework.ledger import Ledger
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.resources import GPU, UNLIMITED
from tenure.solver.plugin_api.profile import CycleOptions
from tenure.terms.formatting import count_gpus
from tenure.terms.reasons import ReasonCode

SOURCE: Final = "search"


@final
class MovedGpus:
    """The limit of `maxMovedGpusPerGpu`, by the placements of a ledger."""

    def __init__(self, cluster: Cluster, ledger: Ledger, options: CycleOptions) -> None:
        self._tasks = cluster.tasks
        self._ledger = ledger
        self._most = options.max_moved_gpus_per_gpu
        self.is_active: Final = self._most != UNLIMITED
        self.was_met = False
        """Whether it kept a search of this cycle from some victims."""

    def rejection(self, requested: Collection[int], tasks: Iterable[int]) -> Rejection | None:
        """Why those of the tasks that are placed elsewhere must not move for these that are to be placed."""
        if not self.is_active:
            return None
        placements, moved = self._ledger.placements, 0
        for index in tasks:
            task, place = self._tasks[index], placements[index]
            before = task.placement
            if before.is_allocated and place.status is TaskStatus.PIPELINED and place != before:
                moved += self._ledger.share(task, before.node)[GPU]
        wanted = self._ledger.demand(requested)[GPU]
        if moved <= self._most * wanted:
            return None
        self.was_met = True
        detail = (
            f"{count_gpus(moved)} would restart on other nodes for {count_gpus(wanted)}, and at most "
            f"{self._most} may for each (maxMovedGpusPerGpu)"
        )
        return Rejection(ReasonCode.EVICTION_RATE, detail, source=SOURCE)
