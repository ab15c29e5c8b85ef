"""What a scenario takes from the queues of its victims, in the pieces that are judged (R4.50, R4.51)."""

from tenure.solver.framework.scenario import Scenario
from tenure.solver.framework.session import Session
from tenure.solver.model.resources import NO_SHARE, Share
from tenure.solver.model.workload import Task, add_shares
from tenure.solver.plugins.proportion import reclaimable


class Pieces:
    """Cuts what victims lose for good, while the moves of the simulation are in place."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._groups = session.cluster.pod_groups
        self._queues = session.cluster.queues

    def of(self, scenario: Scenario) -> list[tuple[int, Share]]:
        """Leaf queue and amount of every piece that is taken, queues by name (semantics R4.51, R4.58)."""
        by_queue: dict[int, list[Share]] = {}
        freed: set[int] = set()
        facts = self._session.cluster.tasks
        for pod_group, tasks in scenario.victims().items():
            group = self._groups[pod_group]
            assert group.queue is not None
            amounts: list[tuple[int, Share]] = []
            for index in tasks:
                if self._is_taken(index):
                    task = facts[index]
                    assert task.pod_set is not None
                    amounts.append((task.pod_set, self._share(task, freed)))
            pieces = by_queue.get(group.queue)
            if pieces is None:
                pieces = by_queue[group.queue] = []
            if len(amounts) == 1 and amounts[0][1] != NO_SHARE:
                pieces.append(amounts[0][1])
            else:
                minimums = {s.index: s.min_available for s in group.pod_sets}
                pieces.extend(reclaimable.chunks(amounts, minimums))
        queues = sorted(by_queue, key=self._name) if len(by_queue) > 1 else list(by_queue)
        return [(queue, piece) for queue in queues for piece in by_queue[queue]]

    def _name(self, queue: int) -> str:
        return self._queues[queue].name

    def _is_taken(self, task: int) -> bool:
        """With consolidating reclaim, a victim that was placed again does not count (semantics R4.51)."""
        is_placed = self._session.ledger.placements[task].is_active_allocated
        return not (is_placed and self._session.options.consolidating_reclaim)

    def _share(self, task: Task, freed: set[int]) -> Share:
        """What its queue uses less without it, with claims that nobody uses any more and were not counted."""
        ledger = self._session.ledger
        share = ledger.share(task, ledger.placements[task.index].node)
        for claim in task.shape.shared_claims:
            if claim not in freed and not ledger.claims.is_active(claim):
                freed.add(claim)
                share = add_shares(share, (0, 0, self._session.cluster.claims[claim].gpu_milli))
        return share
