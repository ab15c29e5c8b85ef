"""Pods that other queues cannot reclaim: all pods of a pod group, or those of its minimum."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Set

from tenure.v1 import snapshot_pb2
from tenure.v1.snapshot_pb2 import PREEMPTIBILITY_NON_PREEMPTIBLE, PREEMPTIBILITY_SEMI_PREEMPTIBLE

from tests.checker.rules.gangs import ROOT, SubGroups, is_satisfied, sub_group_of, sub_groups_of
from tests.checker.rules.victims import preemptibility_of
from tests.checker.snapshot_index import SnapshotIndex


def non_preemptible_pods(world: SnapshotIndex, pods: Iterable[str]) -> Iterator[str]:
    """Return the pods of `pods` that must be within quota if only `pods` are placed."""
    by_group: dict[str, set[str]] = defaultdict(set)
    for pod in pods:
        by_group[world.pods[pod].pod_group].add(pod)
    for uid, own in sorted(by_group.items()):
        group = world.pod_groups[uid]
        if preemptibility_of(group) == PREEMPTIBILITY_NON_PREEMPTIBLE or "reclaim" in group.opt_out_actions:
            yield from sorted(own)
        elif preemptibility_of(group) == PREEMPTIBILITY_SEMI_PREEMPTIBLE:
            yield from sorted(_core(world, group, own))


def _core(world: SnapshotIndex, group: snapshot_pb2.PodGroup, pods: Set[str]) -> set[str]:
    """Return the first pods of each subgroup up to its minimum, without subgroups that are not required.

    While the pod group is below its minimum, every subgroup is required.
    """
    parts, by_part = sub_groups_of(group), defaultdict(list)
    for pod in sorted(pods, key=lambda uid: _order(world.pods[uid])):
        by_part[sub_group_of(world.pods[pod])].append(pod)
    kept = {name: by_part[name][: part.minimum or 0] for name, part in parts.items() if not part.children}
    counts = Counter({name: len(own) for name, own in kept.items()})
    if is_satisfied(parts, ROOT, counts):
        _remove_surplus(parts, ROOT, counts)
    return {pod for name, own in kept.items() if counts[name] for pod in own}


def _remove_surplus(parts: SubGroups, name: str, counts: Counter[str]) -> None:
    """Remove the surplus of a satisfied subgroup.

    Its unsatisfied children are removed first, then its last children that are not required.
    """
    children = parts[name].children
    for child in children:
        if is_satisfied(parts, child, counts):
            _remove_surplus(parts, child, counts)
        else:
            _drop(parts, child, counts)
    for child in sorted(children, reverse=True):
        without = counts.copy()
        _drop(parts, child, without)
        if is_satisfied(parts, name, without):
            _drop(parts, child, counts)


def _drop(parts: SubGroups, name: str, counts: Counter[str]) -> None:
    counts[name] = 0
    for child in parts[name].children:
        _drop(parts, child, counts)


def _order(pod: snapshot_pb2.Pod) -> tuple[bool, bool, int, int, str]:
    """Sort key: leaders, then pods of higher priority, then older pods, then the smaller uid."""
    is_unordered = not pod.HasField("task_priority")
    return (not pod.leader, is_unordered, -pod.task_priority, pod.creation_time.ToNanoseconds(), pod.uid)
