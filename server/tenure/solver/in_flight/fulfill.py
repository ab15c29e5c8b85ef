"""Fulfill: reservations of in-flight groups are placed before any other pod group.

for every in-flight group, in their order
    pipeline its pods on their reserved nodes; if those of its beneficiary do not fit, the group is cancelled
while pods violate their relations where they are, beside all the others
    a victim that is to blame does not return; if there is none, the last of these groups is cancelled
then for every group that is kept, those first whose victims have terminated
    bind its pods where capacity is idle and no other pod is in the way; the others stay pipelined
a pod group that cannot start completely is pipelined completely

So whether a reservation can be kept does not depend on which pod is bound first: all are placed before any is
checked beside the others. A relocated pod returns with another uid: the first pending one that fits replaces
it. Nothing is committed here; `in_flight_groups` does that when it is certain that what the groups depend on
is true.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.framework.in_flight import (
    GOING,
    evicted_until,
    open_bindings,
    open_evictions,
    open_reservations,
)
from tenure.solver.framework.invalid_queue import invalid_queue
from tenure.solver.framework.statement import Move, Statement
from tenure.solver.in_flight.successors import Successors
from tenure.solver.model.caller_state import InFlightDecision, InFlightGroup
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.placement import NOWHERE, Placement, TaskStatus
from tenure.solver.model.rejection import NOT_YET, Rejection
from tenure.solver.model.resources import GPU
from tenure.solver.model.workload import Task
from tenure.terms.reasons import ReasonCode

NOT_READY: Final = Rejection(ReasonCode.NOT_READY, "it has fewer schedulable pods than its minimum")
ALREADY_RESERVED: Final = Rejection(
    ReasonCode.INSUFFICIENT_RESOURCES, "another in-flight group already reserves capacity for its pods"
)
NOT_NEEDED: Final = Rejection(ReasonCode.GONE, "its pods no longer need the reserved capacity")
NODE_OVERCOMMITTED: Final = Rejection(
    ReasonCode.INSUFFICIENT_RESOURCES, "a node lacks the capacity for an in-flight binding"
)


@dataclass(slots=True)
class FulfillmentAttempt:
    """One in-flight group, and its state in this attempt."""

    group: InFlightGroup
    """With the reservations that are open."""
    statement: Statement
    evicted: frozenset[int]
    """Tasks that it evicts."""
    pending_victims: frozenset[int]
    """Pod groups of evicted tasks that are not terminating yet."""
    tasks: list[int] = field(default_factory=list)
    """Tasks that are placed."""
    replaced: dict[int, str] = field(default_factory=dict)
    """Of those that replace another pod, the uid of that one."""
    has_unplaced_victims: bool = False
    """Whether a relocated pod has not returned yet."""
    rejection: Rejection | None = None
    """Why the group must be cancelled."""

    @classmethod
    def of(
        cls, cluster: Cluster, group: InFlightGroup, evicted: Mapping[str, int], statement: Statement
    ) -> "FulfillmentAttempt":
        """Placements before the attempt. `evicted` is for `open_reservations`."""
        group = group._replace(reservations=tuple(open_reservations(cluster, group, evicted)))
        leaving = frozenset(cluster.tasks[step.task].pod_group for step in open_evictions(cluster, group))
        return cls(group, statement, frozenset(step.task for step in group.evictions), leaving)


class ReservationFulfiller:
    """Fulfills the groups of the session that they were added to."""

    def __init__(self, context: CycleContext, cluster: Cluster, groups: Sequence[int]) -> None:
        self.context = context
        self.session = context.session
        self._ledger = context.session.ledger
        self._cluster = cluster
        """The task's placement in the snapshot."""
        evicted = evicted_until(cluster)
        self.attempts = {
            index: FulfillmentAttempt.of(
                cluster, cluster.in_flight[index], evicted, context.session.statement()
            )
            for index in groups
        }
        named = {hold.task for each in self.attempts.values() for hold in each.group.reservations}
        self._successors = Successors(self.session, named)
        self._moved: Final = frozenset(
            [
                hold.pod_group
                for group in self._cluster.in_flight
                for hold in group.reservations
                if hold.pod_group != group.beneficiary
            ]
        )
        """Pod groups of which pods are moved for others."""
        self._ready: set[int] = set()
        """Pod groups with enough tasks to start; placing more tasks does not change that."""

    def run(self) -> None:
        """Place all groups. If bindings exceed a node, those groups are rejected and no other is tried."""
        if self._find_overcommitted():
            return
        for attempt in self.attempts.values():
            self._fulfill(attempt)
        self._roll_back()
        kept = [
            each
            for each in sorted(self.attempts.values(), key=self._waits_for_victims)
            if each.rejection is None
        ]
        for attempt in kept:
            self._fulfill(attempt)
        self._reject_violating()
        self._bind_all([each for each in kept if each.rejection is None])
        self._pipeline_incomplete_gangs()
        while self._pipeline_early():
            self._pipeline_incomplete_gangs()

    def undo(self) -> None:
        """Roll everything back."""
        self._roll_back()
        for attempt in self.attempts.values():
            attempt.rejection = None

    def _roll_back(self) -> None:
        for attempt in reversed(self.attempts.values()):
            self._undo(attempt, 0, 0)

    def _undo(self, attempt: FulfillmentAttempt, mark: int, count: int) -> None:
        """Undo the moves of an attempt behind a mark, and forget its tasks behind the first `count`."""
        attempt.statement.rollback(mark)
        for task in attempt.tasks[count:]:
            attempt.replaced.pop(task, None)
        del attempt.tasks[count:]
        self._ready.clear()
        self._successors.restart()

    def _waits_for_victims(self, attempt: FulfillmentAttempt) -> int:
        """2: some victims are not terminating yet; 1: some are terminating; 0: none is left."""
        if attempt.pending_victims:
            return 2
        tasks = (self._cluster.tasks[task] for task in attempt.evicted if task != NOWHERE)
        return int(any(task.placement.status is TaskStatus.RELEASING for task in tasks))

    def _find_overcommitted(self) -> bool:
        """Reject groups, the last first, whose bindings exceed the capacity of a node."""
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
        """Whether any resource that the task uses on its node is overused."""
        node, shape = task.placement.node, task.shape
        node_info = self._ledger.node_infos[node]
        amounts = (*enumerate(shape.request), *self._ledger.claims.amounts(shape))
        if any(amount and node_info.idle[slot] < 0 for slot, amount in amounts):
            return True
        gpus = [node_info.gpus[group] for group in task.placement.gpu_groups if group in node_info.gpus]
        return any(gpu.allocated > node_info.device_memory for gpu in gpus) or (
            bool(gpus) and node_info.idle[GPU] < 0
        )

    def _fulfill(self, attempt: FulfillmentAttempt) -> None:
        """Tasks of the beneficiary first, then relocated victims."""
        if self._is_not_needed(attempt):
            attempt.rejection = NOT_NEEDED
            return
        for pod_group, holds in attempt.group.reservations_by_pod_group:
            mark, count = attempt.statement.checkpoint(), len(attempt.tasks)
            objection = self._fulfill_pod_group(attempt, pod_group, holds)
            if objection is None:
                continue
            self._undo(attempt, mark, count)
            if pod_group == attempt.group.beneficiary or pod_group in attempt.pending_victims:
                attempt.rejection = objection
                self._undo(attempt, 0, 0)
                return

    def _reject_violating(self) -> None:
        """Until no pod violates its relations where it is placed: give up the return of a victim that is to
        blame; where none is, the last group with a violation.

        While victims are gone that will return to other nodes, what is missing may come with them.
        """
        while not any(each.has_unplaced_victims for each in self.attempts.values()):
            wrong = self._violating()
            if not wrong:
                return
            if not self._withdraw_victim(len(wrong)):
                attempt, rejection = wrong[-1]
                attempt.rejection = rejection
                self._undo(attempt, 0, 0)

    def _violating(self) -> list[tuple[FulfillmentAttempt, Rejection]]:
        """Groups with a violation by each pod, and the node."""
        found = []
        for attempt in self.attempts.values():
            for task in attempt.tasks:
                self.session.stop.check()
                problem = self.context.placer.violation(task)
                if not (problem is None or problem is NOT_YET):
                    node = self._cluster.nodes[self._ledger.placements[task].node].facts.name
                    found.append((attempt, Rejection(problem.code, f"on node {node}, {problem.detail}")))
        return found

    def _withdraw_victim(self, violations: int) -> bool:
        """Whether a pod group of victims does not return after all, the last that makes violations fewer."""
        for attempt in reversed(self.attempts.values()):
            of_group: dict[int, list[int]] = {}
            for task in reversed(attempt.tasks):
                of_group.setdefault(self._cluster.tasks[task].pod_group, []).append(task)
            of_group.pop(attempt.group.beneficiary, None)
            for tasks in of_group.values():
                before, mark = attempt.tasks, attempt.statement.checkpoint()
                for task in tasks:
                    attempt.statement.withdraw(task, self.session.cluster.tasks[task].placement)
                attempt.tasks = [task for task in before if task not in tasks]
                if len(self._violating()) < violations:
                    for task in tasks:
                        attempt.replaced.pop(task, None)
                    return True
                attempt.statement.rollback(mark)
                attempt.tasks = before
        return False

    def _bind_all(self, attempts: Sequence[FulfillmentAttempt]) -> None:
        """Bind what may start now, group by group.

        A pod that is bound may let another one start, of any group: those of earlier groups are tried again
        before a later group takes the capacity that is free now.
        """
        waiting = list[tuple[FulfillmentAttempt, int]]()
        for following in attempts:
            left = [(following, task) for task in following.tasks if not self._is_bound(following, task)]
            is_again = len(left) < len(following.tasks)
            waiting += left
            while is_again:
                left = [(attempt, task) for attempt, task in waiting if not self._is_bound(attempt, task)]
                is_again, waiting = len(left) < len(waiting), left

    def _is_bound(self, attempt: FulfillmentAttempt, task: int) -> bool:
        self.session.stop.check()
        placement = self._ledger.placements[task]
        if placement.previous is not None or self.context.placer.violation(task) is not None:
            return False
        attempt.statement.withdraw(task, self.session.cluster.tasks[task].placement)
        node, gpu_groups = placement.node, placement.gpu_groups
        place = self.context.placer.place_reserved
        if place(attempt.statement, task, node, gpu_groups, simulation=False, is_checked=False) is not None:
            attempt.statement.withdraw(task, placement)
        return self._ledger.placements[task].is_allocated

    def _is_not_needed(self, attempt: FulfillmentAttempt) -> bool:
        """Whether victims still have to terminate although no pod needs the reserved capacity."""
        own = [hold for hold in attempt.group.reservations if hold.pod_group == attempt.group.beneficiary]
        if not own or not attempt.pending_victims:
            return False
        return not any(self._is_claimed(attempt, hold) or self._is_reserved(hold) for hold in own)

    def _is_reserved(self, reserve: InFlightDecision) -> bool:
        """Whether the pod is placed, or a pod that can replace it is pending."""
        if reserve.task == NOWHERE:
            return next(self._successors.of(reserve), None) is not None
        placement = self._cluster.tasks[reserve.task].placement
        return placement.status.is_allocated and placement.node == reserve.node

    def _fulfill_pod_group(
        self,
        attempt: FulfillmentAttempt,
        index: int,
        reservations: Sequence[InFlightDecision],
    ) -> Rejection | None:
        """Place the reservations of one pod group, or return why not."""
        present = [hold for hold in reservations if self._is_claimed(attempt, hold)]
        absent = [hold for hold in reservations if hold.task == NOWHERE]
        objection = self._find_claim_rejection(attempt, index, [hold.task for hold in present], bool(absent))
        for hold in present:
            objection = objection or self._place(attempt, hold, hold.task)
        for hold in absent:
            objection = objection or self._place_successor(attempt, hold)
        return objection

    def _is_claimed(self, attempt: FulfillmentAttempt, reserve: InFlightDecision) -> bool:
        """Whether the named pod is still pending, or releasing another placement."""
        if reserve.task == NOWHERE:
            return False
        status = self.session.cluster.tasks[reserve.task].placement.status
        if status in GOING:
            return reserve.task in attempt.evicted
        return status is TaskStatus.PENDING

    def _is_placed(self, task: int) -> bool:
        return self._ledger.placements[task] != self.session.cluster.tasks[task].placement

    def _find_claim_rejection(
        self, attempt: FulfillmentAttempt, index: int, present: list[int], has_absent: bool
    ) -> Rejection | None:
        """Rejection of the pod group: it may not use that much, or cannot use it."""
        if not (present or has_absent):
            return None
        if self._cluster.pod_groups[index].queue is None:
            return invalid_queue(self._cluster, self._cluster.pod_groups[index])
        if index == attempt.group.beneficiary and not self._is_ready(index):
            return self.context.gangs.blocked_reason(index) or NOT_READY
        blocked = (self.session.blocked[task] for task in present if task in self.session.blocked)
        return next(blocked, None) or self.context.placer.capacity(index, present)

    def _is_ready(self, pod_group: int) -> bool:
        """Whether it has its minimum, or will have it once pods that were moved for others are back."""
        if pod_group in self._ready:
            return True
        is_ready = pod_group in self._moved or self.context.gangs.is_ready(pod_group)
        if is_ready:
            self._ready.add(pod_group)
        return is_ready

    def _place(self, attempt: FulfillmentAttempt, reserve: InFlightDecision, task: int) -> Rejection | None:
        self.session.stop.check()
        if self._is_placed(task):
            return ALREADY_RESERVED
        objection = self.context.placer.place_reserved(
            attempt.statement, task, reserve.node, reserve.gpu_groups, simulation=True, is_checked=False
        )
        if objection is None:
            attempt.tasks.append(task)
        return objection

    def _place_successor(self, attempt: FulfillmentAttempt, reserve: InFlightDecision) -> Rejection | None:
        """Place a pod that replaces one that no longer exists; none may be there yet.

        A pod of the beneficiary must be there, or the reservation is useless: the beneficiary is not
        relocated.
        """
        self.session.stop.check()
        objection, too_large = None, set[int]()
        for task in self._successors.of(reserve):
            shape = self._cluster.tasks[task].shape
            if shape.index in too_large:
                continue
            objection = self.context.placer.capacity(reserve.pod_group, [task])
            objection = objection or self._place(attempt, reserve, task)
            if objection is None:
                attempt.replaced[task] = reserve.pod
                return None
            if not self._ledger.fits_soon(shape, reserve.node):
                too_large.add(shape.index)
        attempt.has_unplaced_victims |= objection is None and reserve.pod_group != attempt.group.beneficiary
        return objection

    def _pipeline_early(self) -> bool:
        """Pipeline bound tasks that need others which do not start now after all; whether there were any."""
        found = False
        for attempt in self.attempts.values():
            for move in attempt.statement.moves.copy():
                self.session.stop.check()
                is_bound = self._ledger.placements[move.task] is move.after and move.after.is_allocated
                if is_bound and self.context.placer.violation(move.task) is NOT_YET:
                    attempt.statement.pipeline_bound([move])
                    found = True
        return found

    def _pipeline_incomplete_gangs(self) -> None:
        """Pipeline all tasks of pod groups that cannot start completely, in whatever groups they are."""
        placing: dict[int, dict[int, list[Move]]] = {}
        """Moves of each pod group by in-flight group."""
        for index, attempt in self.attempts.items():
            for move in attempt.statement.moves:
                moves = placing.setdefault(self._cluster.tasks[move.task].pod_group, {})
                moves.setdefault(index, []).append(move)
        for pod_group, by_attempt in sorted(placing.items()):
            if self.context.placer.cannot_start(pod_group) or not self._is_met(pod_group):
                for index, moves_of_attempt in by_attempt.items():
                    self.session.stop.check()
                    self.attempts[index].statement.pipeline_bound(moves_of_attempt)

    def _is_met(self, pod_group: int) -> bool:
        return self._cluster.pod_groups[pod_group].root.is_met(self._ledger.active_allocated)
