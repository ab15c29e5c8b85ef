"""A search, its budget, its parts, and oracles: what may save the search work without changing its result.

The algorithm (`solver`) is correct without oracles. An oracle may only state what is certain; where it is
not, it returns None or False, and the algorithm searches.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from typing import Final, Protocol, final

from tenure.solver.framework.session import Session
from tenure.solver.model.rejection import Rejection
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.points import ScenarioGenerator
from tenure.solver.plugin_api.profile import CycleOptions
from tenure.solver.plugin_api.scenario import Batch, Scenario
from tenure.solver.search.gang import GangPlanner
from tenure.solver.search.node_order import AllowedNodes, NodeOrder, ScoredNodes
from tenure.solver.search.pod_group_lists import AllPending, PodGroupLists, SimulationOrder, SortedPodGroups
from tenure.solver.search.queue_tree import QueueTreeEntry
from tenure.solver.search.victim_entries import CandidateSource, CheckedCandidates, VictimEntries
from tenure.solver.search.victim_order import VictimOrder
from tenure.solver.search.victim_sequence import VictimSequence
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
Fingerprint = tuple[frozenset[int], frozenset[int], frozenset[int]]
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


class Budget:
    """Counts simulations of one action: exact, so that identical requests end at the same point (R5.72)."""

    def __init__(self, per_pod_group: int, action: int) -> None:
        self._per_pod_group = per_pod_group
        self._action = action
        self._pod_group = 0

    @classmethod
    def of(cls, options: CycleOptions) -> "Budget":
        """Budget of an action by the options of the cycle."""
        return cls(options.max_simulations_per_pod_group, options.max_simulations_per_action)

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


class Search:
    """One search: for which tasks, among which victims, and what is known about it so far."""

    def __init__(
        self,
        action: Action,
        preemptor: int,
        tasks: list[int],
        *,
        victim_queues: Sequence[int],
        victims: VictimPolicy,
        max_victims: int,
        validates: Validator,
        rule_key: Hashable | None = None,
    ) -> None:
        """`max_victims` limits the victim pod groups, -1 for unlimited.

        Preemptors with equal `rule_key` have the same victims as far as the rule of the action decides; None:
        no other preemptor has.
        """
        self.action = action
        self.preemptor = preemptor
        self.tasks = tasks
        self.victim_queues = victim_queues
        self.victims = victims
        self.max_victims = max_victims
        self.validates = validates
        self.rule_key = rule_key
        self.is_trial = False
        """Whether what it finds is undone: it checks a reason."""
        self.queues: Sequence[int] = ()
        """Victim queues that the policy allows."""
        self.feasible = 0
        """Nodes to consider."""
        self.outlooks: list[Outlook] = []
        self.failed: set[Fingerprint] = set()
        """Scenarios that were simulated without success."""
        self.first: Scenario | None = None
        """Scenario that was simulated before the search, without success."""
        self.first_rejection: Rejection | None = None
        """Rejection of it by a validator, if it placed the preemptor."""
        self.attempt: tuple[ScenarioGenerator, tuple[Batch, ...], int] | None = None
        """The latest one: generator, recorded victims, number of tasks; None: an oracle knew the solution."""
        self.solution: Scenario | None = None
        """Latest scenario that succeeded while the number of tasks grew."""
        self.accepted: Scenario | None = None
        """Latest scenario that was simulated and accepted: in the end, the one in the statement."""
        self.rejection: Rejection = NO_SOLUTION
        self.was_validated = False
        """Whether any scenario placed the preemptor, so that validators were called."""
        self._sequence: VictimSequence | None = None
        self._has_victims: bool | None = None

    def has_victims(self) -> bool:
        """Whether any of the victim queues has a candidate."""
        if self._has_victims is None:
            self._has_victims = any(
                next(self.victims.candidates(queue), None) is not None for queue in self.queues
            )
        return self._has_victims

    def is_blocked_by(self, scenario: Scenario, last: int) -> bool:
        """Whether the preemptor certainly finds no place after the last victim, with all others placed."""
        return any(outlook.is_blocked_by(scenario, last) for outlook in self.outlooks)

    def sequence(self, parts: "SearchParts") -> VictimSequence:
        """Victims in the order of all probes that recorded none, or only complete batches."""
        if self._sequence is None:
            self._sequence = self.sequence_without((), parts)
        return self._sequence

    def sequence_without(self, recorded: Iterable[Batch], parts: "SearchParts") -> VictimSequence:
        """Victims in order, without the recorded ones."""
        tasks = frozenset([task for batch in recorded for task in batch.tasks])
        order = VictimOrder(parts.session, parts.victim_entries, tasks, self.max_victims)
        for queue in self.queues:
            order.fill(queue, self.victims.candidates(queue))
        return VictimSequence(parts.session.ledger, order)


class Probe:
    """An attempt to place the first tasks of a search, with the victims recorded for fewer of them."""

    def __init__(
        self,
        tasks: tuple[int, ...],
        recorded: tuple[Batch, ...],
        sequence: VictimSequence,
        skips: Collection[int],
        *,
        is_main_order: bool,
    ) -> None:
        self.tasks = tasks
        self.recorded = recorded
        self.sequence = sequence
        self.skips = skips
        """Numbers of the recorded batches in the sequence."""
        self.is_main_order = is_main_order
        """Whether the sequence is that of the search."""


class Outlook(ABC):
    """Necessary conditions of one search. More victims never make a met condition fail."""

    @abstractmethod
    def first_prefix(self, probe: Probe) -> int | None:
        """Victims to take before a scenario can succeed, 0 if unknown; None: none can. Called first."""

    @abstractmethod
    def rules_out(self, potential: Sequence[Batch]) -> bool:
        """Whether a simulation with the recorded victims of the current probe and these must fail."""

    def is_blocked_by(self, scenario: Scenario, last: int) -> bool:
        """Whether a simulation must fail whose last victim has its turn, like all others, before the
        preemptor. Called then, with the others placed.
        """
        return False

    def implies_gpu_capacity(self, probe: Probe) -> bool:
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


class Oracle:
    """An oracle that knows nothing: subclasses state what they know."""

    def known_failure(self, search: Search) -> Rejection | None:
        """Why the search must fail as a whole. Called before it starts."""
        return None

    def record_failure(self, search: Search, rejection: Rejection) -> None:
        """The search failed, other than by its budget, and this is the reason that is reported."""

    def first_scenario(self, search: Search) -> Scenario | None:
        """The scenario that will be proposed first. It is simulated before outlooks are computed."""
        return None

    def outlook(self, search: Search) -> Outlook | Rejection | None:
        """Necessary conditions of the search, or why it must fail. Called if the first scenario failed."""
        return None

    def close(self) -> None:
        """Release what refers to searches."""

    def fit_check(self, preemptor: int, tasks: Sequence[int], feasible: int) -> FitCheck | None:
        """Fits of the tasks on these nodes, without victims yet."""
        return None


@final
class SearchParts:
    """Collaborators of the search. Those below the line have a plain and a fast implementation."""

    def __init__(self, session: Session) -> None:
        """The plain collaborators, without oracles."""
        gangs = GangPlanner(session)
        lists, entries = SortedPodGroups(session, gangs), VictimEntries(session, gangs)
        self.session = session
        self.gangs = gangs
        self.allowed_nodes = AllowedNodes(session)
        self.victim_entries = entries
        # ---
        self.node_order: NodeOrder = ScoredNodes(session)
        self.pod_groups: PodGroupLists = lists
        self.simulation_order: SimulationOrder = AllPending(session, gangs, lists)
        self.candidates: CandidateSource = CheckedCandidates(session, lists, entries)
        self.oracles: tuple[Oracle, ...] = ()

    def known_failure(self, search: Search) -> Rejection | None:
        """Why the search must fail as a whole, as far as an oracle knows."""
        for oracle in self.oracles:
            rejection = oracle.known_failure(search)
            if rejection is not None:
                return rejection
        return None

    def record_failure(self, search: Search, rejection: Rejection) -> None:
        """Pass the result of a failed search to the oracles; never one that its budget ended."""
        for oracle in self.oracles:
            oracle.record_failure(search, rejection)

    def fit_check(self, preemptor: int, tasks: Sequence[int], feasible: int) -> FitCheck | None:
        """Fits of the tasks on these nodes; None if no oracle counts them."""
        for oracle in self.oracles:
            check = oracle.fit_check(preemptor, tasks, feasible)
            if check is not None:
                return check
        return None

    def close(self) -> None:
        """Release what would otherwise wait for the garbage collector."""
        self.simulation_order.close()
        self.pod_groups.close()
        for oracle in self.oracles:
            oracle.close()
        self.oracles = ()
        self.gangs.close()
