"""Simulating a scenario: evict its victims, then place preemptor and victims in normal order.

Semantics R5.50-R5.59.
"""

from tenure.solver.framework.scenario import Batch, Scenario
from tenure.solver.framework.session import Session
from tenure.solver.framework.statement import Statement
from tenure.solver.model.workload import TaskStatus
from tenure.solver.search.gang import Gangs
from tenure.solver.search.place import Placer
from tenure.solver.search.podgrouplists import PodGroupLists
from tenure.solver.search.queuetree import Entry
from tenure.solver.search.turns import Turns


class Simulator:
    """Runs scenarios on the session's own ledger, inside a statement that the caller may undo."""

    def __init__(self, session: Session, gangs: Gangs, placer: Placer, lists: PodGroupLists) -> None:
        self._session = session
        self._gangs = gangs
        self._placer = placer
        self._turns = Turns(session, gangs, lists)

    def run(self, statement: Statement, scenario: Scenario, nodes: int) -> bool:
        """Whether the preemptor's tasks find room; if so the statement holds the moves, else it is empty.

        `nodes` are the feasible nodes; those of the victims are added. Victims that find room elsewhere are
        moved, those that still fit where they were are not evicted at all.
        """
        victims = scenario.victims()
        if not victims:
            return False
        for tasks in victims.values():
            for task in tasks:
                self._session.stop.check()
                nodes |= 1 << self._session.ledger.placements[task].node
                statement.evict(task)
        turns = [self._entry(statement, scenario, pod_group) for pod_group in (scenario.preemptor, *victims)]
        for pod_group in self._turns.in_order(turns):
            is_preemptor = pod_group == scenario.preemptor
            if is_preemptor:
                tasks = list(scenario.pending)
            else:
                tasks = self._gangs.next_tasks(pod_group, statement.evicted)
            failed = not tasks or self._placer.place(statement, pod_group, tasks, nodes, simulation=True)
            if failed and is_preemptor:
                statement.rollback(0)
                return False
        return True

    def displaced(self, scenario: Scenario) -> tuple[Batch, ...]:
        """After a successful run, all batches of pod groups of which any task is evicted or moved."""
        placements = self._session.ledger.placements
        gone = (TaskStatus.RELEASING, TaskStatus.PIPELINED)
        batches = (*scenario.recorded, *scenario.potential)
        left = {b.pod_group for b in batches if any(placements[task].status in gone for task in b.tasks)}
        return tuple(batch for batch in batches if batch.pod_group in left)

    def _entry(self, statement: Statement, scenario: Scenario, pod_group: int) -> Entry:
        session = self._session
        if pod_group == scenario.preemptor:
            share = session.demand(scenario.pending)
        else:
            share = session.demand(self._gangs.next_tasks(pod_group, statement.evicted))
        return Entry(session.pod_group_key(pod_group), pod_group, share)
