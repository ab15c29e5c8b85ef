"""Saves: trying pod groups in vain that differ in nothing from one of their queue that just failed.
Sound: a pod group has a kind if none of its tasks has been placed, all of them must start together, and
nothing but their shape, number, priority, preemptibility and opt-outs distinguishes it. Searches of one kind
in one queue give the same result until something is committed. Only cycles without reasons use kinds.
Switch: `pod_group_index`. Plain: `pod_group_lists.SortedPodGroups`, where every pod group is of no kind.
Compared by: tests/simulator/test_moves.py (the moves with and without reasons are the same).
"""

from collections.abc import Hashable
from typing import Final

from tenure.solver.framework.session import Session
from tenure.solver.model.workload import PodGroup
from tenure.solver.search.pod_group_lists import ALONE

_UNKNOWN: Final = -2
"""Not computed yet."""


class PodGroupKinds:
    """Numbers of kinds, found on first use and kept while a pod group does not change."""

    def __init__(self, groups: int) -> None:
        self._kinds = [_UNKNOWN] * groups
        self._numbers: dict[Hashable, int] = {}

    def copy(self) -> "PodGroupKinds":
        """Independent copy."""
        other = PodGroupKinds(0)
        other._kinds, other._numbers = self._kinds.copy(), self._numbers.copy()
        return other

    def extend(self, more: int) -> None:
        """Extend by so many pod groups."""
        self._kinds.extend([_UNKNOWN] * more)

    def forget(self, pod_group: int) -> None:
        """Note that a pod group changed."""
        self._kinds[pod_group] = _UNKNOWN

    def known(self, pod_group: int) -> int:
        """The kind of a pod group if it was computed since the pod group changed."""
        return self._kinds[pod_group]

    def of(self, session: Session, pod_group: int) -> int:
        """The kind of a pod group, in a session without claims and blocked tasks."""
        kind = self._kinds[pod_group]
        if kind == _UNKNOWN:
            key = _key(session, session.cluster.pod_groups[pod_group])
            kind = ALONE if key is None else self._numbers.setdefault(key, len(self._numbers))
            self._kinds[pod_group] = kind
        return kind


def _key(session: Session, group: PodGroup) -> Hashable | None:
    facts = group.facts
    if facts.preemption_delay > 0 or len(group.pod_sets) != 1 or group.root.topology is not None:
        return None
    only = group.pod_sets[0]
    number, is_plain = len(only.tasks), group.root.members == group.pod_sets and only.topology is None
    if not is_plain or only.min_available != number or session.ledger.pending[group.index] != number:
        return None
    tasks = session.cluster.tasks
    shape = tasks[only.tasks[0]].shape.index
    for task in only.tasks:
        if tasks[task].shape.index != shape:
            return None
    return (shape, number, facts.priority, facts.preemptibility, facts.opt_out_actions)
