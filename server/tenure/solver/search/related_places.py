"""Places for the pods of one attempt that depend on each other, where the first ones do not work (R3.77)."""

from collections.abc import Callable, Sequence
from typing import Final

from tenure.solver.framework.chains import Chains
from tenure.solver.framework.session import Session
from tenure.solver.framework.statement import Statement
from tenure.solver.model.constraints import Labels
from tenure.solver.model.rejection import NOT_YET, first_rejection
from tenure.solver.model.workload import Task
from tenure.solver.search.node_order import AllowedNodes, NodeFit, NodeOrder, bit_set

Put = Callable[[Task, int, bool], bool]
"""Places a task on a node, now or later; False if it does not fit."""

MOST_TRIES: Final = 64
"""Places that are given up in one attempt, before it fails."""
MOST_TRIES_OF_SEARCH: Final = 256
"""In all attempts of a search for victims."""


class RelatedPlaces:
    """Tries nodes and orders, depth first."""

    def __init__(self, session: Session, chains: Chains, allowed: AllowedNodes, nodes: NodeOrder) -> None:
        self._session = session
        self._chains = chains
        self._allowed = allowed
        self._nodes = nodes
        self._is_search = False
        self._tries = self._left = 0

    def are_related(self, tasks: Sequence[int]) -> bool:
        """Whether other pods restrict the nodes of any of them, or they share device claims."""
        facts = self._session.cluster.tasks
        if any(facts[task].shape.shared_claims for task in tasks):
            return True
        return bool(self._chains.pod_dependencies) and any(map(self._chains.placement_checks, tasks))

    def may_be_kept_away(self, tasks: Sequence[int], others: Sequence[int]) -> bool:
        """Whether any of the others may keep a task from nodes where they are not."""
        facts, chains = self._session.cluster.tasks, self._chains
        claims = {claim for task in tasks for claim in facts[task].shape.shared_claims}
        if claims and any(not claims.isdisjoint(facts[other].shape.shared_claims) for other in others):
            return True
        if not chains.pod_dependencies:
            return False
        return bool(chains.needed(tasks, others, near=False) or chains.blocking(tasks, others))

    def begin_search(self) -> None:
        """All scenarios of a search share a number of tries."""
        self._left = MOST_TRIES_OF_SEARCH

    def begin_attempt(self, is_search: bool) -> None:
        """What is placed next is one attempt, in a search for victims or not."""
        self._is_search = is_search
        self._tries = min(MOST_TRIES, self._left) if is_search else MOST_TRIES

    def place(self, statement: Statement, tasks: Sequence[int], nodes: int, put: Put) -> bool:
        """Whether all are placed on nodes of the set; if not, the statement may have some of the moves.

        Equal tasks that only keep away from each other, or from others, need no other nodes than the first.
        """
        facts = self._session.cluster.tasks
        if len({self._kind(task) for task in tasks}) > 1:
            return self._place(statement, tasks, nodes, put)
        if not self._depends_on(tasks, tasks):
            return False
        is_near = bool(self._chains.needed(tasks, tasks, near=True))
        if is_near or facts[tasks[0]].shape.shared_claims:
            return self._place_beside_first(statement, tasks, nodes, put)
        return self._place(statement, tasks, nodes, put)

    def _place_beside_first(self, statement: Statement, tasks: Sequence[int], nodes: int, put: Put) -> bool:
        """Place equal tasks that must be near each other: the node of the first decides about the rest.

        Where the others could be beside a first one that failed, none of them is the first again.
        """
        first, seen, mark = self._session.cluster.tasks[tasks[0]], 0, statement.checkpoint()
        for node, is_now in self._choices(first, nodes):
            if seen >> node & 1:
                continue
            if put(first, node, is_now):
                beside = self._choices(self._session.cluster.tasks[tasks[1]], nodes)
                seen |= bit_set([each for each, _ in beside])
                if all(self._place_one(task, nodes, put) for task in tasks[1:]):
                    return True
            statement.rollback(mark)
            if not self._may_try_again():
                return False
        return False

    def _place_one(self, index: int, nodes: int, put: Put) -> bool:
        task = self._session.cluster.tasks[index]
        self._session.counters.placement_attempts += 1
        return any(put(task, node, is_now) for node, is_now in self._choices(task, nodes))

    def _may_try_again(self) -> bool:
        """Count a place that was given up."""
        self._tries -= 1
        self._left -= self._is_search
        return self._tries > 0

    def _kind(self, task: int) -> tuple[int, Labels]:
        facts = self._session.cluster.tasks[task]
        return facts.shape.index, facts.facts.labels

    def _depends_on(self, tasks: Sequence[int], others: Sequence[int]) -> bool:
        """Whether the order matters: by affinity, topology spread, or the node of a shared claim."""
        if any(self._session.cluster.tasks[task].shape.shared_claims for task in tasks):
            return True
        return bool(self._chains.pod_dependencies) and bool(self._chains.needed(tasks, others, near=False))

    def _place(self, statement: Statement, tasks: Sequence[int], nodes: int, put: Put) -> bool:
        if not tasks:
            return True
        facts, seen = self._session.cluster.tasks, set[tuple[int, Labels]]()
        for place, index in enumerate(tasks):
            task = facts[index]
            kind = self._kind(index)
            if kind in seen:
                continue
            seen.add(kind)
            rest = [*tasks[:place], *tasks[place + 1 :]]
            for node, is_now in self._choices(task, nodes):
                if self._tries <= 0:
                    return False
                self._session.counters.placement_attempts += 1
                mark = statement.checkpoint()
                if put(task, node, is_now) and self._place(statement, rest, nodes, put):
                    return True
                statement.rollback(mark)
                self._may_try_again()
            if not (rest and self._depends_on((index,), rest)):
                return False
        return False

    def _choices(self, task: Task, nodes: int) -> list[NodeFit]:
        """Nodes that take the task, those where it may start now first."""
        stop = self._session.stop
        if self._is_search:
            stop.check()
        else:
            stop.check_slice()
        checks, now, later = self._chains.placement_checks(task.index), list[NodeFit](), list[NodeFit]()
        for node, is_now in self._nodes.in_order(task, nodes & self._allowed.of(task.shape)):
            problem = first_rejection(checks, node)
            if problem is NOT_YET:
                later.append((node, False))
            elif problem is None:
                now.append((node, is_now))
        return [*now, *later]
