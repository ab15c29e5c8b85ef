"""Reserved pods that others restrict: nothing that is placed later may be in their way (R3.71, R3.73)."""

from collections import Counter
from collections.abc import Iterable
from typing import Final, TypeVar

from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.plugin_api.ledger_view import LedgerView
from tenure.solver.plugins.nodes.affinity_classes import AffinityClass, MatchingPods, SpreadCounts
from tenure.solver.plugins.nodes.pod_counts import PodCounts
from tenure.solver.plugins.nodes.pod_limits import Limits, LimitsOfClasses

_Counts = TypeVar("_Counts", MatchingPods, SpreadCounts)
_Key = TypeVar("_Key")


class ReservedPodIndex:
    """Follows every move."""

    def __init__(self, counts: PodCounts, limits: LimitsOfClasses, ledger: LedgerView) -> None:
        self._labels = counts.labels
        self._classes = counts.classes.of_task
        self._limits = limits
        self._ledger = ledger
        self.tasks: Final[dict[int, None]] = {}
        """Tasks with a reservation that other pods restrict."""
        self._unknown: dict[int, None] = {}
        """Tasks with a reservation whose class has no limits yet."""
        self._near: dict[MatchingPods | SpreadCounts, dict[int, None]] = {}
        """Of those with a reservation, which are restricted by what these count."""
        self._first: dict[MatchingPods, Counter[str]] = {}
        """Number of them that may be the first of their kind, by what they need and their domain."""
        self._spread: dict[SpreadCounts, Counter[tuple[str, int]]] = {}
        """Number of them that have a topology spread, by domain and greatest skew."""

    def on_move(self, task: int, before: Placement, after: Placement) -> None:
        """Follow the move from or to a reservation. It never stops the cycle: the move is made already."""
        limits = self._limits.known.get(self._classes[task])
        if before.status is TaskStatus.PIPELINED:
            if task in self._unknown:
                del self._unknown[task]
            elif limits is not None and limits.counts:
                self._forget(task, limits, before.node)
        if after.status is TaskStatus.PIPELINED:
            if limits is None:
                self._unknown[task] = None
            elif limits.counts:
                self._remember(task, limits, after.node)

    def settle(self) -> None:
        """Count the limits of all tasks with reservations. May stop the cycle."""
        for task in [*self._unknown]:
            limits = self._limits.of(self._classes[task])
            del self._unknown[task]
            if limits.counts:
                self._remember(task, limits, self._ledger.placement(task).node)

    def may_be_harmed_by(self, kind: AffinityClass) -> bool:
        """Whether a task of a class might be in the way of any."""
        return bool((self._spread and kind.spread_memberships) or (self._first and kind.memberships))

    def concerned(self, tasks: Iterable[int]) -> list[int]:
        """Tasks with reservations that moves of these may harm, and those that these may harm in turn."""
        self.settle()
        if not self.tasks:
            return []
        classes, found, seen = self._classes, dict[int, None](), set[AffinityClass]()
        waiting = list({classes[task]: None for task in tasks})
        while waiting:
            kind = waiting.pop()
            if kind in seen:
                continue
            seen.add(kind)
            including: list[MatchingPods | SpreadCounts] = [*kind.memberships, *kind.spread_memberships]
            for near in [self._near[counts] for counts in including if counts in self._near]:
                found.update(near)
                waiting.extend({classes[task]: None for task in near})
        own = [task for task in tasks if task in self.tasks]
        return sorted(found.keys() | own)

    def exceeds_spread(self, kind: AffinityClass, node: int) -> bool:
        """Whether one more task on a node would exceed the topology spread of a reservation."""
        for counts in kind.spread_memberships:
            limits, domain = self._spread.get(counts), counts.domain(node)
            if limits and domain is not None and limits[domain, counts.skew(domain)]:
                return True
        return False

    def may_precede_first(self, kind: AffinityClass) -> bool:
        """Whether a task of a class might start before reservations that may be the first of their kind."""
        for pods in kind.memberships if self._first else ():
            if any(pods.now[value] <= 0 for value in self._first.get(pods, ())):
                return True
        return False

    def _remember(self, task: int, limits: Limits, node: int) -> None:
        self.tasks[task] = None
        for counts in limits.counts:
            self._near.setdefault(counts, {})[task] = None
        self._note(limits, node, 1)

    def _forget(self, task: int, limits: Limits, node: int) -> None:
        self.tasks.pop(task)
        for counts in limits.counts:
            self._near[counts].pop(task, None)
        self._note(limits, node, -1)

    def _note(self, limits: Limits, node: int, number: int) -> None:
        """Count reservations, so that nothing that is placed later is in their way."""
        for counts, greatest, _ in limits.spread:
            domain = counts.domain(node)
            if domain is not None:
                limit = greatest + (counts in limits.kind.spread_memberships)
                _add(self._spread, counts, (domain, limit), number)
        for pods in limits.affinity if limits.matches_own_affinity else ():
            value = self._labels[node].get(pods.topology_key)
            if value is not None:
                _add(self._first, pods, value, number)


def _add(numbers: dict[_Counts, Counter[_Key]], counts: _Counts, key: _Key, number: int) -> None:
    of_counts = numbers.setdefault(counts, Counter())
    of_counts[key] += number
    if not of_counts[key]:
        del of_counts[key]
        if not of_counts:
            del numbers[counts]
