"""What the minimum of a pod group needs: whether some tasks are enough, and which of them it takes."""

from collections.abc import Set

from tenure.solver.model.workload import PodGroup, PodSet, SubGroupSet


def has_minimum(part: PodSet | SubGroupSet, active: Set[int]) -> bool:
    """Whether these tasks are enough for the part (semantics R1.55)."""
    if isinstance(part, PodSet):
        return len(active.intersection(part.tasks)) >= part.min_available
    return sum(has_minimum(member, active) for member in part.members) >= part.required


def core(group: PodGroup, active: set[int]) -> set[int]:
    """The tasks of its minimum: of pods alike the first by uid, of sub groups alike the first by name.

    Found by giving up one thing after the other: pods beyond the minimum of their pod set, sub groups that
    are of no use, sub groups that the others can do without. Below the minimum no sub group is given up.
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
    """All tasks below the part."""
    if isinstance(part, PodSet):
        return set(part.tasks)
    return {task for member in part.members for task in tasks_of(member)}
