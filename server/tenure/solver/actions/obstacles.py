"""What may be the one obstacle of a pod group that was not placed: noted while an action runs, not checked.

A protection with an end, the gate of fair shares and disruption budgets are reasons only if nothing else is
in the way. To check that costs a search, which changes no decision: `diagnosis.reason_probes` makes it.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, Protocol, final

from tenure.solver.framework.session import Session
from tenure.solver.framework.statement import Statement
from tenure.solver.model.rejection import Rejection
from tenure.solver.plugin_api.action import Action
from tenure.solver.search.search import NO_SOLUTION, Budget
from tenure.terms.reasons import ReasonCode

_OF_SCENARIOS: Final = (
    ReasonCode.OVER_FAIR_SHARE,
    ReasonCode.DISRUPTION_BUDGET,
    ReasonCode.EVICTION_RATE,
)
LIMITED: Final = Rejection(ReasonCode.DISRUPTION_BUDGET, "disruption budgets were met", source="search")
"""In place of a gate: only disruption budgets may have stopped it."""


class Obstacle(NamedTuple):
    """A pod group that waits, and what stopped it."""

    pod_group: int
    stopped_by: Rejection | None
    """A gate, or disruption budgets; None: protections with an end."""


class RepeatableSearch(Protocol):
    """The search of an action, to be made again without an obstacle."""

    @property
    def action(self) -> Action:
        """Its rules."""

    def attempt(
        self, statement: Statement, pod_group: int, time: int | None, budget: Budget
    ) -> Rejection | None:
        """Place the pod group without the protections that end by a time (None: with all of them).

        Returns why that is impossible. The moves stay in the statement.
        """


@final
class Obstacles:
    """The obstacles that one action met in a cycle."""

    def __init__(
        self, session: Session, search: RepeatableSearch, endings: Callable[[int], Mapping[int, Rejection]]
    ) -> None:
        """`endings` returns the protections of a pod group's candidates by their end, in nanoseconds."""
        self._session = session
        self.search: Final = search
        self.endings: Final = endings
        self.noted: Final[list[Obstacle]] = []

    def reject_unsearched(
        self, pod_group: int, rejection: Rejection, has_victims: Callable[[int], bool]
    ) -> None:
        """Reject a pod group that was not searched for; note the gate of fair shares if it has candidates."""
        if rejection.code is ReasonCode.SIMILAR_FAILED and self._session.disruptions.were_met:
            self.noted.append(Obstacle(pod_group, LIMITED))
        elif rejection.code is not ReasonCode.OVER_FAIR_SHARE:
            self._session.reject(pod_group, rejection)
        elif has_victims(pod_group):
            self.noted.append(Obstacle(pod_group, rejection))
        else:
            self._session.reject(pod_group, NO_SOLUTION)

    def note_protected(self, pod_group: int) -> None:
        """Note a pod group whose candidates are protected until a time."""
        self.noted.append(Obstacle(pod_group, None))

    def reject(self, pod_group: int, rejection: Rejection) -> None:
        """Reject a pod group whose search failed; note a protection.

        That a scenario was unfair, or exceeded a disruption budget, depends on which scenarios were
        simulated: it is no reason.
        """
        if rejection.code in _OF_SCENARIOS:
            rejection = NO_SOLUTION
        if rejection.until is not None:
            self.note_protected(pod_group)
        elif rejection.code is ReasonCode.NO_SOLUTION and self._session.disruptions.were_met:
            self.noted.append(Obstacle(pod_group, LIMITED))
        else:
            self._session.reject(pod_group, rejection)
