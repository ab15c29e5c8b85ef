"""Simulating a scenario: evict its victims, then place preemptor and victims in normal order.

Semantics R5.50-R5.59. Once the preemptor has its room, placing others only takes room away. So when none of
the victims that are left finds any, nobody else need take a turn.
"""

from collections.abc import Iterable

from tenure.solver.framework.scenario import Batch, Scenario
from tenure.solver.framework.session import Session
from tenure.solver.framework.statement import Statement
from tenure.solver.model.resources import Share
from tenure.solver.model.workload import TaskShape, TaskStatus
from tenure.solver.search.gang import Gangs
from tenure.solver.search.place import Placer
from tenure.solver.search.podgrouplists import PodGroupLists
from tenure.solver.search.turns import Turns


class Simulator:
    """Runs scenarios on the session's own ledger, inside a statement that the caller may undo."""

    def __init__(self, session: Session, gangs: Gangs, placer: Placer, lists: PodGroupLists) -> None:
        self._session = session
        self._gangs = gangs
        self._placer = placer
        self._turns = Turns(session, gangs, lists)
        self._shapes: dict[int, dict[int, TaskShape]] = {}

    def run(self, statement: Statement, scenario: Scenario, nodes: int) -> bool:
        """Whether the preemptor's tasks find room; if so the statement holds the moves, else it is empty.

        `nodes` are the feasible nodes; those of the victims are added. Victims that find room elsewhere are
        moved, those that still fit where they were are not evicted at all.
        """
        victims = scenario.victims()
        if not victims:
            return False
        placements = self._session.ledger.placements
        for tasks in victims.values():
            for task in tasks:
                self._session.stop.check()
                nodes |= 1 << placements[task].node
                statement.evict(task)
        return self._take_turns(statement, scenario, victims, nodes)

    def displaced(self, scenario: Scenario) -> tuple[Batch, ...]:
        """After a successful run, all batches of pod groups of which any task is evicted or moved."""
        placements = self._session.ledger.placements
        gone = (TaskStatus.RELEASING, TaskStatus.PIPELINED)
        batches = (*scenario.recorded, *scenario.potential)
        left = {b.pod_group for b in batches if any(placements[task].status in gone for task in b.tasks)}
        return tuple(batch for batch in batches if batch.pod_group in left)

    def _take_turns(
        self, statement: Statement, scenario: Scenario, victims: Iterable[int], nodes: int
    ) -> bool:
        preemptor, waiting = scenario.preemptor, dict.fromkeys(victims)
        room: dict[int, TaskShape] | None = None
        """Shapes of victims that may still find room; None until the preemptor has its own."""

        def share(pod_group: int) -> Share:
            if pod_group == preemptor:
                return self._session.demand(scenario.pending)
            return self._session.demand(self._gangs.next_tasks(pod_group, statement.evicted))

        shapes = self._shapes_of_tasks(scenario.pending)
        for pod_group in self._turns.in_order(preemptor, waiting, share):
            mark = statement.checkpoint()
            if pod_group == preemptor:
                tasks = list(scenario.pending)
                if self._placer.place(statement, preemptor, tasks, nodes, simulation=True):
                    break
                room = {i: shape for victim in waiting for i, shape in self._shapes_of(victim).items()}
            else:
                del waiting[pod_group]
                if room is None or not room.keys().isdisjoint(self._shapes_of(pod_group)):
                    self._place_again(statement, pod_group, nodes)
            if pod_group != preemptor and statement.checkpoint() == mark:
                continue
            if room is None:
                if not all(self._placer.has_room(shape, nodes) for shape in shapes.values()):
                    break
            else:
                room = {i: shape for i, shape in room.items() if self._placer.has_room(shape, nodes)}
                if not room:
                    return True
        if room is not None:
            return True
        statement.rollback(0)
        return False

    def _place_again(self, statement: Statement, victim: int, nodes: int) -> None:
        tasks = self._gangs.next_tasks(victim, statement.evicted)
        if tasks:
            self._placer.place(statement, victim, tasks, nodes, simulation=True)

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
