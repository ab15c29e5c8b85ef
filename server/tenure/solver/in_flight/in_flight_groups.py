"""Opens a session that includes in-flight groups, and finds the state of each of them.

add all groups that have not expired, and fulfill their reservations
while a group must be cancelled on whose evictions others may depend: again, without it
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Final

from tenure.solver.actions.commit_patches import patch_start
from tenure.solver.actions.cycle_context import CycleContext, in_cycle
from tenure.solver.actions.cycle_start import CycleStart, at_start
from tenure.solver.framework.in_flight import (
    find_invalid_reason,
    in_order,
    open_bindings,
    open_evictions,
    with_in_flight,
)
from tenure.solver.framework.session import Session
from tenure.solver.framework.stop_signal import CycleStopped
from tenure.solver.in_flight.fulfill import FulfillmentAttempt, ReservationFulfiller
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import Atomicity, InFlightGroupState, InFlightGroupStatus, Reserve
from tenure.solver.model.placement import NOWHERE, Placement, TaskStatus
from tenure.solver.model.rejection import Rejection
from tenure.solver.plugin_api.action import Action, QueueGate, Relation
from tenure.solver.plugin_api.step import Step
from tenure.solver.resolution.slot_map import SlotChange
from tenure.solver.search.placer import binds_any
from tenure.solver.search.search import OUT_OF_TIME
from tenure.terms.reasons import ReasonCode


def _fulfill(context: CycleContext, action: Action) -> None:
    """Does nothing: reservations are fulfilled while the session opens."""


FULFILL: Final = Action(
    "fulfill",
    victims_from=Relation.NONE,
    gate=QueueGate.NONE,
    reason=ReasonCode.ALLOCATED,
    atomicity=Atomicity.ALL,
    run=in_cycle(_fulfill),
)
"""Action of decision groups that fulfill reservations. No profile names it."""
MAX_ATTEMPTS: Final = 8
"""After so many attempts, all groups with open decisions are cancelled, so that none depends on another."""
DEPENDENCY_CANCELLED: Final = Rejection(
    ReasonCode.INSUFFICIENT_RESOURCES, "it depends on in-flight groups that were cancelled"
)
EXPIRED: Final = Rejection(ReasonCode.EXPIRED, "it expired")
COMPLETED: Final = Rejection(ReasonCode.COMPLETED, "nothing is left to apply")
IN_PROGRESS: Final = Rejection(ReasonCode.IN_PROGRESS, "its decisions are not yet visible in the snapshot")
WAITING_FOR_VICTIMS: Final = Rejection(
    ReasonCode.VICTIMS_EVICTED, "the pods that are evicted for it have not left yet"
)
WAITING_FOR_RELEASE: Final = Rejection(
    ReasonCode.PIPELINED, "its reserved capacity is not completely free yet"
)
SUPERSEDED: Final = Rejection(ReasonCode.ALLOCATED, "its pods are bound now")


def open_with_in_flight(start: CycleStart) -> None:
    """Open a session in which reservations of in-flight groups are fulfilled.

    The state of every group is in the session. If the cycle is stopped before it is known, the groups are
    kept as they are. Pod groups that waited for a time compete from then on.
    """
    if start.cluster.delayed:
        start.change(*_with_due(start.cluster))
    if start.cluster.in_flight:
        _InFlightOpener(start).run()


IN_FLIGHT: Final = Step("in_flight", begin=at_start(open_with_in_flight))


def _with_due(cluster: Cluster) -> tuple[Cluster, SlotChange]:
    """The cluster in which the tasks of pod groups whose time has come are pending, and what differs.

    Resolution depends on no time: it gates the tasks of all pod groups with a time (semantics R19.25).
    """
    tasks, changed = cluster.tasks.next_version(), set[int]()
    groups = [cluster.pod_groups[index] for index in cluster.delayed]
    due = [group for group in groups if (group.facts.victim.not_before or 0) <= cluster.now]
    for index in [index for group in due for index in group.tasks]:
        task = tasks[index]
        if task.placement.status is TaskStatus.GATED and task.facts.placement.status is TaskStatus.PENDING:
            tasks.put(index, task.placed(Placement(TaskStatus.PENDING)))
            changed.add(index)
    change = SlotChange(frozenset([group.index for group in due]), frozenset(changed))
    return replace(cluster, tasks=tasks) if changed else cluster, change


class _InFlightOpener:
    """The in-flight groups of one cluster, and what is known of them after each attempt."""

    def __init__(self, start: CycleStart) -> None:
        self._start = start
        self._cluster = start.cluster
        self._warm_start = start.warm_start
        self._groups = in_order(start.cluster)
        """Groups that are not cancelled, by expiry."""
        self._cancelled: dict[int, Rejection] = {}

    def run(self) -> None:
        """Repeat until no attempt depended on a group that was cancelled."""
        found = {
            index: find_invalid_reason(self._cluster, self._cluster.in_flight[index])
            for index in self._groups
        }
        self._cancel({index: why for index, why in found.items() if why is not None})
        attempt = self._attempt()
        for _ in range(MAX_ATTEMPTS):
            if self._is_settled(attempt):
                break
            attempt = self._retry(attempt)
        else:
            self._cancel(
                {index: DEPENDENCY_CANCELLED for index in self._groups if self._is_in_progress(index)}
            )
            attempt = self._retry(attempt)
        _commit(attempt)
        statuses = [self._status(index, attempt) for index in range(len(self._cluster.in_flight))]
        kept = (status.group for status in statuses if status.state is InFlightGroupState.IN_FLIGHT)
        attempt.session.wake_times.extend(self._cluster.in_flight[index].expire_time for index in kept)
        attempt.session.in_flight = tuple(statuses)
        attempt.session.reserved_tasks = frozenset(self._reserved_tasks(attempt))

    def _retry(self, attempt: ReservationFulfiller) -> ReservationFulfiller:
        """Another attempt, on a new session."""
        attempt.undo()
        return self._attempt()

    def _attempt(self) -> ReservationFulfiller:
        cluster, tasks = with_in_flight(self._cluster, self._groups)
        change = SlotChange(frozenset([cluster.tasks[task].pod_group for task in tasks]), tasks)
        warm_start = None if self._warm_start is None else self._warm_start.branch(change)
        attempt = ReservationFulfiller(self._start.open(cluster, warm_start), self._cluster, self._groups)
        try:
            attempt.run()
        except CycleStopped:
            attempt.undo()
        return attempt

    def _is_settled(self, attempt: ReservationFulfiller) -> bool:
        """Whether all added groups are still valid; cancels those that are not."""
        wrong = {
            index: each.rejection
            for index, each in attempt.attempts.items()
            if each.rejection is not None and self._is_in_progress(index)
        }
        self._cancel(wrong)
        return not wrong

    def _cancel(self, found: Mapping[int, Rejection]) -> None:
        self._cancelled.update(found)
        self._groups = [index for index in self._groups if index not in found]

    def _is_in_progress(self, index: int) -> bool:
        """Whether others may depend on decisions of the group that are not visible yet."""
        group = self._cluster.in_flight[index]
        return any(open_evictions(self._cluster, group)) or any(open_bindings(self._cluster, group))

    def _status(self, index: int, fulfiller: ReservationFulfiller) -> InFlightGroupStatus:
        attempt = fulfiller.attempts.get(index)
        if attempt is None:
            cancelled = self._cancelled.get(index)
            result = InFlightGroupState.EXPIRED if cancelled is None else InFlightGroupState.CANCELLED
            return InFlightGroupStatus(index, result, cancelled or EXPIRED)
        if fulfiller.session.stop.is_set:
            return InFlightGroupStatus(index, InFlightGroupState.IN_FLIGHT, OUT_OF_TIME)
        if attempt.rejection is not None:
            return InFlightGroupStatus(index, InFlightGroupState.CANCELLED, attempt.rejection)
        holds = tuple(_reservations(fulfiller, attempt))
        if holds or attempt.has_unplaced_victims or self._is_in_progress(index):
            return InFlightGroupStatus(
                index,
                InFlightGroupState.IN_FLIGHT,
                _waits_for(fulfiller, attempt, holds),
                holds,
                _replaced(attempt),
            )
        if attempt.tasks:
            return InFlightGroupStatus(index, InFlightGroupState.SUPERSEDED, SUPERSEDED)
        return InFlightGroupStatus(index, InFlightGroupState.COMPLETED, COMPLETED)

    def _reserved_tasks(self, attempt: ReservationFulfiller) -> Iterator[int]:
        for index, each in attempt.attempts.items():
            yield from each.tasks
            group = self._cluster.in_flight[index]
            yield from (step.task for step in open_bindings(self._cluster, group))


def _commit(fulfiller: ReservationFulfiller) -> None:
    """Commit fulfilled reservations: one commit per group."""
    session, started = fulfiller.session, set[int]()
    for attempt in fulfiller.attempts.values():
        if not attempt.tasks:
            continue
        reason = ReasonCode.ALLOCATED if binds_any(attempt.statement, session) else ReasonCode.PIPELINED
        session.commit(
            attempt.statement, FULFILL, attempt.group.beneficiary, reason, in_flight=attempt.group.id
        )
        bound = [t for t in attempt.tasks if session.ledger.placements[t].status is TaskStatus.BINDING]
        for index in sorted({session.cluster.tasks[task].pod_group for task in bound}):
            patch_start(session, index, index not in started and not _runs(session, index))
            started.add(index)


def _runs(session: Session, pod_group: int) -> bool:
    """Whether any task of it was bound before."""
    tasks = session.cluster.pod_groups[pod_group].tasks
    return any(session.cluster.tasks[task].placement.status.is_allocated for task in tasks)


def _reservations(fulfiller: ReservationFulfiller, attempt: FulfillmentAttempt) -> Iterator[Reserve]:
    placements = fulfiller.session.ledger.placements
    for task in sorted(attempt.tasks):
        promised = placements[task]
        if promised.status is TaskStatus.PIPELINED:
            yield Reserve(task, promised.node, promised.gpu_groups, promised.zones)


def _replaced(attempt: FulfillmentAttempt) -> tuple[tuple[str, int], ...]:
    """Pods that are gone, and the tasks that have their reservations or are bound to them now."""
    return tuple(sorted([(pod, task) for task, pod in attempt.replaced.items()]))


def _waits_for(
    fulfiller: ReservationFulfiller, attempt: FulfillmentAttempt, reservations: Collection[Reserve]
) -> Rejection:
    tasks = fulfiller.session.cluster.tasks
    victims = [tasks[step.task].placement for step in attempt.group.evictions if step.task != NOWHERE]
    if not (reservations or attempt.has_unplaced_victims):
        return IN_PROGRESS
    return (
        WAITING_FOR_VICTIMS
        if any(victim.status is TaskStatus.RELEASING for victim in victims)
        else WAITING_FOR_RELEASE
    )
