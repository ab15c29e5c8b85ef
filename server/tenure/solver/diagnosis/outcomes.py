"""The outcome of every pod group with tasks to schedule, and protections of running ones."""

from collections.abc import Iterable, Mapping
from typing import Final, final

from tenure.solver.framework.invalid_queue import invalid_queue
from tenure.solver.framework.session import Session
from tenure.solver.model.decision import OutcomeKind, PodGroupOutcome
from tenure.solver.model.facts import VictimFacts
from tenure.solver.model.fate import HoldReason
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.workload import PodGroup
from tenure.solver.result.notices import find_evict_times
from tenure.solver.result.wake_times import count_placed
from tenure.solver.search.search import OUT_OF_TIME
from tenure.terms.formatting import format_count, join_words
from tenure.terms.reason_class import ReasonClass
from tenure.terms.reasons import REASONS, ReasonCode

_KINDS: Final = {
    ReasonClass.INVALID: OutcomeKind.INVALID_POD_GROUP,
    ReasonClass.QUOTA: OutcomeKind.WAITING_FOR_QUOTA,
    ReasonClass.DELAY: OutcomeKind.DELAYED,
    ReasonClass.EFFORT: OutcomeKind.BUDGET_EXHAUSTED,
    ReasonClass.IMPOSSIBLE: OutcomeKind.INFEASIBLE,
    ReasonClass.CAPACITY: OutcomeKind.WAITING_FOR_CAPACITY,
    ReasonClass.HELD: OutcomeKind.HELD,
}
"""Outcome kinds of rejected pod groups by the class of the reason. The others depend on the end."""
START_REASONS: Final = Rejection(ReasonCode.ALLOCATED, "")
_HOLDS: Final = {
    HoldReason.UNSPECIFIED: "",
    HoldReason.USER: "its owner holds it",
    HoldReason.ADMIN: "an operator holds it",
    HoldReason.DEPENDENCY: "it waits for another workload",
    HoldReason.EVICTION_LIMIT: "it was evicted as often as it may be",
    HoldReason.EVICTED: "it was evicted, and is to be held then",
    HoldReason.TIME_LIMIT: "it reached its time limit",
    HoldReason.NOT_BEFORE: "it may not start yet",
}
"""Clauses by what holds a pod group."""
INSUFFICIENT_RESOURCES: Final = Rejection(
    ReasonCode.INSUFFICIENT_RESOURCES, "no eligible node has enough free resources"
)


def mark_budget_exhausted(session: Session, waiting: Iterable[int]) -> None:
    """Report pending pod groups as not evaluated, because the cycle was stopped.

    Rejections that no further search could change stay (`terms.reasons.dominance`): invalid input, limits.
    """
    for pod_group in waiting:
        session.reject(pod_group, OUT_OF_TIME)


def build_outcomes(session: Session, waiting: Iterable[int]) -> tuple[PodGroupOutcome, ...]:
    """One outcome per pod group, by uid: of those that wait, and of those that are held."""
    all_groups, held = session.cluster.pod_groups, session.phases.held
    reported = {*waiting, *held} if held else waiting
    groups = sorted([all_groups[i] for i in reported], key=lambda group: group.facts.uid)
    victims = {commit.beneficiary for commit in session.commits if commit.frees_for_others}
    in_flight = [s.group for s in session.in_flight if s.reason.code is ReasonCode.VICTIMS_EVICTED]
    victims.update(session.cluster.in_flight[index].beneficiary for index in in_flight)
    evict_times, holds = find_evict_times(session), _HeldOutcomes(session)
    return tuple(
        holds.outcome(group)
        if group.index in held
        else _outcome(session, group, group.index in victims, evict_times.get(group.index))
        for group in groups
    )


def _outcome(session: Session, group: PodGroup, has_victims: bool, evict_time: int | None) -> PodGroupOutcome:
    bound, held, pending = count_placed(session, group)
    if bound and not held:
        return PodGroupOutcome(group.index, OutcomeKind.BOUND, START_REASONS, bound, held, pending)
    if held:
        kind = OutcomeKind.WAITING_FOR_VICTIMS if has_victims else OutcomeKind.WAITING_FOR_RELEASE
        if has_victims and evict_time is not None:
            reason = Rejection(ReasonCode.NOTICE_GIVEN, "its victims were given notice", evict_time)
            return PodGroupOutcome(group.index, kind, reason, bound, held, pending)
        code = ReasonCode.VICTIMS_EVICTED if has_victims else ReasonCode.PIPELINED
        return PodGroupOutcome(group.index, kind, Rejection(code, ""), bound, held, pending)
    reason = _rejection(session, group)
    return PodGroupOutcome(group.index, outcome_kind(reason), reason, bound, held, pending)


@final
class _HeldOutcomes:
    """Outcomes of pod groups that are held, or wait for a time (semantics R19.25, R19.26)."""

    def __init__(self, session: Session) -> None:
        self._cluster = session.cluster
        self._names: Mapping[str, str] | None = None
        """Names of all pod groups by UID, once they are needed."""

    def outcome(self, group: PodGroup) -> PodGroupOutcome:
        """HELD; or DELAYED until the time of a pod group that nothing else holds."""
        tasks, facts = self._cluster.tasks, group.facts.victim
        waiting = sum(tasks[task].placement.status is TaskStatus.GATED for task in group.tasks)
        if facts.held_by is HoldReason.NOT_BEFORE:
            reason = Rejection(ReasonCode.NOT_BEFORE, _HOLDS[facts.held_by], facts.not_before)
            return PodGroupOutcome(group.index, OutcomeKind.DELAYED, reason, 0, 0, waiting)
        reason = Rejection(ReasonCode.HELD, self._clause(facts))
        return PodGroupOutcome(group.index, OutcomeKind.HELD, reason, 0, 0, waiting)

    def _clause(self, facts: VictimFacts) -> str:
        """What holds it. Of the pod groups that it waits for, those of the snapshot are named."""
        if facts.held_by is not HoldReason.DEPENDENCY or not facts.depends_on:
            return _HOLDS[facts.held_by]
        if self._names is None:
            self._names = {group.facts.uid: group.facts.name for group in self._cluster.pod_groups}
        known = [self._names[uid] for uid in facts.depends_on if uid in self._names]
        rest = len(facts.depends_on) - len(known)
        others = [format_count(rest, "pod group") + " not in the snapshot"] if rest else []
        return f"it waits for {join_words([*known, *others])}"


def outcome_kind(rejection: Rejection) -> OutcomeKind:
    """Outcome of a rejected pod group: that of the reason's class; protections delay it until their end."""
    kind = _KINDS.get(REASONS[rejection.code].reason_class)
    if kind is not None:
        return kind
    return OutcomeKind.WAITING_FOR_CAPACITY if rejection.until is None else OutcomeKind.DELAYED


def _rejection(session: Session, group: PodGroup) -> Rejection:
    if group.queue is None:
        return invalid_queue(session.cluster, group)
    return session.rejections.get(group.index, INSUFFICIENT_RESOURCES)
