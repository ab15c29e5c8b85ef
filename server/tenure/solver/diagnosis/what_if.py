"""Small changes of a cluster that could let a pod group start, each tried by a cycle on a copy.

Indices do not change, so that results for the copy can be compared with those for the original.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from tenure.solver.diagnosis.answer import answer
from tenure.solver.framework.stop_signal import CycleStopped
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult, DecisionGroup, OutcomeKind
from tenure.solver.model.node import HOSTNAME, Node
from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.model.workload import PodGroup, PodSet
from tenure.solver.play.next_cluster import INTERVAL, apply_decisions
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.result.notices import victims_of
from tenure.terms.cancellation import never

MAX_CYCLES_TO_START: Final = 5
"""Cycles in which a pod group with reserved capacity must start."""
HELPFUL_OUTCOMES: Final = (
    OutcomeKind.BOUND,
    OutcomeKind.WAITING_FOR_RELEASE,
    OutcomeKind.WAITING_FOR_VICTIMS,
)
"""Outcomes of a pod group that is placed."""


class TrialResult(NamedTuple):
    """Outcome of a pod group, and what its start costs others."""

    kind: OutcomeKind
    evicted: int
    """Pods that are evicted for it."""
    victims: tuple[tuple[int, int], ...] = ()
    """Whose they are: pod groups, each with the number of its pods."""
    not_started: tuple[int, ...] = ()
    """Pod groups that start in the cycle as it is, and are still pending when this one runs."""
    further_losses: tuple[tuple[int, int], ...] = ()
    """Pods that other pod groups lose for others, and would keep in the cycle as it is; by pod group."""


class WhatIfTrials:
    """Tries changes for one pod group. Raises CycleStopped when `stop` ends one of them."""

    def __init__(
        self,
        profile: Profile,
        registry: Registry,
        group: PodGroup,
        stop: Callable[[], bool] = never,
        without_change: CycleResult | None = None,
    ) -> None:
        """`without_change`: the cycle with which those of changed clusters are compared; None: nothing is."""
        self._profile = profile
        self._registry = registry
        self._pod_group, self._tasks = group.index, frozenset(group.tasks)
        self._stop = stop
        self._compared = without_change
        self.is_patient = False
        """Whether a change may place it in a later cycle: it does not start by waiting."""
        self._started = set[int]() if without_change is None else _placed(without_change)

    def decide(self, cluster: Cluster) -> CycleResult:
        """One whole cycle."""
        decision = answer(cluster, self._profile, self._stop, registry=self._registry)
        if decision.stopped_early:
            raise CycleStopped
        return decision

    def has_helped(self, cluster: Cluster, decision: CycleResult) -> TrialResult | None:
        """Result for the pod group; None if it is not placed, or loses as many pods as are placed."""
        found = next((each for each in decision.outcomes if each.pod_group == self._pod_group), None)
        if found is None or found.kind not in HELPFUL_OUTCOMES:
            return None
        others = [group for group in decision.groups if group.beneficiary != self._pod_group]
        lost = {each.task for group in others for each in victims_of(group)} & self._tasks
        lost -= {each.task for group in others for each in group.reservations}
        if len(lost) >= found.bound + found.reserved:
            return None
        own = [group for group in decision.groups if group.beneficiary == self._pod_group]
        victims = _losses(cluster, own)
        return TrialResult(
            found.kind,
            victims.total(),
            tuple(sorted(victims.items())),
            further_losses=self._further_losses(cluster, decision),
        )

    def verify(self, cluster: Cluster) -> TrialResult | None:
        """Result for the pod group if it runs within a few cycles on this cluster; else None.

        Capacity that is reserved for it may go to others before its victims have terminated. The cycle after
        notices for it is that in which they are due: until a later one, they may expire. If it does not start
        by waiting, a change may also place it in a later cycle, while cycles decide something.
        """
        first, result, before = None, None, self._running(cluster)
        for _ in range(MAX_CYCLES_TO_START + 1):
            decision = self.decide(cluster)
            first = first or decision
            placed = self.has_helped(cluster, decision)
            if placed is None and result is None and not (self.is_patient and decision.groups):
                return None
            own = [group for group in decision.groups if group.beneficiary == self._pod_group]
            due = max([group.notices.evict_time for group in own], default=0)
            cluster = apply_decisions(cluster, decision, max(INTERVAL, due - cluster.now))
            result = result or placed
            if result is None:
                continue
            if placed is None:  # it loses as many pods as are placed
                is_started = self._running(cluster) > before
            else:
                is_started = placed.kind is OutcomeKind.BOUND
            if is_started:
                waiting = self._started & _waiting(first) & _waiting(decision)
                return result._replace(not_started=tuple(sorted(waiting)))
            if placed is None:
                return None
        return None

    def _running(self, cluster: Cluster) -> int:
        """Number of its pods that run, or are about to."""
        return sum([cluster.tasks[task].placement.is_active_allocated for task in self._tasks])

    def smallest(self, most: int, change: Callable[[int], Cluster]) -> tuple[int, TrialResult] | None:
        """Smallest number from 1 to `most` whose change lets it run; None if it does not.

        Assumes that more of a change is never worse. Where that is false, the result still works, since it
        was tried, but a smaller number might too.
        """
        best = self.verify(change(most)) if most >= 1 else None
        if best is None:
            return None
        low, high = 0, most
        while high - low > 1:
            middle = (low + high) // 2
            found = self.verify(change(middle))
            if found is None:
                low = middle
            else:
                high, best = middle, found
        return high, best

    def first(self, changes: Iterable[tuple[int, Cluster]]) -> tuple[int, TrialResult] | None:
        """The first of these numbered changes that lets it run; None: none does."""
        for number, cluster in changes:
            if (found := self.verify(cluster)) is not None:
                return number, found
        return None

    def _further_losses(self, cluster: Cluster, decision: CycleResult) -> tuple[tuple[int, int], ...]:
        if self._compared is None:
            return ()
        both = [
            _losses(cluster, [group for group in each.groups if group.beneficiary != self._pod_group])
            for each in (decision, self._compared)
        ]
        return tuple(sorted((both[0] - both[1]).items()))


def _losses(cluster: Cluster, groups: Sequence[DecisionGroup]) -> Counter[int]:
    """Pods that decision groups evict, move or give notice to, by pod group."""
    return Counter([cluster.tasks[each.task].pod_group for group in groups for each in victims_of(group)])


def _placed(decision: CycleResult) -> set[int]:
    return {each.pod_group for each in decision.outcomes if each.kind in HELPFUL_OUTCOMES}


def _waiting(decision: CycleResult) -> set[int]:
    return {each.pod_group for each in decision.outcomes if each.kind not in HELPFUL_OUTCOMES}


def with_facts(cluster: Cluster, pod_group: int, **facts: Any) -> Cluster:
    """Change facts about one pod group."""
    group = cluster.pod_groups[pod_group]
    return _with_group(cluster, replace(group, facts=replace(group.facts, **facts)))


def _with_group(cluster: Cluster, group: PodGroup) -> Cluster:
    groups = cluster.pod_groups.next_version()
    groups.put(group.index, group)
    return replace(cluster, pod_groups=groups)


def single_pod_set(group: PodGroup) -> PodSet | None:
    """The only pod set of a pod group without subgroups."""
    members = group.root.members
    return members[0] if len(members) == 1 and isinstance(members[0], PodSet) else None


def with_minimum(cluster: Cluster, pod_group: int, minimum: int) -> Cluster:
    """Change the minimum of a pod group without subgroups."""
    group = cluster.pod_groups[pod_group]
    part = single_pod_set(group)
    assert part is not None
    smaller = replace(part, min_available=minimum)
    root = replace(group.root, members=(smaller,))
    return _with_group(cluster, replace(group, root=root, pod_sets=(smaller,)))


def with_larger_bounds(
    cluster: Cluster, bound: str, queues: Iterable[int], resource: int, amount: int
) -> Cluster:
    """Increase `quota` or `limit` of queues for one resource by an amount."""
    changed = list(cluster.queues)
    for queue in queues:
        facts = changed[queue].facts
        larger = list(getattr(facts, bound))
        larger[resource] += amount
        field: dict[str, Any] = {bound: (larger[0], larger[1], larger[2])}
        changed[queue] = replace(changed[queue], facts=replace(facts, **field))
    return replace(cluster, queues=tuple(changed))


def with_nodes(cluster: Cluster, like: int, count: int) -> Cluster:
    """Add nodes that are copies of an existing one; they come last in every order.

    Where a label is the name of the node, as the host name is, it is that of the new one: a label that has
    this value on every node that has it.
    """
    last, first = max(node.facts.name for node in cluster.nodes), len(cluster.nodes)
    node, new = cluster.nodes[like], []
    names = [
        key
        for key in node.facts.labels
        if key == HOSTNAME or all(_is_own_name(each, key) for each in cluster.nodes)
    ]
    for i in range(count):
        name = f"{last}~{i:09d}"
        labels = {**node.facts.labels, **dict.fromkeys(names, name)}
        new.append(replace(node, index=first + i, facts=replace(node.facts, name=name, labels=labels)))
    return replace(cluster, nodes=(*cluster.nodes, *new))


def _is_own_name(node: Node, key: str) -> bool:
    return node.facts.labels.get(key, node.facts.name) == node.facts.name


def without_terminating(cluster: Cluster) -> Cluster:
    """End the pods that terminate: they leave their nodes and do not return."""
    tasks = cluster.tasks.next_version()
    for task in cluster.tasks:
        if task.placement.status is TaskStatus.RELEASING:
            tasks.put(task.index, task.placed(Placement(TaskStatus.SUCCEEDED)))
    nodes = [
        replace(node, other_pods=tuple([each for each in node.other_pods if not each.is_terminating]))
        for node in cluster.nodes
    ]
    return replace(cluster, tasks=tasks, nodes=tuple(nodes))


def has_terminating(cluster: Cluster) -> bool:
    """Whether any pod terminates."""
    if any(each.is_terminating for node in cluster.nodes for each in node.other_pods):
        return True
    return any(task.placement.status is TaskStatus.RELEASING for task in cluster.tasks)
