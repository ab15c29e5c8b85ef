"""Nominates pod groups past their expected runtime for requeue (semantics section 12.1).

Pod groups with an expected runtime take part, their own or inherited from their queue. Checks follow the
order of semantics R12.63, so that the first of several reasons is reported.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from tenure.solver.model.inherited_settings import expected_runtime
from tenure.solver.model.requeue import Nomination, NominationResult, NominationSkipReason
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.derived import Derived
from tenure.solver.plugin_api.points import RequeueNominator
from tenure.solver.resolution.slot_map import SlotChange
from tenure.terms.durations import format_duration


def _find(context: PluginContext) -> set[int]:
    return _among(context, range(len(context.cluster.pod_groups)))


def _update(found: set[int], context: PluginContext, change: SlotChange) -> None:
    found.difference_update(change.pod_groups)
    found.update(_among(context, change.pod_groups))


def _among(context: PluginContext, pod_groups: Iterable[int]) -> set[int]:
    groups, queues = context.cluster.pod_groups, context.cluster.queues
    return {index for index in pod_groups if expected_runtime(groups[index], queues)[0].is_set}


_EXPECTED: Final = Derived(_find, _update, set[int].copy)
"""Pod groups with an expected runtime, their own or of their queue."""


class ExpectedRuntime(RequeueNominator):
    """Nominates pod groups past their expected runtime.

    It ignores minimum runtimes: the action calls the guards (semantics R12.33).
    """

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        self._context = context
        self._now = context.now
        self._groups = context.cluster.pod_groups
        self._queues = context.cluster.queues
        self._tasks = context.cluster.tasks

    def nominate(self, action: Action) -> Iterator[Nomination]:
        """All pod groups with an expected runtime (semantics R12.3)."""
        expected = self._context.derived(_EXPECTED)
        for index in sorted(expected):
            group = self._groups[index]
            setting, _ = expected_runtime(group, self._queues)
            if setting.problem:
                yield _skip(group, NominationSkipReason.INVALID_DURATION, setting.problem)
            elif setting.value is not None:
                yield self._evaluate(action, group, setting.value)

    def _evaluate(self, action: Action, group: PodGroup, expected: int) -> Nomination:
        if not self._is_active(group):
            return _skip(group, NominationSkipReason.NOT_RUNNING, "it has no running pods")
        if not group.is_evictable or action.name in group.facts.opt_out_actions:
            return _skip(group, NominationSkipReason.NOT_PREEMPTIBLE, _why_excluded(action, group))
        if group.is_semi_preemptible and not self._has_surplus(group):
            detail = "it is semi-preemptible and runs no pods beyond its minimum"
            return _skip(group, NominationSkipReason.NOT_PREEMPTIBLE, detail)
        if not group.facts.last_start:
            return _skip(group, NominationSkipReason.MISSING_START, "its start time is missing")
        if self._now < group.facts.last_start:
            detail = "its start time is after the snapshot time"
            return _skip(group, NominationSkipReason.CLOCK_SKEW, detail, group.facts.last_start)
        return self._evaluate_time(group, group.facts.last_start + expected)

    def _evaluate_time(self, group: PodGroup, end: int) -> Nomination:
        """Due at exactly the expected end; the cooldown is over at exactly its end (semantics R12.3)."""
        if self._now < end:
            detail = f"it ends in {format_duration(end - self._now)}"
            return Nomination(group.index, NominationResult.NOT_DUE, detail, until=end)
        overrun = self._now - end
        not_before = group.facts.requeue.not_before
        if not_before.problem:
            return _skip(group, NominationSkipReason.INVALID_NOT_BEFORE, not_before.problem, overrun=overrun)
        if not_before.value is not None and self._now < not_before.value:
            detail = f"its requeue cooldown ends in {format_duration(not_before.value - self._now)}"
            return _skip(group, NominationSkipReason.COOLDOWN, detail, not_before.value, overrun)
        return Nomination(group.index, NominationResult.NO_CONTENDER, overrun=overrun)

    def _is_active(self, group: PodGroup) -> bool:
        """Whether it was allocated when the cycle began; terminating pods do not count (semantics R12.52)."""
        return any(self._tasks[task].placement.status.is_active_allocated for task in group.tasks)

    def _has_surplus(self, group: PodGroup) -> bool:
        """Whether tasks beyond its minimum were allocated, which a semi-preemptible one can lose."""
        core = self._context.core(group.index)
        return any(
            task not in core and self._tasks[task].placement.status.is_active_allocated
            for task in group.tasks
        )


def _why_excluded(action: Action, group: PodGroup) -> str:
    is_opt_out = action.name in group.facts.opt_out_actions
    return f"it opts out of {action.name}" if is_opt_out else "it is not preemptible"


def _skip(
    group: PodGroup, reason: NominationSkipReason, detail: str, until: int | None = None, overrun: int = 0
) -> Nomination:
    return Nomination(group.index, NominationResult.SKIPPED, detail, reason, until, overrun)
