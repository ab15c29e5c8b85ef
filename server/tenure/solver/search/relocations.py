"""Few moves: pods that make way for others, node by node, each with a place elsewhere (semantics R6.39).

Where every victim must be placed again, the search evicts whole batches and places them again in queue order.
Often fewer moves suffice: here, single pods are moved, those of the node on which the fewest make way.
"""

from typing import final

from tenure.solver.framework.session import Session
from tenure.solver.framework.statement import Statement
from tenure.solver.plugin_api.scenario import Batch, Scenario
from tenure.solver.search.move_plan import MAX_LOOKS, MovePlan
from tenure.solver.search.node_order import bit_set
from tenure.solver.search.placer import Placer
from tenure.solver.search.search import Budget, Search
from tenure.solver.search.search_components import SearchComponents
from tenure.solver.search.search_result import SearchState
from tenure.solver.search.victim_sets.by_need import is_by_need


@final
class Relocations:
    """Plans few moves for one search at a time, and makes them."""

    def __init__(self, session: Session, components: SearchComponents, placer: Placer) -> None:
        self._session = session
        self._components = components
        self._placer = placer
        self._is_used = is_by_need(session)

    def solve(self, statement: Statement, state: SearchState, budget: Budget) -> bool:
        """Whether few moves place the tasks and the validators accept; else the statement is empty."""
        tasks, facts = state.search.tasks, self._session.cluster.tasks
        if not (self._is_used and state.search.action.relocates_all):
            return False
        shape = facts[tasks[0]].shape
        if shape.shares_devices or any(facts[task].shape is not shape for task in tasks):
            return False
        budget.begin_last_resort(MAX_LOOKS)
        if not budget.has_checks:
            return False
        plan = MovePlan(self._session, self._components, state, shape, budget)
        moves = plan.moves(len(tasks))
        budget.end_last_resort()
        if not moves or not budget.spend():
            return False
        return self._make(statement, state, moves)

    def _make(self, statement: Statement, state: SearchState, moves: dict[int, int]) -> bool:
        """Make the moves, by task, and place the beneficiary: before the moved pods, or else after them."""
        search, facts, by_group = state.search, self._session.cluster.tasks, dict[int, list[int]]()
        parts: dict[tuple[int, int], list[int]] = {}
        """Tasks by pod group and target."""
        nodes = state.feasible | bit_set([self._session.ledger.placements[task].node for task in moves])
        for task, target in moves.items():
            statement.evict(task)
            by_group.setdefault(facts[task].pod_group, []).append(task)
            parts.setdefault((facts[task].pod_group, target), []).append(task)
        moved = [(group, tasks, bit_set([target])) for (group, target), tasks in parts.items()]
        own = (search.preemptor, [*search.tasks], nodes)
        batches = tuple([Batch(each, tuple(tasks)) for each, tasks in by_group.items()])
        scenario = Scenario(search.preemptor, search.tasks, (), batches)
        evicted = statement.checkpoint()
        for order in ([own, *moved], [*moved, own]):
            self._session.counters.simulated += 1
            if self._place(statement, order) and self._holds(search, list(moves)):
                state.was_validated = True
                if search.validates(scenario) is None:
                    state.accepted = scenario
                    return True
            statement.rollback(evicted)
        statement.rollback(0)
        return False

    def _place(self, statement: Statement, order: list[tuple[int, list[int], int]]) -> bool:
        """Whether tasks of pod groups find places on their nodes, in this order."""
        return all(
            self._placer.place(statement, pod_group, tasks, nodes, simulation=True) is None
            for pod_group, tasks, nodes in order
        )

    def _holds(self, search: Search, moved: list[int]) -> bool:
        """Whether the placed pods and those that moved are right where they are now."""
        chains = self._session.chains
        holds = not chains.reserved_pods or chains.can_stay(search.tasks, moved)
        return holds and self._components.gangs.is_satisfied(search.preemptor)
