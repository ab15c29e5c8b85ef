"""Full resolution: from flat lists with names to the trees, indices and ranks of the model.

All clusters, from messages or tests, are resolved here and so agree on every order: queues have the index of
their name in sorted order, pod groups and tasks that of their uid.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

from tenure.solver.model.facts import PodGroupFacts, QueueFacts, TaskFacts
from tenure.solver.model.fate import HoldReason
from tenure.solver.model.persistent_vector import PersistentVector
from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.model.queue import Queue
from tenure.solver.model.snapshot_warning import SnapshotWarning, WarningCode
from tenure.solver.model.workload import PodGroup, PodSet, SubGroupSet, Task
from tenure.solver.model.workload_parts import DEFAULT_SUB_GROUP, SubGroupFacts
from tenure.solver.resolution.grants import in_granted_queue, with_grant

_BY_UID: Final = attrgetter("uid")


Members = Sequence[Sequence[int]] | Mapping[int, Sequence[int]]
"""Tasks by pod set."""


class ResolvedWorkloads(NamedTuple):
    """Resolved pod groups and tasks, with warnings."""

    pod_groups: PersistentVector[PodGroup]
    tasks: PersistentVector[Task]
    warnings: tuple[SnapshotWarning, ...]
    delayed: tuple[int, ...]
    """Pod groups that wait for a time, by index."""
    changed_grants: tuple[int, ...]
    """Running pod groups that request something else than their grants, by index."""


def ranks(keys: Sequence[int]) -> list[int]:
    """Position of each key in sorted order; equal ones keep their order."""
    order = sorted(range(len(keys)), key=keys.__getitem__)
    places = [0] * len(keys)
    for place, position in enumerate(order):
        places[position] = place
    return places


def resolve_queues(specs: Iterable[QueueFacts]) -> tuple[Queue, ...]:
    """Queue tree, by name. Names must be unique, parents known, and no queue its own ancestor."""
    ordered = sorted(specs, key=lambda spec: spec.name)
    index = {spec.name: i for i, spec in enumerate(ordered)}
    parents = [index[spec.parent_name] if spec.parent_name else None for spec in ordered]
    children: list[list[int]] = [[] for _ in ordered]
    for i, parent in enumerate(parents):
        if parent is not None:
            children[parent].append(i)
    rank = ranks([spec.creation for spec in ordered])
    paths = [_path(i, parents) for i in range(len(ordered))]
    return tuple(
        Queue(
            index=i,
            parent=parents[i],
            children=tuple(children[i]),
            path=paths[i],
            rank=rank[i],
            nearest_time_limit=_nearest([ordered[each].time_limit for each in paths[i]]),
            nearest_runtime=_nearest([ordered[each].expected_runtime for each in paths[i]]),
            facts=facts,
        )
        for i, facts in enumerate(ordered)
    )


def resolve_workloads(
    groups: Iterable[PodGroupFacts], tasks: Iterable[TaskFacts], queues: Sequence[Queue]
) -> ResolvedWorkloads:
    """Pod groups and tasks, by uid. Uids must be unique, and subgroup trees valid.

    A task of an unknown subgroup has no pod set and is not part of its pod group until it is on a node, with
    a warning (semantics R1.53). A pod group whose queue is missing or not a leaf has no queue (semantics
    R3.3), unless it runs with a grant (R8.46).
    """
    ordered = sorted(groups, key=_BY_UID)
    numbers = _number_pod_sets(ordered)
    linked, members, warnings = _resolve_tasks(tasks, ordered, numbers)
    leaves = leaves_by_name(queues)
    rank = ranks([spec.creation for spec in ordered])
    pod_groups = []
    for i, spec in enumerate(ordered):
        pod_groups.append(resolve_pod_group(i, spec, leaves, rank[i], numbers[i], members, linked))
    changed = tuple([group.index for group in pod_groups if group.requested is not None])
    late = tuple([i for i, spec in enumerate(ordered) if spec.victim.held_by is HoldReason.NOT_BEFORE])
    return ResolvedWorkloads(PersistentVector(pod_groups), linked, warnings, late, changed)


def leaves_by_name(queues: Iterable[Queue]) -> dict[str, int]:
    """Index of each leaf queue by name."""
    return {queue.facts.name: queue.index for queue in queues if queue.is_leaf}


def _path(queue: int, parents: Sequence[int | None]) -> tuple[int, ...]:
    upwards = [queue]
    while (parent := parents[upwards[-1]]) is not None:
        upwards.append(parent)
    return tuple(reversed(upwards))


def _nearest(values: Sequence[int | None]) -> int | None:
    """The last value of a path that is set; None: there is none, or it is an explicit 0."""
    return next((value for value in reversed(values) if value is not None), None) or None


def _number_pod_sets(groups: Iterable[PodGroupFacts]) -> list[dict[str, int]]:
    """For each pod group, pod set indices by lower-case name, dense over all pod groups."""
    numbered, count = [], 0
    for group in groups:
        if group.sub_groups:
            leaves = pod_set_names(group)
            numbered.append({name: count + i for i, name in enumerate(leaves)})
            count += len(leaves)
        else:
            numbered.append({DEFAULT_SUB_GROUP: count})
            count += 1
    return numbered


def pod_set_names(group: PodGroupFacts) -> list[str]:
    """Lower-case names of the pod sets of a pod group, in the order of the subgroups."""
    if not group.sub_groups:
        return [DEFAULT_SUB_GROUP]
    inner = {part.parent.lower() for part in group.sub_groups}
    names = sorted(part.name for part in group.sub_groups)
    return [lower for name in names if (lower := name.lower()) not in inner]


def _resolve_tasks(
    specs: Iterable[TaskFacts], pod_groups: Sequence[PodGroupFacts], numbers: list[dict[str, int]]
) -> tuple[PersistentVector[Task], list[list[int]], tuple[SnapshotWarning, ...]]:
    """Tasks, the tasks of each pod set, and warnings about unknown subgroups."""
    group_index = {group.uid: i for i, group in enumerate(pod_groups)}
    members: list[list[int]] = [[] for names in numbers for _ in names]
    strays: Counter[tuple[int, str]] = Counter()
    tasks = []
    for i, spec in enumerate(sorted(specs, key=_BY_UID)):
        group = group_index[spec.pod_group]
        pod_set = pod_set_of(spec, numbers[group])
        if pod_set is None:
            strays[group, spec.sub_group] += 1
            pod_set = pod_set_on_node(spec, numbers[group])
        tasks.append(resolve_task(i, spec, group, pod_set, bool(pod_groups[group].victim.held_by)))
        if pod_set is not None:
            members[pod_set].append(i)
    warnings = tuple(
        unknown_sub_group_warning(group, sub_group, count)
        for (group, sub_group), count in sorted(strays.items())
    )
    return PersistentVector(tasks), members, warnings


def pod_set_of(task: TaskFacts, names: dict[str, int]) -> int | None:
    """Pod set of a task among those of its pod group; None: its subgroup does not exist."""
    name = task.sub_group
    return names.get(name) if name == DEFAULT_SUB_GROUP else names.get(name.lower())


def pod_set_on_node(task: TaskFacts, names: dict[str, int]) -> int | None:
    """The first one, for a task of an unknown subgroup on a node: else no other queue could reclaim it."""
    return next(iter(names.values()), None) if task.placement.status.is_active_used else None


def resolve_task(
    index: int, facts: TaskFacts, pod_group: int, pod_set: int | None, is_held: bool = False
) -> Task:
    """Task with its indices. A pending task of a pod group that is held counts as gated (R19.25)."""
    is_gated = is_held and facts.placement.status is TaskStatus.PENDING
    return Task(
        index=index,
        pod_group=pod_group,
        pod_set=pod_set,
        shape=facts.shape,
        placement=Placement(TaskStatus.GATED) if is_gated else facts.placement,
        facts=facts,
    )


def unknown_sub_group_warning(pod_group: int, sub_group: str, count: int) -> SnapshotWarning:
    """Warning about ignored pods of an unknown subgroup (semantics R1.53)."""
    pods = "1 pod is" if count == 1 else f"{count} pods are"
    detail = f"{pods} never scheduled, because {sub_group!r} is not a leaf of its subgroups"
    return SnapshotWarning(WarningCode.UNKNOWN_SUB_GROUP, (pod_group,), detail, is_about_one=True)


def _resolve_tree_parts(
    spec: PodGroupFacts, numbers: dict[str, int], members: Members
) -> tuple[SubGroupSet, tuple[PodSet, ...], tuple[int, ...]]:
    """Subgroup tree of a pod group, its leaves by name, and the tasks in them."""
    if spec.sub_groups:
        return _resolve_sub_groups(spec, numbers, members)
    index = numbers[DEFAULT_SUB_GROUP]
    inside = tuple(members[index])
    minimum = 1 if spec.min_member is None else spec.min_member
    pod_sets = (PodSet(index, DEFAULT_SUB_GROUP, minimum, inside),)
    return SubGroupSet("", pod_sets, spec.min_sub_groups, spec.topology), pod_sets, inside


def _resolve_sub_groups(
    spec: PodGroupFacts, numbers: dict[str, int], members: Members
) -> tuple[SubGroupSet, tuple[PodSet, ...], tuple[int, ...]]:
    parts = sorted(spec.sub_groups, key=lambda part: part.name)
    pod_sets = {
        part.name: _resolve_pod_set(part, numbers[part.name.lower()], members)
        for part in parts
        if part.name.lower() in numbers
    }
    leaves = tuple(pod_sets.values())
    inside = tuple(sorted(task for pod_set in leaves for task in pod_set.tasks))
    return _resolve_tree(spec, parts, pod_sets), leaves, inside


def _resolve_pod_set(part: SubGroupFacts, index: int, members: Members) -> PodSet:
    return PodSet(index, part.name, part.min_member or 0, tuple(members[index]), part.topology)


def _resolve_tree(
    spec: PodGroupFacts, parts: Sequence[SubGroupFacts], pod_sets: Mapping[str, PodSet]
) -> SubGroupSet:
    inside: dict[str, list[SubGroupFacts]] = {}
    for part in parts:
        inside.setdefault(part.parent.lower(), []).append(part)

    def link(part: SubGroupFacts) -> PodSet | SubGroupSet:
        return pod_sets[part.name] if part.name in pod_sets else link_set(part)

    def link_set(part: SubGroupFacts) -> SubGroupSet:
        members = tuple(link(inner) for inner in inside[part.name.lower()])
        return SubGroupSet(part.name, members, part.min_sub_groups, part.topology)

    return link_set(SubGroupFacts("", min_sub_groups=spec.min_sub_groups, topology=spec.topology))


def resolve_pod_group(
    index: int,
    spec: PodGroupFacts,
    leaves: Mapping[str, int],
    rank: int,
    numbers: dict[str, int],
    members: Members,
    all_tasks: PersistentVector[Task],
) -> PodGroup:
    """Pod group with its indices; `numbers` are the indices of its pod sets by name."""
    root, pod_sets, tasks = _resolve_tree_parts(spec, numbers, members)
    if spec.grant is not None:
        spec = in_granted_queue(spec, leaves, [all_tasks[task] for task in tasks])
    queue = leaves.get(spec.queue_name)
    group = PodGroup(
        index=index, queue=queue, root=root, pod_sets=pod_sets, tasks=tasks, rank=rank, facts=spec
    )
    return group if spec.grant is None else with_grant(group, all_tasks)
