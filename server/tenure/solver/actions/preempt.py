"""Preempt: pod groups evict those of lower priority in their leaf queue (semantics 6.2)."""

from collections.abc import Hashable, Sequence
from typing import Final, final

from tenure.solver.model.decision import Atomicity
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.action import Action, ActionContext, ActionRule, QueueGate, Relation
from tenure.solver.plugin_api.scenario import Scenario
from tenure.terms.reasons import ReasonCode

_NOT_LOWER: Final = Rejection(ReasonCode.PRIORITY_NOT_LOWER, "its priority is not lower", source="preempt")


@final
class LowerPriority(ActionRule):
    """Victims have strictly lower priority."""

    def __init__(self, context: ActionContext) -> None:
        pass

    def may_start(self, preemptor: PodGroup, tasks: Sequence[int]) -> Rejection | None:
        """Any pod group may."""
        return None

    def allows_victim(self, preemptor: PodGroup, victim: PodGroup) -> Rejection | None:
        """Strictly lower, so never the pod group itself."""
        return None if victim.facts.priority < preemptor.facts.priority else _NOT_LOWER

    def victim_cache_key(self, preemptor: PodGroup) -> Hashable | None:
        """Its priority."""
        return preemptor.facts.priority

    def allows_scenario(self, scenario: Scenario) -> Rejection | None:
        """Any scenario."""
        return None


PREEMPT: Final = Action(
    "preempt",
    victims_from=Relation.SAME_QUEUE,
    gate=QueueGate.QUOTA,
    reason=ReasonCode.PREEMPTED,
    atomicity=Atomicity.ALL,
    rule=LowerPriority,
    starts_by_request=True,
)
