"""Whether a single obstacle keeps a pod group waiting: its search again, without that obstacle.

A protection or a gate is reported as the reason only if it is the one thing in the way. After all actions,
the search for a pod group that met protections with an end is repeated without them; if that succeeds, the
earliest end is found that suffices. A search that a gate prevented is made. Where several pod groups wait
for protections, they are probed again in the order of these ends, each beside the earlier ones: who gets
nothing then waits for those, not for a protection. What a probe finds is rolled back, so probes change no
decision. Number and simulations of the probes of an action are limited by exact counters.
"""

from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from operator import itemgetter
from typing import Final, Protocol, final

from tenure.solver.actions.victim_rules import VictimRules, VictimSelector
from tenure.solver.framework.session import Session
from tenure.solver.framework.stop_signal import CycleStopped
from tenure.solver.model.rejection import Rejection
from tenure.solver.search.oracle import BUDGET_EXHAUSTED, NO_SOLUTION, Budget, Search
from tenure.solver.search.solver import Solver
from tenure.terms.reasons import ReasonCode, dominance

MAX_PROBES: Final = 32
"""Probes of one action in a cycle."""
MAX_SIMULATIONS_PER_PROBE: Final = 8
MAX_SIMULATIONS: Final = 64
"""Simulations of all probes of one action in a cycle."""
EVER: Final = 2**63 - 1
"""A time by which every protection with an end has ended."""
UNCHECKED: Final = "whether protections that end are the only obstacle was not checked"
UNCHECKED_SHARE: Final = "whether its fair share is the only obstacle was not checked"
NOT_CHECKED: Final = NO_SOLUTION._replace(detail=f"{NO_SOLUTION.detail}; {UNCHECKED}")
SHARE_NOT_CHECKED: Final = NO_SOLUTION._replace(detail=f"{NO_SOLUTION.detail}; {UNCHECKED_SHARE}")
_LEAST_UNCHECKED: Final = dominance(ReasonCode.OVER_FAIR_SHARE)
"""Rejections that dominate this one hold whether protections end or not."""


Obstacle = tuple[int, Rejection | None]
"""A pod group that waits, and what stopped it: a gate, or protections with an end (None)."""


class ProbedAction(Protocol):
    """What probes need of an action."""

    rules: VictimRules

    def search_at(self, pod_group: int, time: int | None) -> Search:
        """The search without the protections that end by a time; None: with all protections."""


@final
class ReasonProbes:
    """The probes of one action in one cycle."""

    def __init__(self, session: Session, solver: Solver) -> None:
        self._session = session
        self._solver = solver
        self._budget = Budget(MAX_SIMULATIONS_PER_PROBE, MAX_SIMULATIONS)
        self._left = MAX_PROBES
        self._obstacles: list[Obstacle] = []
        self._known: dict[Hashable, Rejection] = {}

    def reject_unsearched(self, pod_group: int, rejection: Rejection, rules: VictimRules) -> None:
        """Report why there was no search; the gate of fair shares only after it was checked."""
        if rejection.code is not ReasonCode.OVER_FAIR_SHARE:
            self._session.reject(pod_group, rejection)
        elif rules.has_victims(pod_group):
            self._obstacles.append((pod_group, rejection))
        else:
            self._session.reject(pod_group, NO_SOLUTION)

    def reject(self, pod_group: int, rejection: Rejection) -> None:
        """Report why a search failed; a protection only after it was checked.

        That a scenario was unfair depends on which scenarios were simulated: it is no reason.
        """
        if rejection.code is ReasonCode.OVER_FAIR_SHARE:
            self._session.reject(pod_group, NO_SOLUTION)
        elif rejection.until is None:
            self._session.reject(pod_group, rejection)
        else:
            self._obstacles.append((pod_group, None))

    def run(self, action: ProbedAction) -> None:
        """Reject every noted pod group that still waits, with the reason that was checked."""
        if not self._obstacles:
            return
        placed = {commit.beneficiary for commit in self._session.commits}
        ends: list[tuple[int, Obstacle, Rejection]] = []
        for obstacle in self._obstacles:
            pod_group, _ = obstacle
            if pod_group in placed:
                continue
            reason = self._reason(action, obstacle)
            if reason is NOT_CHECKED:
                self._note_unchecked(pod_group)
            elif reason.until is None:
                self._session.reject(pod_group, reason)
            else:
                ends.append((reason.until, obstacle, reason))
        with _undone_commits(self._session):
            self._take_turns(action, sorted(ends, key=itemgetter(0)))

    def _take_turns(self, action: ProbedAction, ends: list[tuple[int, Obstacle, Rejection]]) -> None:
        """Reject who waits for protections, by their ends: each beside those that were placed before it."""
        placed: dict[int, Rejection] = {}
        late: dict[Hashable, int] = {}
        """Kinds of pod groups that got nothing, with the number of those that were placed then."""
        for _, obstacle, alone in ends:
            pod_group, reason = obstacle[0], alone
            key = self._class_of(obstacle)
            if late.get(key) == len(placed) > 0:
                reason = NO_SOLUTION
            elif placed:
                reason = self._or_unchecked(action, obstacle)
            if reason.until is not None:
                self._session.reject(pod_group, reason)
                if obstacle is not ends[-1][1] and self._place(action, pod_group, reason.until):
                    placed[pod_group] = reason
                continue
            if reason is not NOT_CHECKED:
                late[key] = len(placed)
            self._session.reject(pod_group, self._behind(action, pod_group, alone, reason, placed))

    def _or_unchecked(self, action: ProbedAction, obstacle: Obstacle) -> Rejection:
        try:
            return self._check(action, obstacle)
        except CycleStopped:
            return NOT_CHECKED

    def _place(self, action: ProbedAction, pod_group: int, time: int) -> bool:
        """Commit what the search finds once the protections that end by a time have ended."""
        search = action.search_at(pod_group, time)
        search.is_trial = True
        with suppress(CycleStopped), self._session.statement() as statement:
            if not self._is_over() and self._solver.solve(statement, search, self._budget) is None:
                self._session.commit(statement, action.rules.action, pod_group, action.rules.action.reason)
                return True
        return False

    def _behind(
        self,
        action: ProbedAction,
        pod_group: int,
        alone: Rejection,
        reason: Rejection,
        placed: Mapping[int, Rejection],
    ) -> Rejection:
        """Who comes before a pod group that would be placed alone; with its protection if not checked."""
        groups, own = self._session.cluster.pod_groups, self._session.cluster.pod_groups[pod_group]
        same = [other for other, theirs in placed.items() if theirs == alone]
        ahead = groups[min(same or placed, key=lambda other: not own.may_name(groups[other]))]
        who = f"pod group {ahead.facts.name}" if own.may_name(ahead) else "another pod group"
        if reason is not NOT_CHECKED and len(placed) > 1:
            who = f"one of {len(placed):,} other pod groups"
        if reason is NOT_CHECKED:
            detail = f"{alone.detail.rstrip('.')}; {who} waits for the same and comes first"
            return alone._replace(detail=detail) if same else alone
        detail = f"{who} waits for the same capacity and comes first"
        return Rejection(ReasonCode.QUEUE_ORDER, detail, source=action.rules.action.name)

    def _note_unchecked(self, pod_group: int) -> None:
        """Keep a dominant rejection, and add that protections were not checked."""
        known = self._session.rejections.get(pod_group)
        if known is None:
            self._session.reject(pod_group, NOT_CHECKED)
        elif dominance(known.code) >= _LEAST_UNCHECKED and not known.detail.endswith(UNCHECKED):
            self._session.reject(pod_group, known._replace(detail=f"{known.detail.rstrip('.')}; {UNCHECKED}"))

    def _reason(self, action: ProbedAction, obstacle: Obstacle) -> Rejection:
        """Pod groups of a queue with equal priority and pods share the result."""
        key = self._class_of(obstacle)
        if key not in self._known:
            try:
                self._known[key] = self._check(action, obstacle)
            except CycleStopped:
                self._known[key] = NOT_CHECKED if obstacle[1] is None else SHARE_NOT_CHECKED
        return self._known[key]

    def _check(self, action: ProbedAction, obstacle: Obstacle) -> Rejection:
        pod_group, gate = obstacle
        found = self._probe(action, pod_group, EVER if gate is None else None)
        if found is BUDGET_EXHAUSTED:
            return NOT_CHECKED if gate is None else SHARE_NOT_CHECKED
        if found is not None:
            is_reason = found.until is None and found.code is not ReasonCode.OVER_FAIR_SHARE
            return found if is_reason else NO_SOLUTION
        return gate or self._first_sufficient(action, pod_group)

    def _first_sufficient(self, action: ProbedAction, pod_group: int) -> Rejection:
        """The protection with the earliest end that suffices, as far as the probes reach."""
        victims = VictimSelector(action.rules, pod_group)
        victims.check_all(action.rules.victim_queues(pod_group))
        by_end = victims.endings()
        if not by_end:
            return NO_SOLUTION
        ends = sorted(by_end)
        low, high = 0, len(ends) - 1
        while low < high:
            middle = (low + high) // 2
            found = self._probe(action, pod_group, ends[middle])
            if found is None:
                high = middle
            elif found is BUDGET_EXHAUSTED:
                break
            else:
                low = middle + 1
        return by_end[ends[high]]

    def _probe(self, action: ProbedAction, pod_group: int, time: int | None) -> Rejection | None:
        """Result of the search without the protections that end by a time; leaves no trace."""
        if self._is_over():
            return BUDGET_EXHAUSTED
        search = action.search_at(pod_group, time)
        search.is_trial = True
        with self._session.statement() as trial:
            return self._solver.solve(trial, search, self._budget)

    def _is_over(self) -> bool:
        """Whether another probe is not permitted; it is counted if it is."""
        if self._left <= 0 or self._budget.is_over or self._session.stop.is_set:
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
        kind = (group.queue, group.facts.priority, group.is_preemptible, gate is None)
        return kind, shapes, guard_key, pair


@contextmanager
def _undone_commits(session: Session) -> Iterator[None]:
    """Undo the evictions and reservations that are committed in the block."""
    start = len(session.commits)
    try:
        yield
    finally:
        undone = session.commits[start:]
        del session.commits[start:]
        session.commit_count += len(undone)
        for move in [move for commit in reversed(undone) for move in reversed(commit.moves)]:
            session.ledger.apply(move.task, move.after, move.before)
            session.changed_pod_groups.add(session.ledger.tasks[move.task].pod_group)
