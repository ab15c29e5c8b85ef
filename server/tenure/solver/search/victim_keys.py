"""What each victim gives next, and where that puts it among the victims of its queue (R5.20-R5.28, R14.16).

Keys are in the sense of queue order: the victim with the largest one yields first. Without an order of
victims alone, they are the keys of queue order.
"""

from collections.abc import Mapping, Sequence
from typing import Final, final

from tenure.solver.framework.session import Session
from tenure.solver.model.workload import Counts, Member, PodGroup, PodSet, SubGroupSet, leaves
from tenure.solver.search.gang import GangPlanner

RemainingByPodSet = dict[int, list[int]]
"""Active tasks of a pod group that are not taken yet, by pod set, in task order."""
NOBODY: Final[Mapping[int, int]] = {}


@final
class VictimKeys:
    """Keys and next tasks of the victims of a session."""

    def __init__(self, session: Session, gangs: GangPlanner) -> None:
        self._session = session
        self._gangs = gangs
        self._orders: Final = session.chains.victim_orders
        self.is_queue_order: Final = not self._orders
        """Whether the keys are those of queue order."""

    def whole(self, pod_group: int, key: tuple[int, ...] | None = None) -> tuple[int, ...]:
        """Key of a pod group with all its tasks; `key` is that of queue order, if it is known."""
        if key is None:
            key = self._session.pod_group_key(pod_group)
        if self.is_queue_order:
            return key
        group, active = self._session.cluster.pod_groups[pod_group], self._session.ledger.active_allocated
        if len(group.tasks) == len(group.pod_sets) == 1:
            return self._extended(key, pod_group, active, self._gangs.evictable_tasks(group.pod_sets[0]))
        remaining = {each.index: self._gangs.evictable_tasks(each) for each in group.pod_sets}
        return self._extended(key, pod_group, active, self.next_tasks(group, remaining))

    def remaining(self, pod_group: int, active: Counts, tasks: Sequence[int]) -> tuple[int, ...]:
        """Key of a pod group with these counts of tasks, of which it gives some next."""
        key = self._session.pod_group_key(pod_group, active)
        return key if self.is_queue_order else self._extended(key, pod_group, active, tasks)

    def _extended(
        self, key: tuple[int, ...], pod_group: int, active: Counts, tasks: Sequence[int]
    ) -> tuple[int, ...]:
        """A key of queue order with the keys for victims alone."""
        if len(self._orders) == 1:
            first, second = self._orders[0].victim_keys(pod_group, active, tasks)
            if len(key) == 3:  # without lists
                return (-first, key[0], key[1], -second, key[2])
            return (-first, *key[:-1], -second, key[-1])
        found = [order.victim_keys(pod_group, active, tasks) for order in self._orders]
        before, behind = [-first for first, _ in found], [-second for _, second in found]
        return (*before, *key[:-1], *behind, key[-1])

    def next_tasks(
        self, group: PodGroup, remaining: RemainingByPodSet, stays: Mapping[int, int] = NOBODY
    ) -> list[int]:
        """Surplus first, else everything. `stays` counts other tasks of each pod set, which stay."""
        return self._take(group.root, remaining, stays) or all_of(group.root, remaining)

    def _take(self, member: Member, remaining: RemainingByPodSet, stays: Mapping[int, int]) -> list[int]:
        """Surplus below the member: one task, or one optional subgroup; empty if there is none."""
        if isinstance(member, PodSet):
            tasks = remaining[member.index]
            return tasks[-1:] if len(tasks) + stays.get(member.index, 0) > member.min_available else []
        if member.is_lone and isinstance(member.members[0], PodSet):
            return self._take(member.members[0], remaining, stays)
        counts = {pod_set: len(tasks) + stays.get(pod_set, 0) for pod_set, tasks in remaining.items()}
        satisfied = sum(inner.is_met(counts) for inner in member.members)
        if not satisfied:
            return []
        last_first = list(reversed(self._session.order.members(member.members, counts)))
        for inner in last_first:
            if taken := self._take(inner, remaining, stays):
                return taken
        if satisfied > member.required:
            for inner in last_first:
                if (tasks := all_of(inner, remaining)) and self._may_go(inner, tasks, stays):
                    return tasks
        return []

    def _may_go(self, member: Member, tasks: list[int], stays: Mapping[int, int]) -> bool:
        """Whether disruption budgets allow to take all of a subgroup."""
        disruptions = self._session.disruptions
        if not disruptions.is_active:
            return True
        return not any(each.index in stays for each in leaves(member)) and disruptions.allows(tasks)


def all_of(member: Member, remaining: RemainingByPodSet) -> list[int]:
    """All remaining tasks below the member."""
    if isinstance(member, SubGroupSet):
        return [task for inner in member.members for task in all_of(inner, remaining)]
    return remaining[member.index]


def deciding_order(session: Session, keys: VictimKeys, victim: int, later: int) -> str | None:
    """Name of the first plugin that puts one victim of a queue before another; None: their age does."""
    chains = session.chains
    names = [chains.name(each) for each in chains.victim_orders]
    names = [*names, *(chains.name(each) for each in chains.pod_group_orders), *names]
    pairs = zip(keys.whole(victim), keys.whole(later), names, strict=False)
    return next((name for one, other, name in pairs if one != other), None)
