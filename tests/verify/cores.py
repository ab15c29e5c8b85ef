"""The pods that no other queue can take back: all of some pod groups, of others those of their minimum."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Set

from tenure.v1 import snapshot_pb2
from tenure.v1.snapshot_pb2 import PREEMPTIBILITY_NON_PREEMPTIBLE, PREEMPTIBILITY_SEMI_PREEMPTIBLE

from tests.verify.gangs import ROOT, Parts, part_of, parts_of, satisfied
from tests.verify.victims import mode_of
from tests.verify.world import World


def firm_pods(world: World, pods: Iterable[str]) -> Iterator[str]:
    """Those of these pods that must be within quota, if these and no others have room."""
    by_group: dict[str, set[str]] = defaultdict(set)
    for pod in pods:
        by_group[world.pods[pod].pod_group].add(pod)
    for uid, own in sorted(by_group.items()):
        group = world.pod_groups[uid]
        if mode_of(group) == PREEMPTIBILITY_NON_PREEMPTIBLE or "reclaim" in group.opt_outs:
            yield from sorted(own)
        elif mode_of(group) == PREEMPTIBILITY_SEMI_PREEMPTIBLE:
            yield from sorted(_core(world, group, own))


def _core(world: World, group: snapshot_pb2.PodGroup, pods: Set[str]) -> set[str]:
    """The first pods of every part up to its minimum, and of parts no more than the first that are required.

    As long as the pod group has not its minimum, no part can be done without.
    """
    parts, by_part = parts_of(group), defaultdict(list)
    for pod in sorted(pods, key=lambda uid: _order(world.pods[uid])):
        by_part[part_of(world.pods[pod])].append(pod)
    kept = {name: by_part[name][: part.minimum or 0] for name, part in parts.items() if not part.children}
    counts = Counter({name: len(own) for name, own in kept.items()})
    if satisfied(parts, ROOT, counts):
        _give_up(parts, ROOT, counts)
    return {pod for name, own in kept.items() if counts[name] for pod in own}


def _give_up(parts: Parts, name: str, counts: Counter[str]) -> None:
    """Take from a part that has its minimum what is below its own, and the last of what it can do without."""
    children = parts[name].children
    for child in children:
        if satisfied(parts, child, counts):
            _give_up(parts, child, counts)
        else:
            _drop(parts, child, counts)
    for child in sorted(children, reverse=True):
        without = counts.copy()
        _drop(parts, child, without)
        if satisfied(parts, name, without):
            _drop(parts, child, counts)


def _drop(parts: Parts, name: str, counts: Counter[str]) -> None:
    counts[name] = 0
    for child in parts[name].children:
        _drop(parts, child, counts)


def _order(pod: snapshot_pb2.Pod) -> tuple[bool, bool, int, int, str]:
    """Leaders, pods with a higher priority, older pods, the smaller uid."""
    is_unordered = not pod.HasField("task_priority")
    return (not pod.leader, is_unordered, -pod.task_priority, pod.creation_time.ToNanoseconds(), pod.uid)
