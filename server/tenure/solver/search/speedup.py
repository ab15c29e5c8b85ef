"""The interface of what saves a search work without changing its result.

The algorithm (`solver`) is correct without speedups. A speedup may only state what is certain; where it is
not, it returns None or False, and the algorithm searches.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from tenure.solver.model.rejection import Rejection
from tenure.solver.plugin_api.scenario import Batch, Scenario
from tenure.solver.search.attempts import Attempt, SearchVictims
from tenure.solver.search.search import Search


class NecessaryCondition(ABC):
    """What must hold for a scenario of one search to succeed. More victims never make a met one fail."""

    @abstractmethod
    def first_prefix(self, attempt: Attempt) -> int | None:
        """Victims to take before a scenario can succeed, 0 if unknown; None: none can. Called first."""

    @abstractmethod
    def rules_out(self, potential: Sequence[Batch]) -> bool:
        """Whether a simulation with the recorded victims of the current attempt and these must fail."""

    def is_blocked_by(self, scenario: Scenario, last: int) -> bool:
        """Whether a simulation must fail whose last victim is placed next, like all others before the
        preemptor. Called then, with the others placed.
        """
        return False

    def implies_gpu_capacity(self, attempt: Attempt) -> bool:
        """Whether victims from the first prefix on free enough GPUs (semantics R5.30)."""
        return False


class FitCheck(ABC):
    """Whether tasks may fit once certain victims are evicted."""

    @abstractmethod
    def add(self, tasks: Iterable[int]) -> None:
        """Add victims."""

    @abstractmethod
    def is_sufficient(self) -> bool:
        """Whether the tasks may fit without the victims so far; False is certain."""


class Speedup:
    """A speedup that knows nothing: subclasses state what they know."""

    def known_failure(self, search: Search) -> Rejection | None:
        """Why the search must fail as a whole. Called before it starts."""
        return None

    def record_failure(self, search: Search, rejection: Rejection, *, was_validated: bool) -> None:
        """The search failed, other than by its budget, and this is the reason that is reported.

        `was_validated`: a scenario placed the preemptor, so that validators were called.
        """

    def first_scenario(self, search: Search, feasible: int, victims: SearchVictims) -> Scenario | None:
        """The scenario that will be proposed first. It is simulated before conditions are computed.

        `feasible` nodes are considered.
        """
        return None

    def record_solution(self, scenario: Scenario | None) -> None:
        """The search ended, and this scenario was the last one that placed any of its tasks."""

    def necessary_condition(self, search: Search, feasible: int) -> NecessaryCondition | Rejection | None:
        """A condition of the search, or why it must fail. Called if the first scenario failed."""
        return None

    def close(self) -> None:
        """Release what refers to searches."""

    def fit_check(self, preemptor: int, tasks: Sequence[int], feasible: int) -> FitCheck | None:
        """Fits of the tasks on these nodes, without victims yet."""
        return None
