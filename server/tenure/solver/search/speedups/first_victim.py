"""Saves: computing bounds before the first simulation, when evicting the first victim alone is enough.
Sound: the first scenario generator declares that it proposes that scenario first; a failure leaves no trace
and is not simulated again; for a single task that requests whole GPUs and fits no node now.
Switch: `first_victim`. Plain: the search as it is.
Compared by: tests/solver/search/speedups/test_first_victim.py, and the check `differential`.
"""

from tenure.solver.framework.session import Session
from tenure.solver.model.resources import GPU
from tenure.solver.plugin_api.scenario import Batch, Scenario
from tenure.solver.search.attempts import SearchVictims
from tenure.solver.search.search import Search
from tenure.solver.search.search_components import SearchComponents
from tenure.solver.search.speedup import Speedup
from tenure.solver.search.speedups.fit_counts import requests_whole_gpus


class FirstVictim(Speedup):
    """Knows the first scenario of a search, as long as that was enough for the last single task."""

    def __init__(self, session: Session, components: SearchComponents) -> None:
        self._session = session
        self._components = components
        self._is_enabled = session.chains.starts_with_first_victim
        self._was_enough = True
        self._victims: SearchVictims | None = None
        """Of the search that is running."""
        self._is_single = False
        """Whether it has one task."""
        self._proposed: Scenario | None = None
        """The scenario that was stated for it."""

    def first_scenario(self, search: Search, feasible: int, victims: SearchVictims) -> Scenario | None:
        """The first victim alone, if it frees enough GPUs for the task on its node."""
        if not self._is_enabled:
            return None
        self._victims, self._is_single = victims, len(search.tasks) == 1
        if not self._was_enough or not self._is_single:
            return None
        shape = self._session.cluster.tasks[search.tasks[0]].shape
        is_plain = shape.request[GPU] > 0 and requests_whole_gpus(shape)
        if not is_plain or feasible & self._components.allowed_nodes.of(shape):
            return None
        sequence = victims.sequence()
        if sequence.reaches(0) and self._frees_gpus(sequence.batches[0], search.tasks[0]):
            self._proposed = Scenario(search.preemptor, search.tasks, (), (sequence.batches[0],))
        return self._proposed

    def record_solution(self, scenario: Scenario | None) -> None:
        """Note whether the first victim alone was enough."""
        victims, proposed = self._victims, self._proposed
        self._victims = self._proposed = None
        if victims is None:
            return
        if scenario is not None:
            self._was_enough = self._is_single and _is_first_alone(victims, scenario)
        elif proposed is not None:
            self._was_enough = False

    def _frees_gpus(self, batch: Batch, task: int) -> bool:
        """Whether any victim frees enough GPUs for the task on a node on which it may run."""
        ledger, shape = self._session.ledger, self._session.cluster.tasks[task].shape
        allowed, free = self._components.allowed_nodes.of(shape), self._components.node_order
        for victim in batch.tasks:
            node = ledger.placements[victim].node
            gpus = free.free_gpu_milli_on(node) + ledger.freed_gpu_milli(victim)
            if gpus >= shape.request[GPU] and allowed >> node & 1:
                return True
        return False


def _is_first_alone(victims: SearchVictims, scenario: Scenario) -> bool:
    """Whether the scenario consists of the first victim of the order only."""
    if scenario.recorded or len(scenario.potential) != 1:
        return False
    return scenario.potential[0] is victims.sequence().batches[0]
