"""The result of a search, and what the search knows while it runs."""

from typing import Final, NamedTuple, final

from tenure.solver.model.rejection import Rejection
from tenure.solver.plugin_api.points import ScenarioGenerator
from tenure.solver.plugin_api.scenario import Batch, Scenario
from tenure.solver.search.attempts import SearchVictims
from tenure.solver.search.search import NO_SOLUTION, Search
from tenure.solver.search.speedup import NecessaryCondition

Fingerprint = tuple[frozenset[int], frozenset[int], frozenset[int]]


@final
class SearchState:
    """One search while it runs. Only this package knows it."""

    def __init__(self, search: Search, feasible: int, victims: SearchVictims) -> None:
        self.search: Final = search
        self.feasible: Final = feasible
        """Nodes to consider."""
        self.victims: Final = victims
        self.conditions: Final[list[NecessaryCondition]] = []
        self.failed: Final[set[Fingerprint]] = set()
        """Scenarios that were simulated without success."""
        self.first: Scenario | None = None
        """Scenario that was simulated before the others, without success."""
        self.first_rejection: Rejection | None = None
        """Rejection of it by a validator, if it placed the preemptor."""
        self.solution: Scenario | None = None
        """Latest scenario that succeeded while the number of tasks grew."""
        self.accepted: Scenario | None = None
        """Latest scenario that was simulated and accepted: in the end, the one in the statement."""
        self.rejection: Rejection = NO_SOLUTION
        self.was_validated = False
        """Whether any scenario placed the preemptor, so that validators were called."""

    def is_blocked_by(self, scenario: Scenario, last: int) -> bool:
        """Whether the preemptor certainly finds no place after the last victim, with all others placed."""
        return any(condition.is_blocked_by(scenario, last) for condition in self.conditions)

    def failure(self, rejection: Rejection) -> "SearchResult":
        """The result if nothing works."""
        return SearchResult(rejection, None, None, self.was_validated, self)

    def success(self, found_by: "FoundBy | None") -> "SearchResult":
        """The result if the accepted scenario stays in the statement."""
        return SearchResult(None, self.accepted, found_by, self.was_validated, self)


class FoundBy(NamedTuple):
    """How victims were found; the next ones are those of an attempt like it, made while nothing is moved."""

    generator: ScenarioGenerator | None
    """None: the profile has none, so there are no next ones."""
    recorded: tuple[Batch, ...]
    """Victims recorded for fewer tasks."""


@final
class SearchResult:
    """The answer to a search."""

    __slots__ = ("found_by", "rejection", "scenario", "state", "was_validated")

    def __init__(
        self,
        rejection: Rejection | None,
        scenario: Scenario | None,
        found_by: FoundBy | None,
        was_validated: bool,
        state: SearchState,
    ) -> None:
        self.rejection: Final[Rejection | None] = rejection
        """Why the preemptor cannot be placed; None: its evictions and placements are in the statement."""
        self.scenario: Final[Scenario | None] = scenario
        """The one in the statement."""
        self.found_by: Final[FoundBy | None] = found_by
        """None: no victim is needed."""
        self.was_validated: Final[bool] = was_validated
        """Whether any scenario placed the preemptor, so that validators were called."""
        self.state: Final[SearchState] = state
        """From which `victim_sets` goes on."""
