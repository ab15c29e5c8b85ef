"""Gangs run with their minimum or not at all: placed gangs reach it, and evictions do not go below it."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Set
from dataclasses import dataclass

from tenure.v1 import snapshot_pb2

from tests.checker.snapshot_index import SnapshotIndex

ROOT = ""
DEFAULT_SUB_GROUP = "default"


@dataclass(frozen=True, slots=True)
class SubGroup:
    """A subgroup: a leaf needs `minimum` pods, an inner subgroup `minimum` satisfied children (None: all)."""

    children: tuple[str, ...]
    minimum: int | None


SubGroups = dict[str, SubGroup]


def gang_violations(world: SnapshotIndex) -> Iterator[str]:
    """Check every pod group with pods that are bound, reserved or evicted, at every level of its subgroups.

    What was below its minimum before may be moved as it is.
    """
    placed = {stay.pod for stay in (*world.binds, *world.reserves)} - world.in_flight - world.victims
    gained = _sub_groups_by_pod_group(world, placed)
    lost = _sub_groups_by_pod_group(world, world.victims)
    before = _active_by_sub_group(world, world.active_before)
    after = _active_by_sub_group(world, world.active_after)
    for uid in sorted(gained.keys() | lost.keys()):
        parts = sub_groups_of(world.pod_groups[uid])
        yield from (
            f"gang: pod group {uid} has no part {name}, but a pod of it is placed"
            for name in sorted(gained[uid] - parts.keys())
        )
        grown = _with_outer(parts, gained[uid])
        yield from _incomplete(uid, parts, after[uid], grown)
        yield from _cut(uid, parts, before[uid], after[uid], _with_outer(parts, lost[uid]) - grown)


def _with_outer(parts: SubGroups, names: Set[str]) -> set[str]:
    """These parts, and those that contain them."""
    found = {name for name in names if name in parts}
    while more := {name for name, part in parts.items() if found.intersection(part.children)} - found:
        found |= more
    return found


def _incomplete(uid: str, parts: SubGroups, active: Counter[str], grown: Set[str]) -> Iterator[str]:
    """Parts in which a pod is placed, and that do not have their minimum."""
    for name in sorted(grown):
        if is_satisfied(parts, name, active):
            continue
        if parts[name].children:
            yield f"gang: {_named(uid, name)} is placed without its minimum: {_counts(active)} are active"
        else:
            yield f"gang: {_named(uid, name)} has {active[name]} pods of {parts[name].minimum}"


def _cut(
    uid: str, parts: SubGroups, before: Counter[str], after: Counter[str], lost: Set[str]
) -> Iterator[str]:
    """Subgroups that had their minimum, lose pods, and keep others that are too few."""
    for name in sorted(lost):
        is_cut = is_satisfied(parts, name, before) and not is_satisfied(parts, name, after)
        if is_cut and _has_pods(parts, name, after):
            yield f"gang: {_named(uid, name)} is cut below its minimum: {_counts(after)} are left"


def _has_pods(parts: SubGroups, name: str, active: Counter[str]) -> bool:
    return active[name] > 0 or any(_has_pods(parts, child, active) for child in parts[name].children)


def _named(uid: str, name: str) -> str:
    return f"pod group {uid}" if name == ROOT else f"part {name} of pod group {uid}"


def is_satisfied(parts: SubGroups, name: str, active: Counter[str]) -> bool:
    """Whether a subgroup, or the pod group itself (`ROOT`), has its minimum."""
    part = parts[name]
    if not part.children:
        return active[name] >= (part.minimum or 0)
    whole = sum(is_satisfied(parts, child, active) for child in part.children)
    return whole >= (len(part.children) if part.minimum is None else part.minimum)


def sub_groups_of(group: snapshot_pb2.PodGroup) -> SubGroups:
    """Return the subgroup tree of a pod group by lower-case name; the root is the pod group itself."""
    top_minimum = group.min_sub_group if group.HasField("min_sub_group") else None
    if not group.sub_groups:
        minimum = group.min_member if group.HasField("min_member") else 1
        return {ROOT: SubGroup((DEFAULT_SUB_GROUP,), top_minimum), DEFAULT_SUB_GROUP: SubGroup((), minimum)}
    children: dict[str, list[str]] = defaultdict(list)
    for part in group.sub_groups:
        children[part.parent.lower()].append(part.name.lower())
    parts = {ROOT: SubGroup(tuple(children[ROOT]), top_minimum)}
    for part in group.sub_groups:
        own = tuple(children[part.name.lower()])
        parts[part.name.lower()] = SubGroup(own, _minimum(part, is_leaf=not own))
    return parts


def _minimum(part: snapshot_pb2.SubGroup, is_leaf: bool) -> int | None:
    if is_leaf:
        return part.min_member
    return part.min_sub_group if part.HasField("min_sub_group") else None


def sub_group_of(pod: snapshot_pb2.Pod) -> str:
    """Return the lower-case name of the subgroup of a pod."""
    return pod.sub_group.lower() or DEFAULT_SUB_GROUP


def _active_by_sub_group(world: SnapshotIndex, active: frozenset[str]) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for uid in active:
        counts[world.pods[uid].pod_group][sub_group_of(world.pods[uid])] += 1
    return counts


def _sub_groups_by_pod_group(world: SnapshotIndex, pods: Set[str]) -> dict[str, set[str]]:
    """Return the names of the subgroups of these pods, by pod group."""
    parts: dict[str, set[str]] = defaultdict(set)
    for uid in pods:
        parts[world.pods[uid].pod_group].add(sub_group_of(world.pods[uid]))
    return parts


def _counts(active: Counter[str]) -> str:
    return ", ".join(f"{active[name]} of {name}" for name in sorted(active)) or "0"
