"""Search budgets in simulations: exact, so that identical requests end at the same point."""

from typing import Final

from tenure.solver.model.rejection import Rejection
from tenure.solver.plugin_api.profile import CycleOptions
from tenure.terms.reasons import ReasonCode

BUDGET_EXHAUSTED: Final = Rejection(
    ReasonCode.BUDGET_EXHAUSTED, "the search budget is exhausted", source="search"
)
OUT_OF_TIME: Final = Rejection(
    ReasonCode.BUDGET_EXHAUSTED, "the cycle ran out of time before it was evaluated", source="deadline"
)


class Budget:
    """Counts simulations of one action (semantics R5.72, in steps instead of seconds)."""

    def __init__(self, options: CycleOptions) -> None:
        self._per_pod_group = options.max_simulations_per_pod_group
        self._action = options.max_simulations_per_action
        self._pod_group = 0

    def start(self) -> None:
        """Start the budget of a new pod group."""
        self._pod_group = min(self._per_pod_group, self._action)

    def spend(self) -> bool:
        """Use one simulation; False if none is left."""
        if self._pod_group <= 0:
            return False
        self._pod_group -= 1
        self._action -= 1
        return True

    @property
    def is_exhausted(self) -> bool:
        """Whether the budget of the pod group is exhausted."""
        return self._pod_group <= 0

    @property
    def is_over(self) -> bool:
        """Whether the action must stop."""
        return self._action <= 0
