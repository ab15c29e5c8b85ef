"""Redeem: who was promised room gets it, before anybody else is given any.

for every group in flight, the one that ends first first
    promise its pods their nodes again; if those of its beneficiary do not fit: it cannot be kept
then for every group that can be kept, those first whose victims have left
    bind its pods where the room is idle, promise it to the others
a pod group that cannot start as a whole is promised all of its room

So whether a promise can be kept does not hang on who is bound first. A pod that moves comes back with another
uid: the first that waits and fits takes its place. Nothing is committed here; `resume` does that, once it is
sure that what the groups rest on is so.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.framework.in_flight import open_bindings, open_evictions
from tenure.solver.framework.statement import Statement
from tenure.solver.model.caller_state import InFlightDecision, InFlightGroup
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.placement import NOWHERE, Placement, TaskStatus
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.resources import GPU
from tenure.solver.model.workload import Task
from tenure.terms.reasons import ReasonCode

NO_QUEUE: Final = Rejection(ReasonCode.INVALID_QUEUE, "its queue does not exist or has child queues")
NOT_READY: Final = Rejection(ReasonCode.NOT_READY, "it has fewer pods that can be scheduled than its minimum")
ALREADY_RESERVED: Final = Rejection(
    ReasonCode.INSUFFICIENT_RESOURCES, "another in-flight group already reserves capacity for its pods"
)
NOT_NEEDED: Final = Rejection(ReasonCode.GONE, "its pods no longer need the reserved capacity")
NODE_OVERCOMMITTED: Final = Rejection(
    ReasonCode.INSUFFICIENT_RESOURCES, "a node has no room for a binding that is under way"
)


@dataclass(slots=True)
class FulfillmentAttempt:
    """One group in flight, and what comes of it."""

    group: InFlightGroup
    statement: Statement
    evicted: frozenset[int]
    """Tasks that it evicts."""
    pending_victims: frozenset[int]
    """Pod groups of those that are not seen to leave."""
    tasks: list[int] = field(default_factory=list)
    """Those that have room again."""
    has_unplaced_victims: bool = False
    """Whether somebody who moved is not back yet."""
    rejection: Rejection | None = None
    """Why it cannot be kept."""

    @classmethod
    def of(cls, cluster: Cluster, group: InFlightGroup, statement: Statement) -> "FulfillmentAttempt":
        """Before anything is placed."""
        leaving = frozenset(cluster.tasks[step.task].pod_group for step in open_evictions(cluster, group))
        return cls(group, statement, frozenset(step.task for step in group.evictions), leaving)


class ReservationFulfiller:
    """Redeems the groups of a session that they were taken up in."""

    def __init__(self, context: CycleContext, cluster: Cluster, groups: Sequence[int]) -> None:
        self.context = context
        self.session = context.session
        self._ledger = context.session.ledger
        self._cluster = cluster
        """As the caller sees it."""
        self.attempts = {
            index: FulfillmentAttempt.of(cluster, cluster.in_flight[index], context.session.statement())
            for index in groups
        }
        self._named = {hold.task for each in self.attempts.values() for hold in each.group.reservations}

    def run(self) -> None:
        """Fill the attempts. When a binding has no room they say so, and nothing else is looked at."""
        if self._find_overcommitted():
            return
        for attempt in self.attempts.values():
            self._fulfill(attempt, simulation=True)
        self._roll_back()
        for attempt in sorted(self.attempts.values(), key=self._waits_for_victims):
            if attempt.rejection is None:
                self._fulfill(attempt, simulation=False)
        self._pipeline_incomplete_gangs()

    def undo(self) -> None:
        """Take everything back."""
        self._roll_back()
        for attempt in self.attempts.values():
            attempt.rejection = None

    def _roll_back(self) -> None:
        for attempt in reversed(self.attempts.values()):
            attempt.statement.rollback(0)
            attempt.tasks.clear()

    def _waits_for_victims(self, attempt: FulfillmentAttempt) -> int:
        """2: some are not even seen to leave; 1: some are leaving; 0: none."""
        if attempt.pending_victims:
            return 2
        tasks = (self._cluster.tasks[task] for task in attempt.evicted if task != NOWHERE)
        return int(any(task.placement.status is TaskStatus.RELEASING for task in tasks))

    def _find_overcommitted(self) -> bool:
        """Object to groups, the last first, that bind to nodes with more on them than they have."""
        found = False
        for attempt in reversed(self.attempts.values()):
            bound = [self.session.cluster.tasks[t.task] for t in open_bindings(self._cluster, attempt.group)]
            if any(self._is_overcommitted(task) for task in bound):
                found, attempt.rejection = True, NODE_OVERCOMMITTED
                for task in bound:
                    now = self._ledger.placements[task.index]
                    if now.use:  # else another of these groups binds it as well
                        self._ledger.apply(task.index, now, Placement(TaskStatus.PENDING))
        return found

    def _is_overcommitted(self, task: Task) -> bool:
        """Whether there is less than nothing left of anything the task takes on its node."""
        node, shape = task.placement.node, task.shape
        room = self._ledger.node_infos[node]
        amounts = (*enumerate(shape.request), *self._ledger.claims.amounts(shape))
        if any(amount and room.idle[slot] < 0 for slot, amount in amounts):
            return True
        gpus = [room.gpus[group] for group in task.placement.gpu_groups if group in room.gpus]
        return any(gpu.allocated > room.device_memory for gpu in gpus) or (bool(gpus) and room.idle[GPU] < 0)

    def _fulfill(self, attempt: FulfillmentAttempt, simulation: bool) -> None:
        """Its beneficiary first, then those who make way for it."""
        if self._is_not_needed(attempt):
            attempt.rejection = NOT_NEEDED
            return
        for pod_group, holds in attempt.group.reservations_by_pod_group:
            mark, count = attempt.statement.checkpoint(), len(attempt.tasks)
            objection = self._fulfill_pod_group(attempt, pod_group, holds, simulation)
            if objection is None:
                continue
            attempt.statement.rollback(mark)
            del attempt.tasks[count:]
            if pod_group == attempt.group.beneficiary or pod_group in attempt.pending_victims:
                attempt.rejection = objection
                attempt.statement.rollback(0)
                attempt.tasks.clear()
                return

    def _is_not_needed(self, attempt: FulfillmentAttempt) -> bool:
        """Whether pods are still to leave although none of the pods it promised their room wants it."""
        own = [hold for hold in attempt.group.reservations if hold.pod_group == attempt.group.beneficiary]
        if not own or not attempt.pending_victims:
            return False
        return not any(self._is_claimed(attempt, hold) or self._is_reserved(hold) for hold in own)

    def _is_reserved(self, reserve: InFlightDecision) -> bool:
        """Whether the pod has the room, or whoever may come in its place waits."""
        if reserve.task == NOWHERE:
            return bool(self._candidates(reserve.pod_group))
        placement = self._cluster.tasks[reserve.task].placement
        return placement.status.is_allocated and placement.node == reserve.node

    def _fulfill_pod_group(
        self,
        attempt: FulfillmentAttempt,
        index: int,
        reservations: Sequence[InFlightDecision],
        simulation: bool,
    ) -> Rejection | None:
        """Place what is promised to one pod group, or say why not."""
        present = [hold for hold in reservations if self._is_claimed(attempt, hold)]
        absent = [hold for hold in reservations if hold.task == NOWHERE]
        objection = self._find_claim_rejection(attempt, index, [hold.task for hold in present], bool(absent))
        for hold in present:
            objection = objection or self._place(attempt, hold, hold.task, simulation)
        for hold in absent:
            objection = objection or self._place_successor(attempt, hold, simulation)
        return objection

    def _is_claimed(self, attempt: FulfillmentAttempt, reserve: InFlightDecision) -> bool:
        """Whether the pod it names still waits for the room, or is leaving another place for it."""
        if reserve.task == NOWHERE:
            return False
        status = self.session.cluster.tasks[reserve.task].placement.status
        if status in (TaskStatus.RELEASING, TaskStatus.STUCK_IN_RELEASING):
            is_seen = not self._cluster.tasks[reserve.task].placement.status.is_allocated
            return is_seen or reserve.task in attempt.evicted
        return status is TaskStatus.PENDING

    def _is_placed(self, task: int) -> bool:
        return self._ledger.placements[task] != self.session.cluster.tasks[task].placement

    def _find_claim_rejection(
        self, attempt: FulfillmentAttempt, index: int, present: list[int], has_absent: bool
    ) -> Rejection | None:
        """Whether the pod group may be given that much, and can use it."""
        if not (present or has_absent):
            return None
        if self._cluster.pod_groups[index].queue is None:
            return NO_QUEUE
        if index == attempt.group.beneficiary and not self.context.gangs.is_ready(index):
            return self.context.gangs.blocked_reason(index) or NOT_READY
        blocked = (self.session.blocked[task] for task in present if task in self.session.blocked)
        return next(blocked, None) or self.context.placer.capacity(index, present)

    def _place(
        self, attempt: FulfillmentAttempt, reserve: InFlightDecision, task: int, simulation: bool
    ) -> Rejection | None:
        if self._is_placed(task):
            return ALREADY_RESERVED
        objection = self.context.placer.place_reserved(
            attempt.statement, task, reserve.node, reserve.gpu_groups, simulation
        )
        if objection is None:
            attempt.tasks.append(task)
        return objection

    def _place_successor(
        self, attempt: FulfillmentAttempt, reserve: InFlightDecision, simulation: bool
    ) -> Rejection | None:
        """Whoever comes in the place of a pod that is gone; nobody may be there yet.

        Of the beneficiary somebody is there, or its promise is of no use: it does not move.
        """
        self.session.stop.check()
        objection, too_large = None, set[int]()
        for task in self._candidates(reserve.pod_group):
            shape = self._cluster.tasks[task].shape
            if shape.index in too_large:
                continue
            objection = self.context.placer.capacity(reserve.pod_group, [task])
            objection = objection or self._place(attempt, reserve, task, simulation)
            if objection is None:
                return None
            if not self._ledger.fits_soon(shape, reserve.node):
                too_large.add(shape.index)
        attempt.has_unplaced_victims |= objection is None and reserve.pod_group != attempt.group.beneficiary
        return objection

    def _candidates(self, pod_group: int) -> list[int]:
        """Tasks that wait and that nobody named in a promise, in order."""
        placements, blocked = self._ledger.placements, self.session.blocked
        return self.session.order.tasks(
            [
                task
                for task in self._cluster.pod_groups[pod_group].tasks
                if placements[task].status is TaskStatus.PENDING
                and task not in self._named
                and task not in blocked
            ]
        )

    def _pipeline_incomplete_gangs(self) -> None:
        """Whoever cannot start as a whole, in whatever groups its pods are, is promised all of its room."""
        placing: dict[int, dict[int, FulfillmentAttempt]] = {}
        for index, attempt in self.attempts.items():
            for task in attempt.tasks:
                placing.setdefault(self._cluster.tasks[task].pod_group, {})[index] = attempt
        for pod_group, attempts in sorted(placing.items()):
            if self.context.placer.cannot_start(pod_group) or not self._is_met(pod_group):
                for attempt in attempts.values():
                    self.session.stop.check()
                    attempt.statement.replace_by_pipelined(pod_group, 0)

    def _is_met(self, pod_group: int) -> bool:
        return self._cluster.pod_groups[pod_group].root.is_met(self._ledger.active_allocated)
