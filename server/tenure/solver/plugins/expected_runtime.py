"""Nominates pod groups that run longer than expected; evicts nobody itself (semantics section 12.1).

Whoever says how long it should run takes part, by itself or through its queue; all others are passed over
in silence. The checks come in the order of semantics R12.63, so that of several reasons the first counts.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar, Final

from tenure.solver.framework.session import Session
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.inherited_settings import expected_runtime
from tenure.solver.model.requeue import Nomination, NominationResult, NominationSkipReason
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.derived import Derived
from tenure.solver.plugin_api.profile import Parsers
from tenure.solver.resolution.slot_map import SlotChange
from tenure.terms.durations import format_duration


class ExpectedRuntime:
    """A nominator. Min-runtime is not its business: the action asks the guards (semantics R12.33)."""

    ARGUMENTS: ClassVar[Parsers] = {}

    def __init__(self, session: Session, arguments: Mapping[str, str]) -> None:
        self._now = session.cluster.now
        self._groups = session.cluster.pod_groups
        self._queues = session.cluster.queues
        self._tasks = session.cluster.tasks
        self._session = session

    def nominate(self, action: Action) -> Iterator[Nomination]:
        """Everybody who is expected to end and has pods on nodes or would have them (semantics R12.3)."""
        found = self._session.derived(_WITH_EXPECTED_RUNTIME)
        for index in sorted(found):
            group = self._groups[index]
            setting, _ = expected_runtime(group, self._queues)
            if setting.problem:
                yield _skip(group, NominationSkipReason.INVALID_DURATION, setting.problem)
            elif setting.value is not None:
                yield self._evaluate(action, group, setting.value)

    def _evaluate(self, action: Action, group: PodGroup, expected: int) -> Nomination:
        if not self._is_active(group):
            return _skip(group, NominationSkipReason.NOT_RUNNING, "it has no running pods")
        if not group.is_evictable or action.name in group.opt_out_actions:
            return _skip(group, NominationSkipReason.NOT_PREEMPTIBLE, _why_excluded(action, group))
        if not group.last_start:
            return _skip(group, NominationSkipReason.MISSING_START, "its start time is missing")
        if self._now < group.last_start:
            detail = "its start time is after the snapshot time"
            return _skip(group, NominationSkipReason.CLOCK_SKEW, detail, group.last_start)
        return self._evaluate_time(group, group.last_start + expected)

    def _evaluate_time(self, group: PodGroup, end: int) -> Nomination:
        """Both ends are inclusive: due at the very end, free at the very end of the cooldown (R12.3)."""
        if self._now < end:
            detail = f"it ends in {format_duration(end - self._now)}"
            return Nomination(group.index, NominationResult.NOT_DUE, detail, until=end)
        overrun = self._now - end
        not_before = group.requeue.not_before
        if not_before.problem:
            return _skip(group, NominationSkipReason.INVALID_NOT_BEFORE, not_before.problem, overrun=overrun)
        if not_before.value is not None and self._now < not_before.value:
            detail = f"its requeue cooldown ends in {format_duration(not_before.value - self._now)}"
            return _skip(group, NominationSkipReason.COOLDOWN, detail, not_before.value, overrun)
        return Nomination(group.index, NominationResult.NO_CONTENDER, overrun=overrun)

    def _is_active(self, group: PodGroup) -> bool:
        """Whether it held room when the cycle began; terminating pods do not count (semantics R12.52)."""
        return any(self._tasks[task].placement.status.is_active_allocated for task in group.tasks)


def _why_excluded(action: Action, group: PodGroup) -> str:
    is_opt_out = action.name in group.opt_out_actions
    return f"it opts out of {action.name}" if is_opt_out else "it is not preemptible"


def _skip(
    group: PodGroup, reason: NominationSkipReason, detail: str, until: int | None = None, overrun: int = 0
) -> Nomination:
    return Nomination(group.index, NominationResult.SKIPPED, detail, reason, until, overrun)


def _build(session: Session) -> set[int]:
    """Pod groups with an expected runtime, of their own or of their queue."""
    return _those_of(session.cluster, range(len(session.cluster.pod_groups)))


def _follow(found: set[int], session: Session, change: SlotChange) -> None:
    found.difference_update(change.pod_groups)
    found.update(_those_of(session.cluster, change.pod_groups))


def _those_of(cluster: Cluster, pod_groups: Iterable[int]) -> set[int]:
    groups, queues = cluster.pod_groups, cluster.queues
    return {index for index in pod_groups if expected_runtime(groups[index], queues)[0].is_set}


_WITH_EXPECTED_RUNTIME: Final = Derived(_build, _follow, set[int].copy)
