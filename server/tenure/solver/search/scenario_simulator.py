"""Simulate a scenario: evict its victims, then place preemptor and victims in normal order.

Semantics R5.50-R5.59. Placing victims after the preemptor only uses capacity: if none of them fits, no more
are tried. Victims that precede it may leave it too little capacity, whatever else precedes it.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from tenure.solver.framework.session import Session
from tenure.solver.framework.statement import Statement
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.resources import Share
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.plugin_api.scenario import Batch, Scenario
from tenure.solver.search.gang import GangPlanner
from tenure.solver.search.node_order import bit_set
from tenure.solver.search.oracle import BlockedBy
from tenure.solver.search.placer import Placer
from tenure.solver.search.pod_group_lists import SimulationOrder


class ScenarioSimulator:
    """Runs scenarios on the session's own ledger, inside a statement that the caller may undo."""

    def __init__(self, session: Session, gangs: GangPlanner, placer: Placer, order: SimulationOrder) -> None:
        self._session = session
        self._gangs = gangs
        self._placer = placer
        self._order = order
        self._is_blocked_by: BlockedBy | None = None
        self._shapes: dict[int, dict[int, TaskShape]] = {}

    def run(
        self,
        statement: Statement,
        scenario: Scenario,
        nodes: int,
        is_blocked_by: BlockedBy | None = None,
        *,
        preemptor_first: bool = False,
    ) -> bool:
        """Whether the preemptor's tasks are placed; if so the statement has the moves, else it is empty.

        `nodes` are the feasible nodes; those of the victims are added. Victims that can be placed elsewhere
        are relocated, those that still fit on their node are not evicted. With `preemptor_first` no victim is
        placed before the preemptor, whatever the order. `is_blocked_by` may save placing the last one.
        """
        victims, self._is_blocked_by = scenario.victims(), is_blocked_by
        if not victims:
            return False
        placements, left = self._session.ledger.placements, set()
        for tasks in victims.values():
            for task in tasks:
                self._session.stop.check()
                left.add(placements[task].node)
                statement.evict(task)
        nodes |= bit_set(left)

        def share(pod_group: int) -> Share:
            if pod_group == scenario.preemptor:
                return self._session.ledger.demand(scenario.pending)
            return self._session.ledger.demand(self._gangs.next_tasks(pod_group, statement.evicted))

        turns, waiting = self._order.in_order(scenario.preemptor, victims, share), dict.fromkeys(victims)
        before = turns
        if preemptor_first:
            # The order begins with the ledger as it is now, so its first item is drawn here.
            before, turns = iter(()), filter(waiting.__contains__, chain((next(turns),), turns))
        is_placed = self._place_preemptor(statement, scenario, before, waiting, nodes)
        self._is_blocked_by = None  # it refers to the session
        if is_placed:
            self.place_others(statement, turns, waiting, nodes)
            return True
        statement.rollback(0)
        return False

    def displaced(self, scenario: Scenario) -> tuple[Batch, ...]:
        """After a successful run, the batches with an evicted or relocated task (semantics R5.6)."""
        placements, gone = self._session.ledger.placements, (TaskStatus.RELEASING, TaskStatus.PIPELINED)
        batches = (*scenario.recorded, *scenario.potential)
        left = [batch for batch in batches if any(placements[task].status in gone for task in batch.tasks)]
        if not scenario.by_pod_group:
            return tuple(left)
        groups = {batch.pod_group for batch in left}
        return tuple([batch for batch in batches if batch.pod_group in groups])

    def _place_preemptor(
        self,
        statement: Statement,
        scenario: Scenario,
        turns: Iterator[int],
        waiting: dict[int, None],
        nodes: int,
    ) -> bool:
        """Place pod groups in order up to the preemptor; periodically check whether it still fits."""
        shapes, count = self._shapes_of_tasks(scenario.pending).values(), 0
        for pod_group in turns:
            if pod_group == scenario.preemptor:
                break
            del waiting[pod_group]
            is_last = not waiting and count == len(scenario.victims()) - 1
            if is_last and self._is_blocked_by is not None and self._is_blocked_by(scenario, pod_group):
                return False
            count += self._place_again(statement, pod_group, nodes)
            is_time = count & (count - 1) == 0
            for shape in shapes if is_time else ():
                if not self._placer.has_capacity(shape, nodes):
                    return False
        return self._placer.place(statement, scenario.preemptor, [*scenario.pending], nodes, True) is None

    def place_others(
        self, statement: Statement, turns: Iterator[int], waiting: Iterable[int], nodes: int
    ) -> None:
        """Place the remaining victims in order, while any of their shapes fits."""
        shapes = {i: shape for victim in waiting for i, shape in self._shapes_of(victim).items()}
        room = self._nodes_with_capacity(shapes, nodes)
        while room and (victim := next(turns, None)) is not None:
            is_hopeless = room.keys().isdisjoint(self._shapes_of(victim))
            if not is_hopeless and not self._place_again(statement, victim, nodes):
                room = self._nodes_with_capacity(room, nodes)

    def _nodes_with_capacity(self, shapes: Mapping[int, TaskShape], nodes: int) -> dict[int, TaskShape]:
        return {i: shape for i, shape in shapes.items() if self._placer.has_capacity(shape, nodes)}

    def _place_again(self, statement: Statement, victim: int, nodes: int) -> bool:
        """Whether the next tasks of the victim are placed."""
        tasks = self._gangs.next_tasks(victim, statement.evicted)
        return bool(tasks) and not self._placer.place(statement, victim, tasks, nodes, simulation=True)

    def _shapes_of(self, pod_group: int) -> dict[int, TaskShape]:
        """Shapes of all tasks of a pod group, by index."""
        shapes = self._shapes.get(pod_group)
        if shapes is None:
            tasks = self._session.cluster.pod_groups[pod_group].tasks
            shapes = self._shapes[pod_group] = self._shapes_of_tasks(tasks)
        return shapes

    def _shapes_of_tasks(self, tasks: Iterable[int]) -> dict[int, TaskShape]:
        shapes = (self._session.cluster.tasks[task].shape for task in tasks)
        return {shape.index: shape for shape in shapes}
