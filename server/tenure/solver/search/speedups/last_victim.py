"""Saves, with `reclaim_bound`: placing the last victim of a scenario, whose turn is before the preemptor's.
Sound: the victims are whole gangs, and those before the last one are placed again. If the nodes that the
last one left have capacity for all its tasks, it is placed too, because equal tasks cannot take each other's
places. Then as many GPUs are free as without victims, and the preemptor needs more. For tasks that take whole
GPUs (`may_take_turns`).
Switch: `reclaim_bound`. Plain: the simulation.
Compared by: tests/solver/search/speedups/test_last_victim.py, and the check `differential`.
"""

from typing import final

from tenure.solver.framework.session import Session
from tenure.solver.model.resources import GPU
from tenure.solver.plugin_api.scenario import Scenario
from tenure.solver.search.node_order import bit_set
from tenure.solver.search.oracle import SearchParts


@final
class LastVictim:
    """Whether the victims of a scenario take all again before the preemptor has its turn."""

    def __init__(self, session: Session, parts: SearchParts, free: int) -> None:
        """`free` is an upper bound of the free GPUs without victims, in thousandths."""
        self._session = session
        self._parts = parts
        self._free = free

    def blocks(self, scenario: Scenario, last: int) -> bool:
        """Whether the preemptor certainly finds no place after this victim, whose turn it is."""
        ledger, victims = self._session.ledger, scenario.victims()
        if ledger.demand(scenario.pending)[GPU] <= self._free or not all(
            map(self._is_whole, victims.items())
        ):
            return False
        tasks, facts = victims[last], self._session.cluster.tasks
        shape = facts[tasks[0]].shape
        if any(facts[task].shape is not shape for task in tasks):
            return False
        places = {ledger.placements[task].node for task in tasks}
        request, most = shape.request_vector, len(tasks)
        if bit_set(places) & ~self._parts.allowed_nodes.of(shape):
            return False
        if sum([ledger.node_infos[node].soon().times(request, most) for node in places]) < most:
            return False
        return self._session.chains.has_capacity(last, tasks, ledger.least_demand(tasks)) is None

    def _is_whole(self, victim: tuple[int, list[int]]) -> bool:
        """Whether it is placed with all its tasks, or with none."""
        pod_group, tasks = victim
        group = self._session.cluster.pod_groups[pod_group]
        return group.is_plain and group.pod_sets[0].min_available >= len(group.tasks) == len(tasks)
