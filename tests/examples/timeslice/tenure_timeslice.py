"""Time slicing: evict a pod group that has run for an hour in favor of one with higher priority.

An action from another package: one value with one rule. Quotas, limits, guards, reports and explanations
follow from its properties.
"""

from collections.abc import Hashable, Sequence

from tenure.solver.plugin_api import (
    SECOND,
    Action,
    ActionContext,
    Atomicity,
    CustomReason,
    PodGroup,
    QueueGate,
    ReasonCode,
    Rejection,
    Relation,
    Scenario,
)

SLICE = 3_600 * SECOND
SLICE_OVER = CustomReason(
    "SliceOver",
    clause="its time slice is over",
    public="Its time slice is over.",
    base=ReasonCode.PREEMPTED,
)
SLICE_NOT_OVER = CustomReason(
    "SliceNotOver",
    clause="its time slice is not over",
    public="Its time slice is not over.",
    remedy="wait until the time slice is over",
    base=ReasonCode.NO_SOLUTION,
)


class SliceIsOver:
    """Permits victims that have lower priority and have run for a slice."""

    def __init__(self, context: ActionContext) -> None:
        self._now = context.cluster.now

    def may_start(self, preemptor: PodGroup, tasks: Sequence[int]) -> Rejection | None:
        return None

    def allows_victim(self, preemptor: PodGroup, victim: PodGroup) -> Rejection | None:
        if victim.facts.priority >= preemptor.facts.priority:
            return Rejection(ReasonCode.PRIORITY_NOT_LOWER, "its priority is not lower", source="timeslice")
        if victim.facts.last_start is None or self._now < victim.facts.last_start + SLICE:
            return Rejection(ReasonCode.NO_SOLUTION, "", source="timeslice", custom=SLICE_NOT_OVER)
        return None

    def victim_cache_key(self, preemptor: PodGroup) -> Hashable | None:
        return preemptor.facts.priority

    def allows_scenario(self, scenario: Scenario) -> Rejection | None:
        return None


TIMESLICE = Action(
    "timeslice",
    victims_from=Relation.SAME_QUEUE,
    gate=QueueGate.QUOTA,
    reason=ReasonCode.PREEMPTED,
    atomicity=Atomicity.ALL,
    rule=SliceIsOver,
    custom_reason=SLICE_OVER,
    reasons=(SLICE_NOT_OVER,),
)
