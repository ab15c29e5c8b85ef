"""Few moves: pods that make way for others, node by node, each with a place elsewhere (semantics R6.39).

Where every victim must be placed again, the search evicts whole batches and places them again in queue order.
Often fewer moves suffice: here, single pods are moved, those of the node on which the fewest make way.
"""

from collections.abc import Iterable
from itertools import combinations, islice
from typing import Final, NamedTuple, final

from tenure.solver.framework.session import Session
from tenure.solver.framework.statement import Statement
from tenure.solver.model.resources import GPU, MutableVector
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.plugin_api.scenario import Batch, Scenario
from tenure.solver.search.fits import NO_BOUND
from tenure.solver.search.node_order import bit_set, bits
from tenure.solver.search.placer import Placer
from tenure.solver.search.search import Budget
from tenure.solver.search.search_components import SearchComponents
from tenure.solver.search.search_result import SearchState
from tenure.solver.search.victim_sets.by_need import is_by_need

MAX_BATCHES: Final = 256
"""Batches whose pods may move, in victim order."""
MAX_NODES: Final = 128
"""Nodes that are looked at beside those of these pods."""
MAX_TOGETHER: Final = 4
"""Pods that make way for one more task on a node."""
MAX_ON_NODE: Final = 8
"""Pods of a node that are combined: the smallest ones."""


class _Move(NamedTuple):
    """Pods that leave a node, with their targets."""

    pods: int
    gpu_milli: int
    node: int
    tasks: tuple[int, ...]
    targets: tuple[int, ...]


@final
class Relocations:
    """Plans few moves for one search at a time, and makes them."""

    def __init__(self, session: Session, components: SearchComponents, placer: Placer) -> None:
        self._session = session
        self._components = components
        self._placer = placer
        self._is_used = is_by_need(session.options)

    def solve(self, statement: Statement, state: SearchState, budget: Budget) -> bool:
        """Whether few moves place the tasks and the validators accept; else the statement is empty."""
        tasks, facts = state.search.tasks, self._session.cluster.tasks
        if not (self._is_used and state.search.action.relocates_all):
            return False
        shape = facts[tasks[0]].shape
        if shape.shares_devices or any(facts[task].shape is not shape for task in tasks):
            return False
        budget.begin_last_resort()
        if not budget.has_checks:
            return False
        plan = _Plan(self._session, self._components, state, shape, budget)
        moves = plan.moves(len(tasks))
        budget.end_last_resort()
        if not moves or not budget.spend():
            return False
        return self._make(statement, state, moves)

    def _make(self, statement: Statement, state: SearchState, moves: dict[int, int]) -> bool:
        """Make the moves, by task, and place the beneficiary."""
        search, facts, by_group = state.search, self._session.cluster.tasks, dict[int, list[int]]()
        nodes = state.feasible | bit_set([self._session.ledger.placements[task].node for task in moves])
        for task in moves:
            statement.evict(task)
            by_group.setdefault(facts[task].pod_group, []).append(task)
        self._session.counters.simulated += 1
        batches = tuple([Batch(each, tuple(tasks)) for each, tasks in by_group.items()])
        scenario = Scenario(search.preemptor, search.tasks, (), batches)
        place = self._placer.place
        if place(statement, search.preemptor, [*search.tasks], nodes, simulation=True) is None and all(
            place(statement, each, tasks, bit_set([moves[task] for task in tasks]), simulation=True) is None
            for each, tasks in by_group.items()
        ):
            moved = list(moves)
            chains = self._session.chains
            holds = not chains.reserved_pods or chains.can_stay(search.tasks, moved)
            if holds and self._components.gangs.is_satisfied(search.preemptor):
                state.was_validated = True
                if search.validates(scenario) is None:
                    state.accepted = scenario
                    return True
        statement.rollback(0)
        return False


@final
class _Plan:
    """Free amounts while pods are said to move."""

    def __init__(
        self,
        session: Session,
        components: SearchComponents,
        state: SearchState,
        shape: TaskShape,
        budget: Budget,
    ) -> None:
        self._session = session
        self._allowed = components.allowed_nodes
        self._shape = shape
        self._budget = budget
        self._free: dict[int, MutableVector] = {}
        infos, sequence, count = session.ledger.node_infos, state.victims.sequence(), 0
        while count < MAX_BATCHES and sequence.reaches(count) and budget.check():
            count += 1
        self._pods: dict[int, list[int]] = {}
        """Tasks that may move, by node, the smallest first."""
        tasks, placements = session.cluster.tasks, session.ledger.placements
        for batch in sequence.batches[:count]:
            for task in batch.tasks:
                if not tasks[task].shape.shares_devices:
                    self._pods.setdefault(placements[task].node, []).append(task)
        for node in dict.fromkeys((*self._pods, *islice(bits(state.feasible), MAX_NODES))):
            session.stop.check()
            if not budget.check():
                break
            self._free[node] = infos[node].soon()
        self._targets: Final = sorted(node for node, free in self._free.items() if free.gpu > 0)
        for on_node in self._pods.values():
            on_node.sort(key=self._size)
        self._hosts: Final = self._allowed.of(shape)

    def moves(self, missing: int) -> dict[int, int]:
        """Targets of tasks that move, so that there are enough slots; nothing: no such moves were found."""
        found: dict[int, int] = {}
        slots = sum([self._slots(node, free) for node, free in self._free.items()])
        if slots >= missing:
            return found
        while slots < missing:
            self._session.stop.check()
            best = self._best()
            if best is None:
                return {}
            for task, target in zip(best.tasks, best.targets, strict=True):
                found[task] = target
                self._pods[best.node].remove(task)
                self._free[best.node].add(self._request(task))
                self._free[target].subtract(self._request(task))
            slots = sum([self._slots(node, free) for node, free in self._free.items()])
        return found

    def _best(self) -> _Move | None:
        """The fewest pods that make way for one more task on any node."""
        best: _Move | None = None
        request = self._shape.request_vector[GPU] or 1
        known = [node for node in self._pods if node in self._free]
        order = sorted(known, key=lambda node: (request - self._free[node].gpu % request, node))
        for node in order:
            self._session.stop.check()
            if not self._hosts >> node & 1:
                continue
            pods, before = self._pods[node][:MAX_ON_NODE], self._slots(node, self._free[node])
            most = MAX_TOGETHER if best is None else min(best.pods, MAX_TOGETHER)
            for size in range(1, most + 1):
                for tasks in combinations(pods, size):
                    if not self._budget.check():
                        return best
                    free = self._free[node].copy()
                    for task in tasks:
                        free.add(self._request(task))
                    if self._slots(node, free) <= before:
                        continue
                    gpus = sum([self._size(task) for task in tasks])
                    if best is not None and (size, gpus) >= best[:2]:
                        continue
                    targets = self._places(node, tasks)
                    if targets:
                        best = _Move(size, gpus, node, tasks, targets)
                if best is not None and best.node == node:
                    break
        return best

    def _places(self, node: int, tasks: Iterable[int]) -> tuple[int, ...]:
        """For each task the fullest other node where it takes no slot; nothing: one of them has none."""
        changed: dict[int, MutableVector] = {}
        found: dict[int, int] = {}
        for task in sorted(tasks, key=self._size, reverse=True):
            request, allowed = self._request(task), self._allowed.of(self._session.cluster.tasks[task].shape)
            best, least = -1, NO_BOUND
            for target in self._targets:
                if target == node or not allowed >> target & 1:
                    continue
                free = changed.get(target) or self._free[target]
                if free.gpu >= least or free.times(request, 1) < 1:
                    continue
                self._budget.check()
                after = free.copy()
                after.subtract(request)
                if self._slots(target, after) == self._slots(target, free):
                    best, least = target, free.gpu
            if best < 0:
                return ()
            changed[best] = (changed.get(best) or self._free[best]).copy()
            changed[best].subtract(request)
            found[task] = best
        return tuple([found[task] for task in tasks])

    def _slots(self, node: int, free: MutableVector) -> int:
        if not self._hosts >> node & 1:
            return 0
        return max(free.times(self._shape.request_vector, NO_BOUND), 0)

    def _request(self, task: int) -> MutableVector:
        return self._session.cluster.tasks[task].shape.request_vector

    def _size(self, task: int) -> int:
        return self._request(task).gpu
