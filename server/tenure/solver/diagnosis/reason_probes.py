"""Whether a single obstacle keeps a pod group waiting: its search again, without that obstacle.

A protection or a gate is reported as the reason only if it is the one thing in the way. After all actions,
the search for a pod group that met protections with an end is repeated without them; if that succeeds, the
earliest end is found that suffices. A search that a gate prevented is made. What a probe finds is rolled
back, so probes change no decision. Number and simulations of the probes of an action are limited by exact
counters. `protection_delays` compares what the actions found.
"""

from collections.abc import Hashable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple, final

from tenure.solver.actions.obstacles import LIMITED, Obstacle, Obstacles
from tenure.solver.framework.disruptions import EVER, ignoring, ignoring_all
from tenure.solver.framework.session import Session
from tenure.solver.framework.stop_signal import CycleStopped
from tenure.solver.model.rejection import Rejection
from tenure.solver.search.search import BUDGET_EXHAUSTED, NO_SOLUTION, Budget
from tenure.terms.reasons import ReasonCode, dominance

MAX_PROBES: Final = 32
"""Probes of one action in a cycle."""
MAX_SIMULATIONS_PER_PROBE: Final = 8
MAX_SIMULATIONS: Final = 64
"""Simulations of all probes of one action in a cycle."""
MAX_UNFINISHED: Final = 2
"""Probes of one action in a cycle that may run out of simulations: after two, others seldom find more."""
UNCHECKED: Final = "whether protections that end are the only obstacle was not checked"
UNCHECKED_SHARE: Final = "whether its fair share is the only obstacle was not checked"
NOT_CHECKED: Final = NO_SOLUTION._replace(detail=f"{NO_SOLUTION.detail}; {UNCHECKED}")
SHARE_NOT_CHECKED: Final = NO_SOLUTION._replace(detail=f"{NO_SOLUTION.detail}; {UNCHECKED_SHARE}")
_LEAST_UNCHECKED: Final = dominance(ReasonCode.OVER_FAIR_SHARE)
"""Rejections that dominate this one hold whether protections end or not."""


class Delay(NamedTuple):
    """A pod group that waits for a protection to end, as far as one action found."""

    until: int
    """Nanoseconds since the Unix epoch."""
    pod_group: int
    reason: Rejection
    kind: Hashable
    """Pod groups of an action and of equal kind have equal reasons."""
    source: str
    """Name of the action."""
    probes: "ReasonProbes"


@final
class ReasonProbes:
    """The probes of what one action met in a slice of a cycle, or in all of it."""

    def __init__(self, session: Session, obstacles: Obstacles) -> None:
        self._session = session
        self._search = obstacles.search
        self._endings = obstacles.endings
        self._obstacles = obstacles.noted
        self._budget = Budget(MAX_SIMULATIONS_PER_PROBE, MAX_SIMULATIONS)
        self._left = MAX_PROBES
        self._unfinished = 0
        self._known: dict[Hashable, Rejection] = {}
        self._lasting: dict[Hashable, Rejection] = {}
        """Which budgets are in the way, while they hold."""

    def delays(self) -> Sequence[Delay]:
        """Reject every noted pod group that still waits with the reason that was checked; return those that
        wait for a protection.
        """
        found: list[Delay] = []
        if not self._obstacles:
            return found
        placed = {commit.beneficiary for commit in self._session.commits}
        for obstacle in self._obstacles:
            pod_group = obstacle.pod_group
            if pod_group in placed:
                continue
            kind, reason = self._reason(obstacle)
            if reason is NOT_CHECKED:
                self._note_unchecked(pod_group)
            elif reason.until is None:
                self._reject(pod_group, reason)
            else:
                found.append(Delay(reason.until, pod_group, reason, kind, self._search.action.name, self))
        return found

    def recheck(self, pod_group: int) -> Rejection:
        """Why it waits for protections beside what was placed since."""
        try:
            return self._check(Obstacle(pod_group, None))
        except CycleStopped:
            return NOT_CHECKED

    def place(self, pod_group: int, time: int) -> bool:
        """Commit what the search finds once the protections that end by a time have ended."""
        action = self._search.action
        disruptions = self._session.disruptions
        with suppress(CycleStopped), ignoring(disruptions, time), self._session.statement() as statement:
            if not self._is_over() and self._search.attempt(statement, pod_group, time, self._budget) is None:
                self._session.commit(statement, action, pod_group, action.reason)
                return True
        return False

    def _reject(self, pod_group: int, reason: Rejection) -> None:
        """Reject it, but keep that something was not checked when another action searched for it in vain."""
        known = self._session.rejections.get(pod_group)
        is_open = known is not None and known.detail.endswith((UNCHECKED, UNCHECKED_SHARE))
        if not (is_open and reason is NO_SOLUTION):
            self._session.reject(pod_group, reason)

    def _note_unchecked(self, pod_group: int) -> None:
        """Keep a dominant rejection, and add that protections were not checked."""
        known = self._session.rejections.get(pod_group)
        if known is None:
            self._session.reject(pod_group, NOT_CHECKED)
        elif dominance(known.code) >= _LEAST_UNCHECKED and not known.detail.endswith(UNCHECKED):
            self._session.reject(pod_group, known._replace(detail=f"{known.detail.rstrip('.')}; {UNCHECKED}"))

    def _reason(self, obstacle: Obstacle) -> tuple[Hashable, Rejection]:
        """With its kind: pod groups of a queue with equal priority and pods share the result.

        Budgets hold against each of them until a time of its own.
        """
        disruptions, action, pod_group = self._session.disruptions, self._search.action, obstacle.pod_group
        shared, held_until = self._class_of(obstacle), disruptions.held_until(action, pod_group)
        key = (shared, held_until)
        if obstacle.stopped_by is LIMITED:
            kind = (shared, disruptions.may_override(action, pod_group))
            if kind not in self._lasting:
                try:
                    self._lasting[kind] = self._without_budgets(pod_group)
                except CycleStopped:
                    self._lasting[kind] = SHARE_NOT_CHECKED
            return key, disruptions.held(self._lasting[kind], action, pod_group)
        if key not in self._known:
            try:
                self._known[key] = self._check(obstacle)
            except CycleStopped:
                self._known[key] = NOT_CHECKED if obstacle.stopped_by is None else SHARE_NOT_CHECKED
        return key, self._known[key]

    def _check(self, obstacle: Obstacle) -> Rejection:
        pod_group, gate = obstacle
        found = self._probe(pod_group, EVER if gate is None else None)
        if found is BUDGET_EXHAUSTED:
            return NOT_CHECKED if gate is None else SHARE_NOT_CHECKED
        if found is not None and gate is None and self._session.disruptions.were_met:
            lasting = self._without_budgets(pod_group)
            return self._session.disruptions.held(lasting, self._search.action, pod_group)
        if found is not None:
            is_reason = found.until is None and found.code is not ReasonCode.OVER_FAIR_SHARE
            return found if is_reason else NO_SOLUTION
        return gate or self._first_sufficient(pod_group)

    def _first_sufficient(self, pod_group: int) -> Rejection:
        """The protection with the earliest end that suffices, as far as the probes reach."""
        by_end = {**self._session.disruptions.endings(), **self._endings(pod_group)}
        if not by_end:
            return NO_SOLUTION
        ends = sorted(by_end)
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

    def _without_budgets(self, pod_group: int) -> Rejection:
        """The disruption budgets that the search exceeds when it ignores them; else that it fails.

        As if budgets held for ever.
        """
        if self._is_over():
            return NOT_CHECKED
        disruptions = self._session.disruptions
        with ignoring_all(disruptions), self._session.statement() as trial:
            found = self._search.attempt(trial, pod_group, None, self._budget)
            moved = dict.fromkeys([move.task for move in trial.moves])
            obstacle = disruptions.lasting_obstacle(self._search.action, pod_group, moved)
        self._unfinished += found is BUDGET_EXHAUSTED
        if found is BUDGET_EXHAUSTED:
            return NOT_CHECKED
        return NO_SOLUTION if found is not None else obstacle or NO_SOLUTION

    def _probe(self, pod_group: int, time: int | None) -> Rejection | None:
        """Result of the search without the protections that end by a time; leaves no trace."""
        if self._is_over():
            return BUDGET_EXHAUSTED
        with ignoring(self._session.disruptions, time), self._session.statement() as trial:
            found = self._search.attempt(trial, pod_group, time, self._budget)
        self._unfinished += found is BUDGET_EXHAUSTED
        return found

    def _is_over(self) -> bool:
        """Whether another probe is not permitted; it is counted if it is."""
        is_spent = self._left <= 0 or self._unfinished >= MAX_UNFINISHED or self._budget.is_over
        if is_spent or self._session.stop.is_set:
            return True
        self._left -= 1
        return False

    def _class_of(self, obstacle: Obstacle) -> Hashable:
        cluster, guards = self._session.cluster, self._session.guards
        pod_group, gate = obstacle
        group = cluster.pod_groups[pod_group]
        guard_key = guards.cache_key(group.index)
        pair = group.index if guard_key is None else -1
        shapes = tuple([cluster.tasks[task].shape.index for task in group.tasks])
        stopped_by = (gate is None, gate is LIMITED)
        kind = (group.queue, group.facts.priority, group.is_preemptible, stopped_by)
        return kind, shapes, guard_key, pair
