"""Required pod affinity and anti-affinity, and topology spread, as in Kubernetes (R3.63, R3.70-R3.74).

A node is checked as it will be when victims have left; what is permitted only then is reserved and not bound.
In the end, everything that a scenario placed is checked again beside all the rest (`final_state`).
"""

from collections.abc import Callable, Sequence
from functools import partial

from tenure.solver.model.placement import NOWHERE, Placement, TaskStatus
from tenure.solver.model.rejection import NOT_YET, Rejection
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.presence import EFFECTS, Places, PodRelation, Presence
from tenure.solver.plugins.nodes.affinity_classes import REQUIRED, AffinityClass, MatchingPods, SpreadCounts
from tenure.solver.plugins.nodes.final_state import IN_THE_WAY, FinalState
from tenure.solver.plugins.nodes.pod_counts import PodCounts
from tenure.solver.plugins.nodes.pod_limits import Limits, LimitsOfClasses
from tenure.solver.plugins.nodes.reserved_pods import ReservedPodIndex
from tenure.solver.plugins.nodes.start_order import OneMore, StartOrder


class PodAffinityFilter:
    """Follows every move, and checks single nodes."""

    def __init__(self, context: PluginContext) -> None:
        self._ledger = context.ledger
        self._counts = PodCounts(context, REQUIRED)
        self._labels = self._counts.labels
        self._limits = LimitsOfClasses(context, self._counts)
        self._reserved = ReservedPodIndex(self._counts, self._limits, context.ledger)
        self._order = StartOrder(self._counts, self._limits, context.ledger)
        self.final_state = FinalState(
            context, self._counts, self._limits, self._reserved, self._order, self._problem_in_place
        )
        self._wide: dict[str, bool] = {}

    def allows_placement(self, task: int) -> Callable[[int], Rejection | None] | None:
        """A check, if other pods restrict the nodes of the task, or it restricts those of others."""
        kind = self._counts.classes.of_task[task]
        limits = self._limits.of(kind)
        self._reserved.settle()
        if not limits.counts and not self._reserved.may_be_harmed_by(kind):
            return None
        own = list(self._counts.presences.of(task, self._ledger.placement(task)))
        is_reserved = any(presence is Presence.RESERVED for _, presence in own)
        one_more = None if is_reserved else self._one_more(kind, task)
        return partial(self._check_node, limits, own, is_reserved, one_more)

    def _one_more(self, kind: AffinityClass, task: int) -> OneMore | None:
        """What may harm pods with reservations that one of them may be the first; None: nothing."""
        if not self._reserved.may_precede_first(kind):
            return None
        one_more = OneMore(self._order, self._counts, kind, self._reserved.concerned((task,)))
        return one_more if one_more.concerns_any() else None

    def on_move(self, task: int, before: Placement, after: Placement) -> None:
        """Follow the move."""
        kind = self._counts.classes.of_task[task]
        is_counted = bool(kind.memberships or kind.spread_memberships)
        if is_counted:
            self._counts.on_move(task, before, after)
        is_reserved = before.status is TaskStatus.PIPELINED or after.status is TaskStatus.PIPELINED
        if is_reserved:
            self._reserved.on_move(task, before, after)
        if is_counted or is_reserved or kind.constraints.pod_affinity:
            self.final_state.on_move(task, before, after)

    def needed(self, tasks: Sequence[int], others: Sequence[int], near: bool) -> list[int]:
        """Which of the others a required affinity needs; else also which a topology spread counts."""
        classes, pods, counted = self._counts.classes.of_task, set[MatchingPods](), set[SpreadCounts]()
        for kind in {classes[task] for task in tasks}:
            if kind.constraints.pod_affinity or (kind.constraints.topology_spread and not near):
                limits = self._limits.of(kind)
                pods.update(limits.affinity)
                counted.update([] if near else [counts for counts, _, _ in limits.spread])
        if not (pods or counted):
            return []
        return [
            other
            for other in others
            if not pods.isdisjoint(classes[other].memberships)
            or not counted.isdisjoint(classes[other].spread_memberships)
        ]

    def blocking(self, tasks: Sequence[int], others: Sequence[int]) -> list[int]:
        """Which of the others required anti-affinity, of either side, keeps apart by more than the node."""
        classes, pods = self._counts.classes.of_task, set[MatchingPods]()
        for kind in {classes[task] for task in tasks}:
            found = [each for each, _ in self._limits.of(kind).anti_affinity]
            pods.update([each for each in found if self._is_wide(each.topology_key)])
        return [other for other in others if not pods.isdisjoint(classes[other].memberships)] if pods else []

    def _is_wide(self, key: str) -> bool:
        """Whether any domain has several nodes."""
        wide = self._wide.get(key)
        if wide is None:
            values = [labels[key] for labels in self._labels if key in labels]
            wide = self._wide[key] = len(set(values)) < len(values)
        return wide

    def _problem_in_place(self, task: int) -> Rejection | None:
        check = self.allows_placement(task)
        return None if check is None else check(self._ledger.placement(task).node)

    def _exceeds(self, counts: SpreadCounts, greatest: int, node: int) -> bool:
        domain = self._labels[node].get(counts.spread.topology_key)
        return domain is None or counts.skew(domain) > greatest

    def _check_node(
        self, limits: Limits, own: Places, is_reserved: bool, one_more: OneMore | None, node: int
    ) -> Rejection | None:
        """Rejection of a node for a task, which does not count itself; NOT_YET: it may wait there."""
        own_node = next((at for at, presence in own if EFFECTS[PodRelation.COUNTS][presence].later), NOWHERE)
        if own_node == NOWHERE:
            return self._check(limits, own, is_reserved, one_more, node)
        counted = limits.kind.spread_memberships
        for counts in counted:
            counts.count(own_node, -1)
        try:
            return self._check(limits, own, is_reserved, one_more, node)
        finally:
            for counts in counted:
                counts.count(own_node, 1)

    def _check(
        self, limits: Limits, own: Places, is_reserved: bool, one_more: OneMore | None, node: int
    ) -> Rejection | None:
        labels, waits = self._labels[node], False
        if self._reserved.exceeds_spread(limits.kind, node):
            return IN_THE_WAY
        if one_more is not None and one_more.harms(node):
            return IN_THE_WAY
        for counts, greatest, uneven in limits.spread:
            if self._exceeds(counts, greatest, node):
                return uneven
        for pods, near_them in limits.anti_affinity:
            value = labels.get(pods.topology_key)
            if value is not None:
                now, later = self._others(limits.kind, own, pods, value)
                if later > (pods.passing[value] if is_reserved else 0):
                    return near_them
                waits = waits or now > 0 or later > 0
        for pods, far in zip(limits.affinity, limits.far, strict=True):
            if pods.topology_key not in labels:
                return far
        near = [self._others(limits.kind, own, pods, labels[pods.topology_key]) for pods in limits.affinity]
        if not all(later > 0 for _, later in near):
            is_first = limits.matches_own_affinity and not any(
                self._has_others(limits.kind, own, pods) for pods in limits.affinity
            )
            if not is_first:
                return next(far for far, (_, later) in zip(limits.far, near, strict=True) if later <= 0)
        elif not all(now > 0 for now, _ in near) and not self._is_first_now(limits, own):
            waits = True
        return NOT_YET if waits else None

    def _is_first_now(self, limits: Limits, own: Places) -> bool:
        """Whether it may start as the first of its kind, before others that have a reservation near it."""
        if not limits.matches_own_affinity:
            return False
        kind, total = limits.kind, 0
        for pods in limits.affinity:
            total += pods.now.total()
            if own and pods in kind.memberships:
                placed = [presence for node, presence in own if pods.topology_key in self._labels[node]]
                total -= sum([pods.effects[presence].now for presence in placed])
        return total == 0

    def _others(self, kind: AffinityClass, own: Places, pods: MatchingPods, value: str) -> tuple[int, int]:
        """How many other pods are in a domain, now and later."""
        now, later = pods.now[value], pods.later[value]
        if own and pods in kind.memberships:
            for node, presence in own:
                if self._labels[node].get(pods.topology_key) == value:
                    effect = pods.effects[presence]
                    now, later = now - effect.now, later - effect.later
        return now, later

    def _has_others(self, kind: AffinityClass, own: Places, pods: MatchingPods) -> bool:
        """Whether other pods are in any domain later."""
        total = pods.later.total()
        if own and pods in kind.memberships:
            placed = [each for each in own if pods.topology_key in self._labels[each[0]]]
            total -= sum([pods.effects[presence].later for _, presence in placed])
        return total > 0
