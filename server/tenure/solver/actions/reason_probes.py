"""Whether a single obstacle keeps a pod group waiting: its search again, without that obstacle.

A protection or a gate is reported as the reason only if it is the one thing in the way. So a search that
failed is repeated without the protections that end; if that succeeds, the earliest end is found that
suffices. A search that a gate prevented is made. What a probe finds is rolled back. Number and simulations of
the probes of an action are limited by exact counters.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Final, final

from tenure.solver.framework.session import Session
from tenure.solver.model.rejection import Rejection
from tenure.solver.search.oracle import BUDGET_EXHAUSTED, NO_SOLUTION, Budget, Search
from tenure.solver.search.solver import Solver
from tenure.terms.reasons import ReasonCode

MAX_PROBES: Final = 64
"""Probes of one action in a cycle."""
MAX_SIMULATIONS_PER_PROBE: Final = 16
MAX_SIMULATIONS: Final = 256
"""Simulations of all probes of one action in a cycle."""
NOT_CHECKED: Final = Rejection(
    ReasonCode.NO_SOLUTION,
    "no permitted set of evictions would free enough resources; whether protections that end are the only "
    "obstacle was not checked",
    source="search",
)

SearchAt = Callable[[int, int | None], Search]
"""The search for a pod group without the protections that end by a time; None: with all protections."""


@final
class ReasonProbes:
    """The probes of one action in one cycle."""

    def __init__(self, session: Session, solver: Solver, search_at: SearchAt) -> None:
        self._session = session
        self._solver = solver
        self._search_at = search_at
        self._budget = Budget(MAX_SIMULATIONS_PER_PROBE, MAX_SIMULATIONS)
        self._left = MAX_PROBES
        self._behind_gate: dict[Hashable, Rejection] = {}

    def behind_gate(self, pod_group: int, gate: Rejection) -> Rejection:
        """The gate that prevents a search, unless the search would fail: then why that fails.

        Pod groups of a queue with equal priority and pods share the result until something is committed.
        """
        key = self._class_of(pod_group)
        if key not in self._behind_gate:
            found = self._probe(pod_group, None)
            if found is not None and found.until is not None:
                found = NO_SOLUTION
            self._behind_gate[key] = gate if found is None or found is BUDGET_EXHAUSTED else found
        return self._behind_gate[key]

    def dominant(self, pod_group: int, endings: Iterable[Rejection], rejection: Rejection) -> Rejection:
        """The protection whose end would suffice, or why the search fails without those that end.

        `endings` are protections with an end that the search met, `rejection` is why it failed.
        """
        by_end: dict[int, Rejection] = {}
        for each in endings:
            if each.until is not None:
                by_end.setdefault(each.until, each)
        if not by_end:
            return rejection
        ends = sorted(by_end)
        without = self._probe(pod_group, ends[-1])
        if without is not None:
            return self._other(without, rejection)
        low, high = 0, len(ends) - 1
        while low < high:
            middle = (low + high) // 2
            found = self._probe(pod_group, ends[middle])
            if found is None:
                high = middle
            elif found is BUDGET_EXHAUSTED:
                break
            else:
                low = middle + 1
        return by_end[ends[high]]

    def _class_of(self, pod_group: int) -> Hashable:
        cluster = self._session.cluster
        group = cluster.pod_groups[pod_group]
        shapes = tuple([cluster.tasks[task].shape.index for task in group.tasks])
        kind = (group.queue, group.facts.priority, group.is_preemptible)
        return kind, shapes, len(self._session.commits)

    def _probe(self, pod_group: int, time: int | None) -> Rejection | None:
        """Result of the search without the protections that end by a time; leaves no trace."""
        if self._left <= 0 or self._budget.is_over:
            return BUDGET_EXHAUSTED
        self._left -= 1
        with self._session.statement() as trial:
            return self._solver.solve(trial, self._search_at(pod_group, time), self._budget)

    def _other(self, without: Rejection, rejection: Rejection) -> Rejection:
        """The reason besides protections; never a protection that was not shown to be the only one."""
        if without is BUDGET_EXHAUSTED:
            return NOT_CHECKED
        if without.until is None:
            return without
        return NO_SOLUTION if rejection.until is not None else rejection
