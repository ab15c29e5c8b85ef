"""Whether tasks meet the minimum of a pod group, and which tasks are its core."""

from collections.abc import Set

from tenure.solver.model.workload import PodGroup, PodSet, SubGroupSet


def has_minimum(part: PodSet | SubGroupSet, active: Set[int]) -> bool:
    """Whether these tasks meet the minimum of the sub group or pod set (semantics R1.55)."""
    if isinstance(part, PodSet):
        return len(active.intersection(part.tasks)) >= part.min_available
    return sum(has_minimum(member, active) for member in part.members) >= part.required


def core(group: PodGroup, active: set[int]) -> set[int]:
    """Core of a pod group: of equal pods the first by uid, of equal sub groups the first by name.

    Found by removing one item at a time: pods beyond the minimum of their pod set, sub groups that do not
    contribute, and sub groups that are not required. Below the minimum no sub group is removed.
    """
    kept = set(active)
    for pod_set in group.pod_sets:
        for task in sorted(kept.intersection(pod_set.tasks))[pod_set.min_available :]:
            kept.discard(task)
    return _without_surplus(group.root, kept) if has_minimum(group.root, kept) else kept


def _without_surplus(part: PodSet | SubGroupSet, kept: set[int]) -> set[int]:
    if isinstance(part, PodSet):
        return kept
    for member in part.members:
        kept = _without_surplus(member, kept) if has_minimum(member, kept) else kept - tasks_of(member)
    for member in sorted(part.members, key=lambda member: member.name, reverse=True):
        rest = kept - tasks_of(member)
        if has_minimum(part, rest):
            kept = rest
    return kept


def tasks_of(part: PodSet | SubGroupSet) -> set[int]:
    """All tasks below the sub group or pod set."""
    if isinstance(part, PodSet):
        return set(part.tasks)
    return {task for member in part.members for task in tasks_of(member)}
