"""Time slicing: evict a pod group that has run for an hour in favor of one with higher priority.

An action from another package: one value with one rule. Quotas, limits, guards, reports and explanations
follow from its properties.
"""

from collections.abc import Hashable, Sequence

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.actions.eviction_action import evict_for_pending
from tenure.solver.model.decision import Atomicity
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.action import Action, QueueGate, Relation
from tenure.solver.plugin_api.scenario import Scenario
from tenure.terms.durations import SECOND
from tenure.terms.reasons import ReasonCode

SLICE = 3_600 * SECOND


class SliceIsOver:
    """Permits victims that have lower priority and have run for a slice."""

    def __init__(self, context: CycleContext) -> None:
        self._now = context.session.cluster.now

    def may_start(self, preemptor: PodGroup, tasks: Sequence[int]) -> Rejection | None:
        return None

    def allows_victim(self, preemptor: PodGroup, victim: PodGroup) -> Rejection | None:
        if victim.facts.priority >= preemptor.facts.priority:
            return Rejection(ReasonCode.PRIORITY_NOT_LOWER, "its priority is not lower", source="timeslice")
        if victim.facts.last_start is None or self._now < victim.facts.last_start + SLICE:
            return Rejection(ReasonCode.NO_SOLUTION, "its time slice is not over", source="timeslice")
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
    run=evict_for_pending,
    rule=SliceIsOver,
)
