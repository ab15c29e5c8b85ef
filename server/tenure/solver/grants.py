"""Which changes of what protects running pod groups take effect: those that quotas cover (semantics 8.4).

A later wish for more protection counts once the quota of its queue, and of every queue above, covers
what becomes non-preemptible, beside all that is so already. The oldest pod group comes first. Less
protection counts at once. It follows from the snapshot alone, so a cycle and a status say the same.
"""

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace
from enum import IntEnum
from typing import Final, NamedTuple

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.facts import PodGroupFacts
from tenure.solver.model.grant import Grant
from tenure.solver.model.placement import NOWHERE
from tenure.solver.model.resources import CPU, GPU, MEMORY, NO_SHARE, UNLIMITED, Share, exceeded_resource
from tenure.solver.model.workload import PodGroup, PodSet, Task, add_shares, min_pods
from tenure.solver.model.workload_parts import Preemptibility, share_on
from tenure.solver.resolution.grants import renewed_grant, with_facts
from tenure.terms.formatting import count_gpus, format_count, format_gpus
from tenure.terms.preemptibility import PROTECTION, SPELLINGS, effective_preemptibility

_GPU: Final = "GPU"
_Key = tuple[int, str]
"""A queue and a class of nodes; "": all nodes."""
_Protection = tuple[Preemptibility, frozenset[str], int | None]
"""Preemptibility, opt-outs, and the minimum of a pod group without subgroups."""


class _Part(IntEnum):
    """A part of a pod group, the smallest first."""

    NOTHING = 0
    CORE = 1
    ALL = 2


class Uncovered(NamedTuple):
    """A running pod group whose owner wants more protection than quotas cover."""

    pod_group: int
    requested: Preemptibility
    wish: str
    """What its owner wants, as a subject: "a minimum of 8 pods"."""
    detail: str
    """Which quota does not cover it, as a clause."""


class GrantReview(NamedTuple):
    """Running pod groups that want more protection than they were given."""

    covered: tuple[int, ...]
    """All that they request counts."""
    uncovered: tuple[Uncovered, ...]


_NO_WISHES: Final = GrantReview((), ())


def review_grants(cluster: Cluster, fair_share_actions: AbstractSet[str]) -> GrantReview:
    """What counts of the changes. Takes time in proportion to the cluster, if there is any change.

    `fair_share_actions`: names of the actions by which other queues reclaim resources.
    """
    if not cluster.changed_grants:
        return _NO_WISHES
    changed = [cluster.pod_groups[index] for index in cluster.changed_grants]
    groups = [(group, group.requested) for group in changed if group.requested is not None]
    wishes = [(group, wanted) for group, wanted in groups if _protection(wanted) != _protection(group.facts)]
    if not wishes:
        return _NO_WISHES
    quotas = _Quotas(cluster, {group.queue for group, _ in wishes}, fair_share_actions)
    covered, uncovered = [], []
    for group, requested in sorted(wishes, key=lambda wish: (wish[0].rank, wish[0].index)):
        if detail := quotas.find_missing(group, requested):
            mode, _, _ = wanted = _protection(requested)
            uncovered.append(Uncovered(group.index, mode, _wish(group, wanted), detail))
        else:
            covered.append(group.index)
    return GrantReview(tuple(covered), tuple(sorted(uncovered)))


def with_covered(cluster: Cluster, covered: Iterable[int]) -> Cluster:
    """The cluster in which all counts that these pod groups request."""
    pod_groups = cluster.pod_groups.next_version()
    for index in covered:
        pod_groups.put(index, in_full(pod_groups[index]))
    return replace(cluster, pod_groups=pod_groups)


def in_full(group: PodGroup) -> PodGroup:
    """The pod group with all that is requested; its expected runtime stays as it counts."""
    if group.requested is None or group.facts is group.requested:
        return group
    requeue = group.requested.requeue._replace(expected_runtime=group.facts.requeue.expected_runtime)
    whole = with_facts(group, replace(group.requested, requeue=requeue))
    return replace(whole, requested=group.requested)


def next_grant(group: PodGroup) -> Grant | None:
    """The next grant of a pod group with a change, in a cluster with what is covered; None: it stays."""
    assert group.requested is not None
    wanted, counts = _protection(group.requested), _protection(group.facts)
    later = renewed_grant(group.requested, min_pods(in_full(group).root), is_covered=wanted == counts)
    return later if later != group.requested.grant else None


def _protection(facts: PodGroupFacts) -> _Protection:
    mode = effective_preemptibility(facts.preemptibility, facts.priority)
    return mode, facts.opt_out_actions, facts.min_member


def _wish(group: PodGroup, wanted: _Protection) -> str:
    """What its owner wants beyond what counts."""
    counts = _protection(group.facts)
    if PROTECTION[wanted[0]] > PROTECTION[counts[0]]:
        return SPELLINGS[wanted[0]]
    if not wanted[1] <= counts[1]:
        return f"no eviction by {', '.join(sorted(wanted[1] - counts[1]))}"
    return f"a minimum of {format_count(wanted[2] or 1, 'pod')}"


class _Quotas:
    """Non-preemptible usage of the trees that some queues are in, with what was found to be covered."""

    def __init__(
        self, cluster: Cluster, queues: Iterable[int | None], fair_share_actions: AbstractSet[str]
    ) -> None:
        self._cluster, self._fair_share_actions = cluster, fair_share_actions
        self._memory = cluster.min_gpu_memory_mib
        roots = {cluster.queues[queue].path[0] for queue in queues if queue is not None}
        self._used: dict[_Key, Share] = {}
        reserved = {step.task: step.node for group in cluster.in_flight for step in group.reservations}
        reserved.pop(NOWHERE, None)
        waiting = {cluster.tasks[task].pod_group for task in reserved}
        for group in cluster.pod_groups:
            if group.queue is None or cluster.queues[group.queue].path[0] not in roots:
                continue
            if not (group.is_firm(fair_share_actions) or group.is_semi_preemptible):
                continue
            also = reserved if group.index in waiting else {}
            for key, share in self._firm(group, group.facts, also):
                self._used[key] = add_shares(self._used.get(key, NO_SHARE), share)

    def find_missing(self, group: PodGroup, requested: PodGroupFacts) -> str:
        """Which quota does not cover it with these facts, as a clause; "": all do, and it counts now.

        An opt-out more must be covered like a non-preemptible pod group, a larger minimum like a core.
        """
        if group.queue is None:
            return f"queue {requested.queue_name or 'none'} is no leaf queue, so it has no quota"
        if requested.opt_out_actions <= group.facts.opt_out_actions:
            least = _Part.CORE if requested.min_member != group.facts.min_member else _Part.NOTHING
        else:
            least = _Part.ALL
        wanted = dict(self._firm(group, requested, {}, least))
        has = dict(self._firm(group, group.facts, {}))
        more = {key: _less(share, has.get(key, NO_SHARE)) for key, share in wanted.items()}
        for key, share in more.items():
            if detail := self._missing(key, share):
                return detail
        for key, share in more.items():
            self._used[key] = add_shares(self._used.get(key, NO_SHARE), share)
        return ""

    def _missing(self, key: _Key, more: Share) -> str:
        queue, name = self._cluster.queues[key[0]], key[1]
        quota = queue.facts.quota
        if name:
            limits = [each for each in queue.facts.class_limits if each.node_class == name]
            quota = (UNLIMITED, UNLIMITED, limits[0].quota_in_force)
        used = self._used.get(key, NO_SHARE)
        resource = exceeded_resource(quota, used, more)
        if resource == _GPU:
            left, of_class = max(quota[GPU] - used[GPU], 0), f" of class {name}" if name else ""
            amount = f"{format_gpus(left)} of {count_gpus(quota[GPU])}{of_class}"
            return f"queue {queue.facts.name} has {amount} of quota left"
        return f"queue {queue.facts.name} has too little {resource} quota left" if resource else ""

    def _firm(
        self,
        group: PodGroup,
        facts: PodGroupFacts,
        reserved: dict[int, int],
        least: _Part = _Part.NOTHING,
    ) -> Iterator[tuple[_Key, Share]]:
        """What is non-preemptible of it with these facts, by queue and class, and at least this part.

        Of a core, the most that it could be. Devices that pods share count for each of them.
        """
        totals: dict[str, Share] = {}
        for node, task in self._firm_tasks(group, facts, reserved, least):
            name = self._cluster.nodes[node].facts.node_class if node >= 0 else ""
            device = self._cluster.nodes[node].gpu_memory_mib if node >= 0 else self._memory
            cpu, memory, gpu = share_on(task.shape, device)
            share = (cpu, memory, gpu + task.shape.shared_gpu_milli)
            for key in {"", name}:
                totals[key] = add_shares(totals.get(key, NO_SHARE), share)
        assert group.queue is not None
        for queue in self._cluster.queues[group.queue].path[::-1]:
            limited = {each.node_class for each in self._cluster.queues[queue].facts.class_limits}
            for name in [name for name in sorted(totals) if not name or name in limited]:
                yield (queue, name), totals[name]

    def _firm_tasks(
        self, group: PodGroup, facts: PodGroupFacts, reserved: dict[int, int], least: _Part
    ) -> Iterator[tuple[int, Task]]:
        """Nodes and tasks of that part."""
        part = max(self._firm_part(facts), least)
        if part is _Part.NOTHING:
            return
        tasks = self._cluster.tasks
        for pod_set in group.pod_sets:
            active = [tasks[task] for task in pod_set.tasks]
            placed = [
                (task.placement.node if task.placement.is_active_allocated else reserved[task.index], task)
                for task in active
                if task.placement.is_active_allocated or task.index in reserved
            ]
            if part is _Part.CORE:
                placed.sort(key=lambda each: _size(each[1]), reverse=True)
                placed = placed[: _minimum(facts, pod_set)]
            yield from placed

    def _firm_part(self, facts: PodGroupFacts) -> _Part:
        """Which part is non-preemptible with these facts."""
        mode = effective_preemptibility(facts.preemptibility, facts.priority)
        opts_out = not self._fair_share_actions.isdisjoint(facts.opt_out_actions)
        if opts_out or mode is Preemptibility.NON_PREEMPTIBLE:
            return _Part.ALL
        return _Part.CORE if mode is Preemptibility.SEMI_PREEMPTIBLE else _Part.NOTHING


def _minimum(facts: PodGroupFacts, pod_set: PodSet) -> int:
    """The minimum of a pod set with these facts."""
    if facts.sub_groups:
        return pod_set.min_available
    return 1 if facts.min_member is None else facts.min_member


def _size(task: Task) -> Share:
    shape = task.shape
    gpus = shape.gpu.gpu_milli() + shape.extra_gpu_milli + shape.gpu.memory_mib
    return (gpus, shape.request[CPU], shape.request[MEMORY])


def _less(share: Share, other: Share) -> Share:
    return (share[0] - other[0], share[1] - other[1], share[2] - other[2])
