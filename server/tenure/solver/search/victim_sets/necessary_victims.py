"""Victims without which the beneficiary has too few nodes, by counting slots (semantics R14.5, R14.20).

A slot of a shape is free capacity for one task of it. With all victims gone, the nodes have at least as many
slots as the beneficiary has tasks. A victim that takes more than the difference, if it stays, is necessary,
whatever else decides about placements: constraints only take nodes away.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Final

from tenure.solver.framework.session import Session
from tenure.solver.framework.statement import Statement
from tenure.solver.model.workload import Counts, Member, PodGroup, PodSet
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.plugin_api.scenario import Batch
from tenure.solver.search.node_order import AllowedNodes, bit_set, bits

_NOBODY: Final[Mapping[int, Sequence[TaskShape]]] = {}
_MANY: Final = 1_000_000
"""Slots of a request for nothing."""


class Need(IntEnum):
    """Whether a victim is needed, as far as slots tell."""

    OPEN = 0
    """It may be needless."""
    NECESSARY = 1
    DEPENDENT = 2
    """It may be needless, and stays only with batches of its pod group that were taken later."""


class NecessaryVictims:
    """Counts slots in the ledger of a session, within a statement that is undone."""

    def __init__(self, session: Session, allowed: AllowedNodes) -> None:
        self._session = session
        self._ledger = session.ledger
        self._allowed = allowed

    def has_no_node(self, tasks: Sequence[int], nodes: int) -> bool:
        """Whether none of the nodes may run some of the tasks, so that one batch of victims is needed."""
        facts = self._session.cluster.tasks
        return any(not nodes & self._allowed.of(facts[task].shape) for task in tasks)

    def find(
        self,
        statement: Statement,
        tasks: Sequence[int],
        batches: Sequence[Batch],
        nodes: int,
        moved: Collection[int],
    ) -> list[Need]:
        """Whether each batch is needed to place the tasks on the nodes. All batches must be evicted.

        Where a part of a batch might stay, it is open. `moved` are tasks that are placed again elsewhere:
        each of them might have stayed, unless it is needed alone.
        """
        divisible = self._divisible(batches)
        shapes = self._shapes(tasks)
        spare = {shape.index: self._count(shape, bits(nodes)) - number for shape, number in shapes}
        found, groups = list[Need](), set[int]()
        for batch in reversed(batches):
            self._session.stop.check()
            need = self._need(statement, batch, shapes, spare)
            if batch in divisible or (need is Need.DEPENDENT and batch.pod_group not in groups):
                need = Need.OPEN
            if need is Need.NECESSARY and len(batch.tasks) > 1:
                alone = [Batch(batch.pod_group, (task,)) for task in batch.tasks if task in moved]
                if any(self._need(statement, each, shapes, spare) is not Need.NECESSARY for each in alone):
                    need = Need.OPEN
            found.append(need)
            groups.add(batch.pod_group)
        found.reverse()
        return found

    def _divisible(self, batches: Sequence[Batch]) -> set[Batch]:
        """Batches of which a part might stay: of several tasks, and of a pod group that had a subgroup below
        its minimum before the evictions, or can do without some of these tasks.
        """
        if all(len(batch.tasks) == 1 for batch in batches):
            return set()
        active, evicted = self._ledger.active_allocated, dict[int, int]()
        for batch in batches:
            for pod_set, number in self._by_pod_set(batch).items():
                evicted[pod_set] = evicted.get(pod_set, 0) + number
        found = set[Batch]()
        for batch in batches:
            group = self._group(batch)
            before = {each.index: active[each.index] + evicted.get(each.index, 0) for each in group.pod_sets}
            if len(batch.tasks) > 1 and (
                not is_coherent(group.root, before) or self._may_stay_in_part(group, batch)
            ):
                found.add(batch)
        return found

    def _may_stay_in_part(self, group: PodGroup, batch: Batch) -> bool:
        """Whether some of the tasks could stay without the others of the batch; if unclear, they could."""
        own, active = self._by_pod_set(batch), self._ledger.active_allocated
        if len(own) > 1 and _has_optional(group.root):
            return True
        missing = {s.index: s.min_available - active[s.index] for s in group.pod_sets if s.index in own}
        parts = [{pod_set: max(number, 1)} for pod_set, number in missing.items()]
        parts.append({pod_set: max(number, 0) for pod_set, number in missing.items()})
        for part in parts:
            stays = {each.index: active[each.index] + part.get(each.index, 0) for each in group.pod_sets}
            if 0 < sum(part.values()) < len(batch.tasks) and is_coherent(group.root, stays):
                return True
        return False

    def _by_pod_set(self, batch: Batch) -> dict[int, int]:
        """Number of its tasks by pod set."""
        facts, numbers = self._session.cluster.tasks, dict[int, int]()
        for task in batch.tasks:
            pod_set = facts[task].pod_set
            assert pod_set is not None
            numbers[pod_set] = numbers.get(pod_set, 0) + 1
        return numbers

    def _need(
        self,
        statement: Statement,
        batch: Batch,
        shapes: Sequence[tuple[TaskShape, int]],
        spare: dict[int, int],
    ) -> Need:
        """Whether too few slots are left beside the batch, else whether it can stay alone."""
        facts = self._session.cluster.tasks
        if any(shape.shares_devices for shape, _ in shapes) or any(
            facts[task].shape.shares_devices for task in batch.tasks
        ):
            return self._need_placed(statement, batch, shapes, spare)
        stay: dict[int, list[TaskShape]] = {}
        for task in batch.tasks:
            stay.setdefault(statement.evicted[task][-1].node, []).append(facts[task].shape)
        for shape, _ in shapes:
            if self._count(shape, stay) - self._count(shape, stay, stay) > spare[shape.index]:
                return Need.NECESSARY
        active = self._ledger.active_allocated
        beside = {each.index: active[each.index] for each in self._group(batch).pod_sets}
        for task in batch.tasks:
            pod_set = facts[task].pod_set
            assert pod_set is not None
            beside[pod_set] += 1
        return Need.OPEN if is_coherent(self._group(batch).root, beside) else Need.DEPENDENT

    def _need_placed(
        self,
        statement: Statement,
        batch: Batch,
        shapes: Sequence[tuple[TaskShape, int]],
        spare: dict[int, int],
    ) -> Need:
        """The need of a batch with its tasks in place: if devices are shared, amounts cannot be added up."""
        nodes = list(bits(bit_set({statement.evicted[task][-1].node for task in batch.tasks})))
        empty = [self._count(shape, nodes) for shape, _ in shapes]
        mark = statement.checkpoint()
        for task in batch.tasks:
            place = statement.evicted[task][-1]
            statement.pipeline(task, place.node, place.gpu_groups, place.zones)
        stays_alone = self._is_coherent(batch)
        taken = [had - self._count(shape, nodes) for had, (shape, _) in zip(empty, shapes, strict=True)]
        statement.rollback(mark)
        if any(lost > spare[shape.index] for lost, (shape, _) in zip(taken, shapes, strict=True)):
            return Need.NECESSARY
        return Need.OPEN if stays_alone else Need.DEPENDENT

    def _is_coherent(self, batch: Batch) -> bool:
        return is_coherent(self._group(batch).root, self._ledger.active_allocated)

    def _group(self, batch: Batch) -> PodGroup:
        return self._session.cluster.pod_groups[batch.pod_group]

    def _shapes(self, tasks: Sequence[int]) -> list[tuple[TaskShape, int]]:
        """Shapes of the tasks whose slots can be counted, with their numbers.

        Tasks that share devices fit together in ways that are not counted, so each is counted alone.
        """
        facts, numbers = self._session.cluster.tasks, dict[int, int]()
        for task in tasks:
            shape = facts[task].shape.index
            numbers[shape] = numbers.get(shape, 0) + 1
        shapes = [self._session.cluster.shapes[index] for index in numbers]
        return [(shape, 1 if shape.shares_devices else numbers[shape.index]) for shape in shapes]

    def _count(
        self, shape: TaskShape, nodes: Iterable[int], stay: Mapping[int, Sequence[TaskShape]] = _NOBODY
    ) -> int:
        """Slots on these nodes, beside tasks of these shapes that stay there."""
        allowed, infos, slots = self._allowed.of(shape), self._ledger.node_infos, 0
        for node in nodes:
            if not allowed >> node & 1:
                continue
            if shape.shares_devices:
                slots += self._ledger.fits_soon(shape, node)
                continue
            free = infos[node].idle.copy()
            free.add(infos[node].releasing)
            for other in stay.get(node, ()):
                free.subtract(self._ledger.charge(other, node))
            slots += max(free.times(shape.request_vector, _MANY), 0)
        return slots


def is_coherent(member: Member, active: Counts) -> bool:
    """Whether every subgroup has its minimum or no task, so that nothing runs that cannot work."""
    if isinstance(member, PodSet):
        return active[member.index] == 0 or member.is_met(active)
    if not all(is_coherent(inner, active) for inner in member.members):
        return False
    return member.is_met(active) or not _has_active(member, active)


def _has_active(member: Member, active: Counts) -> bool:
    if isinstance(member, PodSet):
        return active[member.index] > 0
    return any(_has_active(inner, active) for inner in member.members)


def _has_optional(member: Member) -> bool:
    """Whether some subgroups suffice, so that others may stay or go."""
    if isinstance(member, PodSet):
        return False
    return member.required < len(member.members) or any(_has_optional(inner) for inner in member.members)
