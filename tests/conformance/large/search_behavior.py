"""Behavior of the reference scheduler in searches and in the order of queues: patches of the plain solver."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from tenure.solver.framework.statement import Statement
from tenure.solver.model.placement import RELEASING, TaskStatus
from tenure.solver.model.workload import SubGroupSet
from tenure.solver.plugin_api.scenario import Batch
from tenure.solver.search.placer import Placer
from tenure.solver.search.queue_tree import QueueTree, QueueTreeEntry
from tenure.solver.search.scenario_filters import ScenarioFilters
from tenure.solver.search.scenario_simulator import ScenarioSimulator
from tenure.solver.search.victim_sequence import VictimSequence


class Patch(NamedTuple):
    """A method to replace."""

    owner: type
    name: str
    replacement: Callable[..., Any]


class _OneMore(tuple[Batch, ...]):
    """Recorded victims that never are all victims of a scenario, so that the final attempt is repeated."""

    __slots__ = ()

    def __len__(self) -> int:
        return super().__len__() + 1


def _repeat_final_attempt() -> Iterator[Patch]:
    """The reference always does (semantics R5.7)."""
    displaced = ScenarioSimulator.displaced

    def one_more(self: Any, scenario: Any) -> tuple[Batch, ...]:
        found = displaced(self, scenario)
        return _OneMore(found) if found else found

    yield Patch(ScenarioSimulator, "displaced", one_more)


def left_behind() -> Iterator[Patch]:
    """Moves of a pod between devices of its node that are undone leave it there as terminating, too.

    Every simulation runs to its end, because what it moves before it fails counts.
    """
    rollback = Statement.rollback
    lost: WeakKeyDictionary[Statement, set[int]] = WeakKeyDictionary()

    def leave_copies(self: Any, mark: int) -> None:
        moved = lost.setdefault(self, set())
        while len(self.moves) > mark:
            move = self.moves[-1]
            rollback(self, len(self.moves) - 1)
            if move.after.status is TaskStatus.RELEASING and move.task in moved:
                moved.remove(move.task)
                copy(self._ledger, move.task, move.after)
            elif is_between_devices(self._ledger.tasks[move.task].shape, move):
                moved.add(move.task)

    def is_between_devices(shape: Any, move: Any) -> bool:
        if not shape.gpu.is_shared or move.after.status is not TaskStatus.PIPELINED:
            return False
        is_evicted = move.before.status is TaskStatus.RELEASING
        is_elsewhere = move.before.gpu_groups != move.after.gpu_groups
        return is_evicted and is_elsewhere and move.before.node == move.after.node

    def copy(ledger: Any, task: int, placement: Any) -> None:
        shape, info = ledger.tasks[task].shape, ledger._own_node_info(placement.node)
        ledger._take_from(info, shape, placement.node, RELEASING)
        for group in placement.gpu_groups:
            info.charge_gpu(group, RELEASING, info.share_memory(shape))
        ledger.touched_nodes.add(placement.node)
        ledger.capacity_epoch += 1

    yield Patch(Statement, "rollback", leave_copies)
    yield Patch(Placer, "has_capacity", lambda *_: True)
    yield from _repeat_final_attempt()


def placed_demand() -> Iterator[Patch]:
    """Placed pods of subgroups that require a level count as demand for free GPUs of their domains."""
    begin, pass_with = ScenarioFilters.__init__, ScenarioFilters.pass_with
    groups: WeakKeyDictionary[ScenarioFilters, int] = WeakKeyDictionary()

    def noted(self: Any, components: Any, state: Any, attempt: Any) -> None:
        begin(self, components, state, attempt)
        groups[self] = state.search.preemptor

    def pass_both(self: Any, potential: Sequence[Batch]) -> bool:
        return pass_with(self, potential) and has_domains(self, potential)

    def has_domains(self: Any, potential: Sequence[Batch]) -> bool:
        cluster, ledger = self._session.cluster, self._session.ledger
        free = list(self._node_order.free_gpu_milli())
        for batch in (*self._attempt.recorded, *potential):
            for task in batch.tasks:
                free[ledger.placements[task].node] += ledger.freed_gpu_milli(task)
        demands: dict[str, list[int]] = {}
        for level, tasks in _required(cluster.pod_groups[groups[self]].root):
            counted = [
                t for t in tasks if t in self._attempt.tasks or ledger.placements[t].is_active_allocated
            ]
            shapes = [cluster.tasks[task].shape for task in counted]
            demand = sum(shape.gpu.gpu_milli() + shape.claimed_gpu_milli for shape in shapes)
            demands.setdefault(level, []).append(demand)
        return all(_fit(amounts, _by_domain(cluster, free, level)) for level, amounts in demands.items())

    yield Patch(ScenarioFilters, "__init__", noted)
    yield Patch(ScenarioFilters, "pass_with", pass_both)
    yield from _repeat_final_attempt()


def _required(sub_group: SubGroupSet) -> Iterator[tuple[str, list[int]]]:
    """Required levels and the tasks of the subgroups that require them, pod sets alone excepted."""
    if sub_group.topology is not None and sub_group.topology.required_level:
        yield sub_group.topology.required_level, list(_tasks(sub_group))
    for member in sub_group.members:
        if isinstance(member, SubGroupSet):
            yield from _required(member)


def _tasks(sub_group: SubGroupSet) -> Iterator[int]:
    for member in sub_group.members:
        yield from _tasks(member) if isinstance(member, SubGroupSet) else member.tasks


def _by_domain(cluster: Any, free: Sequence[int], level: str) -> list[int]:
    """Free GPUs by value of a label."""
    found: dict[str, int] = {}
    for node in cluster.nodes:
        if value := node.facts.labels.get(level):
            found[value] = found.get(value, 0) + free[node.index]
    return list(found.values())


def _fit(demands: Sequence[int], capacities: Sequence[int]) -> bool:
    """Whether each demand has a domain, the largest first."""
    left = sorted(capacities, reverse=True)
    for demand in sorted(filter(None, demands), reverse=True):
        place = next((i for i, capacity in enumerate(left) if capacity >= demand), None)
        if place is None:
            return False
        left[place] -= demand
    return True


def core_alone() -> Iterator[Patch]:
    """Batches are chosen by their nodes alone."""
    yield Patch(VictimSequence, "complete", lambda *_: None)


def first_added() -> Iterator[Patch]:
    """Pending pod groups are added one by one, the worst first; meanwhile queues stay in place."""
    fill, pop = QueueTree.fill, QueueTree.pop
    added: WeakKeyDictionary[QueueTree, list[tuple[int, QueueTreeEntry]]] = WeakKeyDictionary()

    def collect(self: Any, queue: int, source: Iterator[QueueTreeEntry]) -> None:
        if self._victims:
            fill(self, queue, source)
        else:
            added.setdefault(self, []).extend([(queue, entry) for entry in source])

    def push_first(self: Any) -> QueueTreeEntry | None:
        for queue, entry in sorted(added.pop(self, []), key=lambda each: each[1].key, reverse=True):
            self.push(queue, entry)
        return pop(self)

    yield Patch(QueueTree, "fill", collect)
    yield Patch(QueueTree, "pop", push_first)
