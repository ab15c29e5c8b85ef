"""In which order pods with reservations can start, where they need each other by affinity (R3.71, R3.74).

Others may start before them: whatever needs none of them counts as started.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from tenure.solver.plugin_api.ledger_view import LedgerView
from tenure.solver.plugin_api.presence import Presence
from tenure.solver.plugins.nodes.affinity_classes import AffinityClass, MatchingPods
from tenure.solver.plugins.nodes.pod_counts import PodCounts
from tenure.solver.plugins.nodes.pod_limits import LimitsOfClasses

IN_NO_DOMAIN: Final = "\0"
"""Value of a topology key that a node lacks; no label has it, and nothing is counted there."""


class StartOrder:
    """Reads the counts of pods that required affinities need."""

    def __init__(self, counts: PodCounts, limits: LimitsOfClasses, ledger: LedgerView) -> None:
        self._labels = counts.labels
        self._classes = counts.classes.of_task
        self._limits = limits
        self._ledger = ledger

    def missing(self, task: int) -> list[tuple[MatchingPods, str]]:
        """What the affinity of a task needs and is not there yet, with the domain of the task."""
        limits = self._limits.of(self._classes[task])
        labels = self._labels[self._ledger.placement(task).node]
        domains = [(pods, labels.get(pods.topology_key, IN_NO_DOMAIN)) for pods in limits.affinity]
        return [(pods, value) for pods, value in domains if pods.now[value] <= 0]

    def waits(self, task: int) -> bool:
        """Whether a task with a reservation may have to wait for others near it.

        One that may be the first of its kind need not, unless others in another domain may start before it.
        """
        missing = self.missing(task)
        if not (missing and self._limits.of(self._classes[task]).matches_own_affinity):
            return bool(missing)
        return any(pods.now.total() > 0 or pods.later.total() > pods.later[value] for pods, value in missing)

    def stuck(self, tasks: Iterable[int]) -> list[int]:
        """Those of these tasks with reservations that wait for each other for ever."""
        waiting = [task for task in tasks if self.missing(task)]
        while waiting:
            left = self._not_starting(waiting)
            if len(left) == len(waiting):
                break
            waiting = left
        return waiting

    def _not_starting(self, waiting: Sequence[int]) -> list[int]:
        """Those that cannot start before others of them: nothing else with a reservation is near them.

        If no one can, one that may be the first of its kind starts.
        """
        classes, missing = self._classes, {task: self.missing(task) for task in waiting}
        concerned = {pods for found in missing.values() for pods, _ in found}
        among: Counter[tuple[MatchingPods, str]] = Counter()
        for task in waiting:
            labels = self._labels[self._ledger.placement(task).node]
            for pods in concerned.intersection(classes[task].memberships):
                among[pods, labels.get(pods.topology_key, IN_NO_DOMAIN)] += 1
        left = [
            task
            for task in waiting
            if any(pods.later[value] - pods.now[value] <= among[pods, value] for pods, value in missing[task])
        ]
        if len(left) < len(waiting):
            return left
        others = {pods: pods.later.total() - pods.now.total() for pods in concerned}
        for (pods, _), number in among.items():
            others[pods] -= number
        for task in left:
            limits = self._limits.of(classes[task])
            nothing = all(pods.now.total() <= 0 and others[pods] <= 0 for pods, _ in missing[task])
            if limits.matches_own_affinity and nothing:
                return [each for each in left if each != task]
        return left


class OneMore:
    """A pod of a class, and pods with reservations that may need one of them to be the first of its kind."""

    def __init__(
        self, order: StartOrder, counts: PodCounts, kind: AffinityClass, reserved: Sequence[int]
    ) -> None:
        """`reserved`: tasks with reservations that the pod may concern, and all that these may."""
        self._order = order
        self._labels = counts.labels
        self._reserved = [task for task in reserved if order.missing(task)]
        needed = {each: None for task in self._reserved for each in order.missing(task)}
        self._needed = [(pods, value) for pods, value in needed if pods in kind.memberships]
        self._provides = list(dict.fromkeys([pods for pods, _ in self._needed]))
        self._stuck = frozenset(order.stuck(self._reserved) if self._needed else ())
        self._found: dict[tuple[bool | None, ...], bool] = {}
        """By which of what is needed is in the domains of a node; None: the node is in none of them."""

    def concerns_any(self) -> bool:
        """Whether there is any node where they might be harmed."""
        return bool(self._needed)

    def harms(self, node: int) -> bool:
        """Whether any of them waits for ever if the pod runs on a node before they start."""
        labels, keys = self._labels[node], list[bool | None]()
        for pods, value in self._needed:
            own = labels.get(pods.topology_key)
            keys.append(None if own is None else own == value)
        where = tuple(keys)
        found = self._found.get(where)
        if found is None:
            found = self._found[where] = self._try(node)
        return found

    def _try(self, node: int) -> bool:
        labels = self._labels[node]
        domains = [(pods, labels.get(pods.topology_key)) for pods in self._provides]
        for pods, value in domains:
            if value is not None:
                pods.count(value, Presence.STAYS, 1)
        try:
            return not self._stuck.issuperset(self._order.stuck(self._reserved))
        finally:
            for pods, value in domains:
                if value is not None:
                    pods.count(value, Presence.STAYS, -1)
