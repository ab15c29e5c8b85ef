"""The session of a cycle and the search built on it: what actions work with."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Concatenate, Final, ParamSpec, TypeVar, cast, final

from tenure.solver.actions.commit_patches import patch_evictions
from tenure.solver.actions.known_failures import KNOWN_FAILURES, KnownFailures
from tenure.solver.actions.obstacles import Obstacles
from tenure.solver.actions.time_slices import ActionSlices
from tenure.solver.framework.session import Session
from tenure.solver.framework.statement import Statement
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.action import Action, ActionContext, MoveStatement
from tenure.solver.plugin_api.ledger_view import LedgerView
from tenure.solver.plugin_api.profile import CycleOptions
from tenure.solver.plugin_api.scenario import Scenario
from tenure.solver.search.placer import Placer
from tenure.solver.search.planned_places import PlannedPlaces
from tenure.solver.search.pod_group_lists import KeyedPodGroup
from tenure.solver.search.queue_tree import QueueTree, QueueTreeEntry
from tenure.solver.search.search_components import SearchComponents
from tenure.solver.search.solver import Solver
from tenure.solver.search.victim_sets.alternatives import Alternatives
from tenure.solver.search.victim_sets.fill_back import FillBack
from tenure.terms.reasons import ReasonCode

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

NEVER_EVICTS: Final = Rejection(
    ReasonCode.INSUFFICIENT_RESOURCES, "it needs capacity of other pods, and never evicts any"
)
"""Of a pod group with Kubernetes' preemption policy Never."""


@final
class CycleContext:
    """The session of a cycle with its search."""

    def __init__(
        self, session: Session, components: SearchComponents, placer: Placer, solver: Solver
    ) -> None:
        self.session: Final = session
        self.components: Final = components
        self.gangs: Final = components.gangs
        self.pod_groups: Final = components.pod_groups
        self.placer: Final = placer
        self.solver: Final = solver
        fill_back = FillBack(session, components, placer, solver.simulator)
        self.planned_places: Final = PlannedPlaces(
            session, components.allowed_nodes, components.node_order, placer
        )
        self.victim_sets: Final = Alternatives(session, components, solver, fill_back)
        self.obstacles: Final[list[Obstacles]] = []
        """What actions that search for victims met, in the order in which they ran."""
        self.skips_known_failures: Final = KNOWN_FAILURES in session.options.speedups
        """Whether pod groups may be passed over that would fail as one of their kind did. Then they have no
        reason of their own.
        """
        self.slices: Final = ActionSlices(session, are_shared=not self.skips_known_failures)
        """Shares of the actions of the cycle's time."""

    @classmethod
    def open(cls, session: Session, components: SearchComponents) -> "CycleContext":
        """Build the search for a session from its components."""
        placer = Placer(session, components.allowed_nodes, components.node_order)
        return cls(session, components, placer, Solver(session, components, placer))

    def close(self) -> None:
        """Release the cycle: its components refer to each other and would wait for the garbage collector."""
        self.obstacles.clear()
        self.slices.close()
        self.components.close()
        self.session.close()

    @property
    def cluster(self) -> Cluster:
        """The snapshot."""
        return self.session.cluster

    @property
    def ledger(self) -> LedgerView:
        """Placements and free amounts."""
        return self.session.ledger

    @property
    def options(self) -> CycleOptions:
        """Options of the profile."""
        return self.session.options

    def failures(self, is_by_request: bool = True) -> KnownFailures:
        """For an action, which may or may not treat pod groups with equal requests alike."""
        options = self.session.options
        is_used = is_by_request and self.skips_known_failures and options.skip_similar_pod_groups
        return KnownFailures(self.session, self.pod_groups, is_used)

    def pending(
        self, admits: Callable[[PodGroup], Rejection | None], failures: KnownFailures | None = None
    ) -> QueueTree:
        """Ready pod groups with pending tasks, in queue order; the others are rejected (semantics R3.1)."""
        tree = QueueTree(self.session)
        for queue in self.pod_groups.leaf_queues():
            if failures is not None and failures.is_enabled:
                tree.fill(queue, failures.entries(queue, self._entry, partial(self._rejection, admits)))
                continue
            entries = [entry for entry in self._entries(queue) if self._is_ready(entry.pod_group, admits)]
            if entries:
                tree.fill(queue, iter(entries))
        return tree

    def entry(self, pod_group: int) -> QueueTreeEntry:
        """Entry of the pod group in its queue, as of now."""
        key = self.session.pod_group_key(pod_group)
        return QueueTreeEntry(key, pod_group, self.gangs.request(pod_group))

    def may_evict(self, group: PodGroup) -> Rejection | None:
        """Rejection if it never evicts, or while its preemption delay has not elapsed (R6.26, R9.2)."""
        if group.facts.never_evicts:
            return NEVER_EVICTS
        end = max(group.facts.creation, group.facts.last_eviction or 0) + group.facts.preemption_delay
        if group.facts.preemption_delay <= 0 or self.session.cluster.now >= end:
            return None
        self.session.wake_times.append(end)
        detail = "its preemption delay has not elapsed; what it may evict then was not checked"
        return Rejection(ReasonCode.PREEMPTION_DELAY, detail, end)

    def unready_rejection(self, pod_group: int) -> Rejection | None:
        """Rejection if too few tasks can be scheduled for the minimum (semantics R1.54, R5.90)."""
        blocked = self.gangs.blocked_reason(pod_group)
        if self.gangs.is_ready(pod_group):
            return None if self.gangs.tasks_to_allocate(pod_group) else blocked
        detail = "it has fewer schedulable pods than its minimum"
        return blocked or Rejection(ReasonCode.NOT_READY, detail)

    def _entries(self, queue: int) -> Iterator[QueueTreeEntry]:
        for keyed in self.pod_groups.pending(queue):
            self.session.stop.check()
            yield self._entry(keyed)

    def _entry(self, keyed: KeyedPodGroup) -> QueueTreeEntry:
        return QueueTreeEntry(keyed[0], keyed[1], self.gangs.request(keyed[1]))

    def _is_ready(self, pod_group: int, admits: Callable[[PodGroup], Rejection | None]) -> bool:
        return self._rejection(admits, pod_group) is None

    def _rejection(self, admits: Callable[[PodGroup], Rejection | None], pod_group: int) -> Rejection | None:
        """Why a pod group does not take part, which is noted."""
        rejection = self.unready_rejection(pod_group) or admits(self.session.cluster.pod_groups[pod_group])
        if rejection is not None:
            self.session.reject(pod_group, rejection)
        return rejection

    def pending_pod_groups(self) -> Iterator[int]:
        """Ready pod groups with pending tasks, in queue order."""
        tree = self.pending(_admit)
        while (entry := tree.pop()) is not None:
            self.session.stop.check()
            yield entry.pod_group

    def running_pod_groups(self) -> Sequence[int]:
        """Pod groups with running tasks."""
        return sorted(self.session.phases.running)

    def tasks_to_allocate(self, pod_group: int) -> Sequence[int]:
        """The next tasks of a pod group, to be placed all or none."""
        return self.gangs.tasks_to_allocate(pod_group)

    def statement(self) -> Statement:
        """A new, empty statement."""
        return self.session.statement()

    def place(self, statement: MoveStatement, pod_group: int, tasks: Sequence[int]) -> Rejection | None:
        """Place tasks on nodes with free or releasing capacity, all or none."""
        moves, nodes = cast(Statement, statement), self.components.node_order.all_nodes
        return self.placer.place(moves, pod_group, list(tasks), nodes)

    def allows(self, action: Action, scenario: Scenario) -> Rejection | None:
        """The first rejection by guards, disruption budgets and scenario validators."""
        guarded = self.session.guards.allows_scenario(action, scenario)
        self.session.disruptions.begin(action, scenario.preemptor)
        self.session.disruptions.override()
        paced = guarded or self.session.disruptions.rejection(action, scenario)
        return paced or self.session.chains.allows_scenario(action, scenario)

    def commit(self, statement: MoveStatement, action: Action, beneficiary: int) -> None:
        """Keep the moves as one decision group, and store what evictions change."""
        self.session.commit(cast(Statement, statement), action, beneficiary, action.reason)
        patch_evictions(self.session)

    def reject(self, pod_group: int, rejection: Rejection) -> None:
        """Note why the pod group was not placed."""
        self.session.reject(pod_group, rejection)

    def wake_at(self, time: int) -> None:
        """Note a time at which time alone may change the result."""
        self.session.wake_times.append(time)

    def check_stop(self) -> None:
        """Raise if the cycle is to stop."""
        self.session.stop.check()


def _admit(group: PodGroup) -> Rejection | None:
    return None


def in_cycle(
    function: Callable[Concatenate[CycleContext, Parameters], Result],
) -> Callable[Concatenate[ActionContext, Parameters], Result]:
    """A function or rule of a built-in action, which may use all of the context."""
    return cast(Callable[Concatenate[ActionContext, Parameters], Result], function)
