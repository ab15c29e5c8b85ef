"""A search: for which tasks, among which victims, by which rules and within which budget.

`Solver.solve` answers it with a `SearchResult`.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Final, Protocol, final

from tenure.solver.framework.stop_signal import StopSignal
from tenure.solver.model.fast_dataclass import fast_dataclass
from tenure.solver.model.rejection import Rejection
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.profile import CycleOptions
from tenure.solver.plugin_api.scenario import Scenario
from tenure.solver.search.queue_tree import QueueTreeEntry
from tenure.terms.reasons import ReasonCode

WITHIN_FAIR_SHARE: Final = Rejection(
    ReasonCode.WITHIN_FAIR_SHARE, "the other queues are within their fair share", source="search"
)
NO_SOLUTION: Final = Rejection(
    ReasonCode.NO_SOLUTION, "no permitted set of evictions would free enough resources", source="search"
)
BUDGET_EXHAUSTED: Final = Rejection(
    ReasonCode.BUDGET_EXHAUSTED, "the search budget is exhausted", source="search"
)
OUT_OF_TIME: Final = Rejection(
    ReasonCode.BUDGET_EXHAUSTED, "the cycle ran out of time before it was evaluated", source="deadline"
)
SLICE_OVER: Final = Rejection(
    ReasonCode.BUDGET_EXHAUSTED, "its queue or the action used up its share of the cycle", source="deadline"
)
"""Of a pod group that is tried again in a later slice. It is not reported."""
MAX_CHECKS: Final = 20_000
"""Looks of an action at batches and nodes to find sets of victims by need (semantics R14.18)."""
CHECKS_PART: Final = 4
"""Each pod group may use this part of those that are left, so that later ones have some, too."""
NEVER: Final = "never"
"""The option `fillBack` with which no victim is given back."""
Validator = Callable[[Scenario], Rejection | None]
"""Returns a rejection of a simulated scenario that placed the preemptor, or None."""
BlockedBy = Callable[[Scenario, int], bool]
"""Whether the preemptor certainly finds no place after the last victim; the other victims are placed."""


class VictimPolicy(Protocol):
    """Determines the candidates for one preemptor."""

    def allows_queue(self, queue: int) -> bool:
        """Whether any pod group of a leaf queue may be a victim."""

    def candidates(self, queue: int) -> Iterator[QueueTreeEntry]:
        """Candidates of a leaf queue with their allocated resources, worst first; only evictable ones."""


@final
@fast_dataclass(slots=True, init=False)
class Search:
    """The question of one search: how to place these tasks of a preemptor. It never changes."""

    action: Final[Action]
    preemptor: Final[int]
    tasks: Final[tuple[int, ...]]
    victim_queues: Final[Sequence[int]]
    """Leaf queues of possible victims; the policy may allow fewer."""
    victims: Final[VictimPolicy]
    max_victims: Final[int]
    """Maximum number of victim pod groups, -1 for unlimited."""
    validates: Final[Validator]
    rule_key: Final[Hashable | None]
    """Preemptors with equal keys have the same victims by the rule of the action; None: no other preemptor
    has.
    """
    is_trial: Final[bool]
    """Whether the solution is undone, because the search only checks a reason."""

    def __init__(
        self,
        action: Action,
        preemptor: int,
        tasks: tuple[int, ...],
        victim_queues: Sequence[int],
        victims: VictimPolicy,
        max_victims: int,
        validates: Validator,
        rule_key: Hashable | None = None,
        is_trial: bool = False,
    ) -> None:
        self.action = action
        self.preemptor = preemptor
        self.tasks = tasks
        self.victim_queues = victim_queues
        self.victims = victims
        self.max_victims = max_victims
        self.validates = validates
        self.rule_key = rule_key
        self.is_trial = is_trial


class Budget:
    """Counts simulations of one action: exact, so that identical requests end at the same point (R5.72)."""

    def __init__(self, per_pod_group: int, action: int, stop: StopSignal | None = None) -> None:
        """With `stop`, a search also ends when the slice is over."""
        self._per_pod_group = per_pod_group
        self._action, self._half = action, action // 2
        self._pod_group = 0
        self._checks, self._action_checks, self._last_checks = 0, MAX_CHECKS, 0
        self._is_last_resort = False
        self._stop = stop or _NO_SLICES

    @classmethod
    def of(cls, options: CycleOptions, stop: StopSignal | None = None) -> "Budget":
        """Budget of an action by the options of the cycle."""
        return cls(options.max_simulations_per_pod_group, options.max_simulations_per_action, stop)

    def start(self) -> None:
        """Start the budget of a new pod group."""
        self._checks = self._action_checks // CHECKS_PART
        self._is_last_resort = False
        self._pod_group = min(self._per_pod_group, self._action)

    def spend(self) -> bool:
        """Use one simulation; False if none is left."""
        if self.is_exhausted:
            return False
        self.count()
        return True

    def count(self) -> None:
        """Count a simulation that counts only because it found a solution, even if the slice is over now."""
        self._pod_group -= 1
        self._action -= 1

    def check(self) -> bool:
        """Count a look at a batch or a node for sets by need; False if it was the last one."""
        self._checks -= 1
        if self._is_last_resort:
            self._last_checks += 1
        else:
            self._action_checks -= 1
        return self._checks > 0

    def begin_last_resort(self, most: int) -> None:
        """Count looks from now on to those of searches that may fail, at most so many of an action."""
        self._is_last_resort, self._checks = True, (most - self._last_checks) // CHECKS_PART

    def end_last_resort(self) -> None:
        """Count looks to those of searches that succeeded again."""
        self._is_last_resort, self._checks = False, self._action_checks // CHECKS_PART

    @property
    def has_checks(self) -> bool:
        """Whether sets by need may still be looked for."""
        return self._checks > 0

    @property
    def is_exhausted(self) -> bool:
        """Whether the search for the pod group must end."""
        return self._pod_group <= 0 or self._stop.is_slice_over

    def is_half_used(self) -> bool:
        """Whether half of the simulations of the action are used."""
        return self._action <= self._half

    @property
    def is_over(self) -> bool:
        """Whether the action must stop."""
        return self._action <= 0


_NO_SLICES: Final = StopSignal()
