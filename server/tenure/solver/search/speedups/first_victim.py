"""Saves: computing bounds before the first simulation, when evicting the first victim alone is enough.
Sound: the first scenario generator declares that it proposes that scenario first; a failure leaves no trace
and is not simulated again; for a single task that requests whole GPUs and fits no node now.
Switch: `first_victim`. Plain: the search as it is.
Compared by: tests/solver/search/speedups/test_first_victim.py, and the check `differential`.
"""

from tenure.solver.framework.session import Session
from tenure.solver.model.resources import GPU
from tenure.solver.plugin_api.scenario import Batch, Scenario
from tenure.solver.search.oracle import Oracle, Search, SearchParts
from tenure.solver.search.speedups.fit_counts import requests_whole_gpus


class FirstVictim(Oracle):
    """Knows the first scenario of a search, as long as that was enough for the last single task."""

    def __init__(self, session: Session, parts: SearchParts) -> None:
        self._session = session
        self._parts = parts
        self._is_enabled = session.chains.starts_with_first_victim
        self._was_enough = True
        self._last: Search | None = None
        """The search before, whose result is looked at when the next one starts."""
        self._proposed: Scenario | None = None
        """The scenario that was stated for it."""

    def first_scenario(self, search: Search) -> Scenario | None:
        """The first victim alone, if it frees enough GPUs for the task on its node."""
        if not self._is_enabled:
            return None
        self._learn()
        self._last, self._proposed = search, None
        if not self._was_enough or len(search.tasks) > 1:
            return None
        shape = self._session.cluster.tasks[search.tasks[0]].shape
        is_plain = shape.request[GPU] > 0 and requests_whole_gpus(shape)
        if not is_plain or search.feasible & self._parts.allowed_nodes.of(shape):
            return None
        sequence = search.sequence(self._parts)
        if sequence.reaches(0) and self._frees_gpus(sequence.batches[0], search.tasks[0]):
            self._proposed = Scenario(search.preemptor, (search.tasks[0],), (), (sequence.batches[0],))
        return self._proposed

    def close(self) -> None:
        """Forget the last search."""
        self._last = None

    def _learn(self) -> None:
        """Whether the first victim alone was enough for the search before."""
        last = self._last
        if last is None:
            return
        solution = last.solution
        if solution is not None:
            self._was_enough = len(last.tasks) == 1 and _is_first_alone(self._parts, last, solution)
        elif self._proposed is not None:
            self._was_enough = False

    def _frees_gpus(self, batch: Batch, task: int) -> bool:
        """Whether any victim frees enough GPUs for the task on a node on which it may run."""
        ledger, shape = self._session.ledger, self._session.cluster.tasks[task].shape
        allowed, free = self._parts.allowed_nodes.of(shape), self._parts.node_order
        for victim in batch.tasks:
            node = ledger.placements[victim].node
            gpus = free.free_gpu_milli_on(node) + ledger.freed_gpu_milli(victim)
            if gpus >= shape.request[GPU] and allowed >> node & 1:
                return True
        return False


def _is_first_alone(parts: SearchParts, search: Search, scenario: Scenario) -> bool:
    """Whether the scenario consists of the first victim of the order only."""
    if scenario.recorded or len(scenario.potential) != 1:
        return False
    return scenario.potential[0] is search.sequence(parts).batches[0]
