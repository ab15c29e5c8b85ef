"""Simulate a scenario: evict its victims, then place preemptor and victims in normal order.

Semantics R5.50-R5.59. Placing victims after the preemptor only uses capacity: if none of them fits, no more
are tried. Victims that precede it may leave it too little capacity, whatever else precedes it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from tenure.solver.framework.session import Session
from tenure.solver.framework.statement import Statement
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.resources import Share
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.plugin_api.scenario import Batch, Scenario
from tenure.solver.search.equal_tasks import EqualTasks
from tenure.solver.search.gang import GangPlanner
from tenure.solver.search.node_order import bit_set
from tenure.solver.search.placer import Placer
from tenure.solver.search.pod_group_lists import SimulationOrder
from tenure.solver.search.search import NEVER, BlockedBy


class ScenarioSimulator:
    """Runs scenarios on the session's own ledger, inside a statement that the caller may undo."""

    def __init__(self, session: Session, gangs: GangPlanner, placer: Placer, order: SimulationOrder) -> None:
        self._session = session
        self._gangs = gangs
        self._placer = placer
        self._order = order
        self._fills_back = session.options.fill_back != NEVER
        self._is_blocked_by: BlockedBy | None = None
        self._equals = EqualTasks(session)
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

        order, waiting = self._order.in_order(scenario.preemptor, victims, share), dict.fromkeys(victims)
        before = order
        if preemptor_first:
            # The order begins with the ledger as it is now, so its first item is drawn here.
            before, order = iter(()), filter(waiting.__contains__, chain((next(order),), order))
        mark = statement.checkpoint()
        is_placed = self._place_preemptor(statement, scenario, before, waiting, nodes)
        self._is_blocked_by = None  # it refers to the session
        for first in self._orders(scenario, len(waiting) == len(victims)) if not is_placed else ():
            statement.rollback(mark)
            waiting = {each: None for each in victims if each not in first}
            for victim in first:
                self._place_again(statement, victim, nodes)
            tasks = [*scenario.pending]
            is_placed = self._placer.place(statement, scenario.preemptor, tasks, nodes, True) is None
            if is_placed:
                order = filter(waiting.__contains__, self._order.in_order(scenario.preemptor, victims, share))
                break
        if is_placed:
            self.place_others(statement, order, waiting, nodes, scenario.pending)
            return True
        statement.rollback(0)
        return False

    def _orders(self, scenario: Scenario, was_first: bool) -> Iterator[Sequence[int]]:
        """Victims to place before a preemptor with relations, if the ordinary order does not work (R5.64).

        Those that it must be near, wherever they fit; then none, unless it came first already.
        """
        if self._session.chains.pod_dependencies:
            if first := self._needed_victims(scenario):
                yield first
            if not was_first:
                yield ()

    def _needed_victims(self, scenario: Scenario) -> list[int]:
        """Victims that the preemptor must be near."""
        chains = self._session.chains
        tasks = [task for own in scenario.victims().values() for task in own]
        needed = chains.needed(scenario.pending, tasks, near=True) if tasks else ()
        victims = scenario.victims().items() if needed else ()
        return [each for each, own in victims if not set(own).isdisjoint(needed)]

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
        order: Iterator[int],
        waiting: dict[int, None],
        nodes: int,
    ) -> bool:
        """Place pod groups in order up to the preemptor; periodically check whether it still fits."""
        shapes, count = self._shapes_of_tasks(scenario.pending).values(), 0
        for pod_group in order:
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
        self,
        statement: Statement,
        order: Iterator[int],
        waiting: Iterable[int],
        nodes: int,
        beside: Sequence[int],
    ) -> None:
        """Place the remaining victims in order, while any of their shapes fits.

        One does not return where that would break a relation of the tasks `beside`, which are placed, or of
        those that it leaves.
        """
        chains = self._session.chains
        shapes = {i: shape for victim in waiting for i, shape in self._shapes_of(victim).items()}
        fitting = self._nodes_with_capacity(shapes, nodes)
        while fitting and (victim := next(order, None)) is not None:
            if fitting.keys().isdisjoint(self._shapes_of(victim)):
                continue
            mark = statement.checkpoint()
            if not self._place_again(statement, victim, nodes):
                fitting = self._nodes_with_capacity(fitting, nodes)
                continue
            if chains.reserved_pods:
                returned = [move.task for move in statement.moves[mark:]]
                if not chains.can_stay(beside, returned):
                    statement.rollback(mark)

    def _nodes_with_capacity(self, shapes: Mapping[int, TaskShape], nodes: int) -> dict[int, TaskShape]:
        return {
            i: shape
            for i, shape in shapes.items()
            if self._placer.has_capacity(shape, self._usable((shape,), nodes))
        }

    def _usable(self, shapes: Iterable[TaskShape], nodes: int) -> int:
        """Nodes for tasks of these shapes: all, if any needs no GPU, because the feasible ones have GPUs.

        Without fill back victims do not leave a node on which they could stay: as in the reference, nodes
        without GPUs take none of them (semantics R5.60).
        """
        if not self._fills_back or all(shape.needs_gpu_capacity for shape in shapes):
            return nodes
        return self._placer.nodes.all_nodes

    def _place_again(self, statement: Statement, victim: int, nodes: int) -> bool:
        """Whether the next tasks of the victim are placed.

        What is left of a pod group that cannot have its minimum could not start elsewhere: it stays or goes.
        """
        tasks, mark = self._gangs.next_tasks(victim, statement.evicted), statement.checkpoint()
        usable = self._usable(self._shapes_of(victim).values(), nodes)
        if not tasks or self._placer.place(statement, victim, tasks, usable, True, tries_others=False):
            return False
        if self._has_minimum(victim) or not any(map(self._is_elsewhere, tasks)):
            self._equals.stay(statement, mark)
            return True
        statement.rollback(mark)
        return False

    def _has_minimum(self, pod_group: int) -> bool:
        return self._session.cluster.pod_groups[pod_group].root.is_met(self._session.ledger.active_allocated)

    def _is_elsewhere(self, task: int) -> bool:
        placement = self._session.ledger.placements[task]
        return placement.previous is not None and placement.previous.node != placement.node

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
