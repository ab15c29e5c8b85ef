"""Reserved capacity in every placement: who may use it, and until when (semantics R17.8-R17.11, R17.14).

A pod may go to a node with reservations if, for each of them, (a) it has ended when the owner starts, (b) it
fits in the spare capacity, (c) it is preemptible, nothing will protect it from the owner by then, and it so
becomes a backfill, or (d) it need not give way to the owner. The same holds for limits and quotas of queues.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Final, Protocol, final

from tenure.solver.model.caller_state import Certainty
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.placement import Placement
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.resources import NO_SHARE, Share
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api import points
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.ledger_view import LedgerView
from tenure.solver.reservations.node_reservations import (
    NodeReservation,
    NodeReservations,
    Owner,
    owners_of,
    placed_tasks,
    whole_demand,
)
from tenure.solver.reservations.queue_reservations import QueueReservations, fits_spare
from tenure.solver.reservations.settings import parse_settings
from tenure.terms.reasons import ReasonCode

RESERVED: Final = Rejection(ReasonCode.RESERVED, "the capacity is reserved for another pod group")


class ReservationRules(Protocol):
    """What a cycle knows and plugins do not: orders, fair shares, guards, whether capacity is lent."""

    lends: bool
    """Whether the cycle can end backfills, so that capacity is lent to them."""

    def precedes(self, pod_group: int, tasks: Sequence[int], owner: Owner, nodes: NodeReservations) -> bool:
        """Whether the pod group need not give way to the owner (semantics R17.11)."""

    def protected_until(self, pod_group: int, owner: int) -> int | None:
        """Until when guards would protect the pod group from the owner if it started now; 0: not at all;
        None: for ever.
        """

    def guarded_kind(self, pod_group: int) -> Hashable | None:
        """Equal for pod groups that guards would protect alike if they started now; None: like no other."""


@final
class ReservedCapacity(
    points.PlacementFilter, points.CapacityGate, points.MoveListener, points.Gate, points.ReservedRequests
):
    """The reservations of a session, or of a plan. Those of a session follow all moves, and are in force once
    they have rules: until then, in-flight groups take the capacity that they were given.
    """

    def __init__(
        self,
        cluster: Cluster,
        ledger: LedgerView,
        fair_share_actions: AbstractSet[str],
        *,
        patience: int = 0,
        is_plan: bool = False,
    ) -> None:
        """`fair_share_actions`: names of the actions by which other queues reclaim resources. Of a plan, pods
        are placed as of the time of `nodes`: earlier reservations are over then, and nothing is lent.
        """
        self._groups, self._tasks, self._ledger = cluster.pod_groups, cluster.tasks, ledger
        self._now, self._patience, self._is_plan = cluster.now, patience, is_plan
        self.nodes = NodeReservations(cluster, ledger, cluster.now)
        self.queues = QueueReservations(cluster, ledger, self.nodes, fair_share_actions)
        self._has_bounds = False
        """Whether limits or quotas are kept for any owner."""
        self.owners: dict[int, Owner] = {}
        self._owner_of: dict[int, Owner] = {}
        """By task."""
        self._rules: ReservationRules | None = None
        self._requests: Mapping[int, Share] = {}
        """Free capacity that is reserved for pod groups of a queue."""
        self.revocable_refusals = 0
        """How often a pod group did not precede an owner of another queue: when more is placed it may."""
        self._lent: dict[tuple[int, int], set[int]] = {}
        """Owners of the capacity that a task on a node was lent in this cycle."""
        self._may_lend: dict[tuple[int, int], bool] = {}

    def put_in_force(self, rules: ReservationRules) -> None:
        """From now on nothing is placed on reserved capacity but what the rules permit."""
        self._rules = rules

    def count_requests(self, requests: Mapping[int, Share]) -> None:
        """In the order of queues, free capacity that is reserved counts as theirs (semantics R17.4)."""
        self._requests = requests

    @property
    def is_in_force(self) -> bool:
        """Whether anything counts as reserved."""
        return self._rules is not None or self._is_plan

    def reserved_request(self, queue: int) -> Share:
        """What is counted as requested by the queue."""
        return self._requests.get(queue, NO_SHARE)

    def add(self, owner: Owner, tasks_on: Mapping[int, Sequence[int]]) -> None:
        """Add a reservation. `tasks_on` are the placed tasks of its nodes."""
        self.owners[owner.index] = owner
        self._owner_of.update([(task, owner) for task in self._groups[owner.index].tasks])
        self.nodes.add(owner, tasks_on)
        self.queues.add(owner)
        self._has_bounds = bool(self.queues.by_queue)

    def remove(self, index: int, tasks_on: Mapping[int, Sequence[int]]) -> None:
        """Remove the reservation of a pod group."""
        owner = self.owners.pop(index)
        for task in self._groups[index].tasks:
            del self._owner_of[task]
        self.nodes.remove(owner, tasks_on)
        self.queues.remove(owner)
        self._has_bounds = bool(self.queues.by_queue)

    def allows_placement(self, task: int) -> Callable[[int], Rejection | None] | None:
        """A check of nodes with reservations."""
        return partial(self._check, task) if self.nodes.by_node and self.is_in_force else None

    def placement_kind(self, pod_group: int) -> Hashable | None:
        """All that its rules look at beside the queue, the order in it and the requests."""
        if not self.owners:
            return ()
        if self._rules is None or pod_group in self.owners:
            return None
        kind = self._rules.guarded_kind(pod_group)
        return None if kind is None else (kind, self.nodes.end_times(self._groups[pod_group]))

    def has_capacity(self, pod_group: int, tasks: Sequence[int], demand: Share) -> Rejection | None:
        """Whether what is reserved of the limits and quotas of its queues leaves it as much."""
        if not (self._has_bounds and self.is_in_force):
            return None
        group = self._groups[pod_group]
        for queue, entry in self.queues.concerned(group):
            owner = entry.owner
            if self._is_earlier(group, owner) or self._needs_nothing(group, owner):
                continue
            if fits_spare(entry, demand) or self._is_lent(group, owner):
                continue
            if not self._precedes(group, tasks, owner):
                kind = "quota" if entry.is_quota else "limit"
                name = queue.facts.name
                detail = f"what is left of the {kind} of queue {name} is reserved for another pod group"
                return Rejection(ReasonCode.INSUFFICIENT_RESOURCES, detail)
        return None

    def admits(self, action: Action, pod_group: int, tasks: Sequence[int]) -> Rejection | None:
        """A pod group with a bounded start in the near future evicts no others (semantics R17.14)."""
        owner = self.owners.get(pod_group)
        if owner is None or owner.start is None or owner.certainty is not Certainty.BOUNDED:
            return None
        if not self._now < owner.start <= self._now + self._patience:
            return None
        detail = "it has a planned start, and waits for it before it evicts others"
        return Rejection(ReasonCode.RESERVED, detail, owner.start)

    def on_move(self, task: int, before: Placement, after: Placement) -> None:
        """Follow tasks on nodes with reservations, and those of owners."""
        was_there, is_there = before.is_active_allocated, after.is_active_allocated
        nodes, owner = self.nodes.by_node, self._owner_of.get(task)
        if owner is not None:
            owner.placed += is_there - was_there
        if was_there:
            if before.node in nodes:
                self.nodes.leave(task, before.node)
            if self._has_bounds:
                self.queues.leave(task, before.node)
            if self._lent:
                self._lent.pop((task, before.node), None)
        if is_there and (self._has_bounds or after.node in nodes):
            self._enter(task, after.node, is_back=after == self._tasks[task].placement)
        if owner is not None and was_there and before.node in owner.left:
            owner.left[before.node] += 1
        if owner is not None and is_there and after.node in owner.left:
            owner.left[after.node] -= 1

    def lent(self) -> Mapping[int, set[int]]:
        """Owners on whose capacity pod groups start in this cycle, by pod group."""
        found: dict[int, set[int]] = {}
        for (task, _), owners in self._lent.items():
            found.setdefault(self._tasks[task].pod_group, set()).update(owners)
        return found

    def _check(self, task: int, node: int) -> Rejection | None:
        entries = self.nodes.by_node.get(node)
        if entries is None:
            return None
        group = self._groups[self._tasks[task].pod_group]
        for entry in entries:
            if not self._may_enter(task, node, group, entry):
                return RESERVED
        return None

    def _may_enter(self, task: int, node: int, group: PodGroup, entry: NodeReservation) -> bool:
        owner = entry.owner
        if self._is_left(group, owner, node):
            return True
        if self._needs_nothing(group, owner) or self._is_spare(task, entry) or self._is_lent(group, owner):
            return True
        return self._precedes(group, [task], owner)

    def _needs_nothing(self, group: PodGroup, owner: Owner) -> bool:
        """Whether nothing is reserved for the owner any more, or while the pod group runs."""
        if owner.placed or owner.index == group.index or self._ends_in_time(group, owner):
            return True
        return self._is_plan and owner.until <= self.nodes.time

    def _precedes(self, group: PodGroup, tasks: Sequence[int], owner: Owner) -> bool:
        """(d), for pod groups without a place of their own."""
        own = self.owners.get(group.index)
        if self._rules is None or (own is not None and own.start is not None):
            return False
        found = self._rules.precedes(group.index, tasks, owner, self.nodes)
        self.revocable_refusals += not found and self._groups[owner.index].queue != group.queue
        return found

    def _is_earlier(self, group: PodGroup, owner: Owner) -> bool:
        """Whether the pod group has an earlier planned start than the owner."""
        own = self.owners.get(group.index)
        return own is not None and own.start is not None and own.rank < owner.rank

    def _is_left(self, group: PodGroup, owner: Owner, node: int) -> bool:
        """(d): whether a later plan leaves the pod group its planned place on the node."""
        return self._is_earlier(group, owner) and self.owners[group.index].left.get(node, 0) > 0

    def _ends_in_time(self, group: PodGroup, owner: Owner) -> bool:
        """(a): by its time limit; if the plan is not bounded, preemptible pod groups by what is expected."""
        end = self.nodes.end(group)
        if end.hard is not None and end.hard <= owner.until:
            return True
        if owner.certainty is Certainty.BOUNDED or end.likely is None:
            return False
        return end.likely <= owner.until and group.is_preemptible

    def _is_spare(self, task: int, entry: NodeReservation) -> bool:
        """(b)."""
        spare = entry.spare
        if spare is None:
            return False
        for slot, amount in enumerate(whole_demand(self._tasks[task].shape)):
            if amount > spare[slot] and amount:
                return False
        return True

    def _is_lent(self, group: PodGroup, owner: Owner) -> bool:
        """(c). From the planned start on nothing is lent, for the owner could not start before it ends."""
        if self._rules is None or not self._rules.lends or not group.is_preemptible:
            return False
        if owner.until <= self._now:
            return False
        pair = group.index, owner.index
        found = self._may_lend.get(pair)
        if found is None:
            until = self._rules.protected_until(*pair)
            found = self._may_lend[pair] = until is not None and until <= owner.until
        return found

    def _enter(self, task: int, node: int, *, is_back: bool) -> None:
        """Note on whose capacity a task is placed: it is lent where it neither ends in time nor is spare.

        `is_back`: it is where it was before the cycle, so nothing is lent to it in this cycle.
        """
        group, shape = self._groups[self._tasks[task].pod_group], self._tasks[task].shape
        lent: set[int] = set()
        entries = self.nodes.by_node.get(node, ())
        for entry in () if is_back else entries:
            if not self._is_left(group, entry.owner, node):
                self._lend(group, entry.owner, self._is_spare(task, entry), lent)
        if self._has_bounds:
            share = self._ledger.share(self._tasks[task], node)
            for _, bound in () if is_back else self.queues.concerned(group):
                if not self._is_earlier(group, bound.owner):
                    self._lend(group, bound.owner, fits_spare(bound, share), lent)
            self.queues.enter(task, node, lent)
        if lent:
            self._lent[task, node] = lent
        if entries:
            self.nodes.enter(task, node, shape.request if is_back else whole_demand(shape), lent)

    def _lend(self, group: PodGroup, owner: Owner, is_spare: bool, lent: set[int]) -> None:
        """Add the owner to those that lend the pod group what it takes, if it is one."""
        if self._needs_nothing(group, owner):
            return
        if not self.is_in_force and self.nodes.is_stored_backfill(group, owner):
            lent.add(owner.index)  # it was let in when its place was reserved
        elif not is_spare and self._is_lent(group, owner):
            lent.add(owner.index)


def make_reserved_capacity(context: PluginContext, arguments: Mapping[str, str]) -> object:
    """The plugin of a session, which has nothing to do without reservations."""
    settings = parse_settings(arguments)
    owners = owners_of(context.cluster, settings.max_hold)[: settings.total]
    if not owners:
        return points.Idle()
    names = context.guarded_actions.fair_share_names
    made = ReservedCapacity(context.cluster, context.ledger, names, patience=settings.patience)
    tasks_on = placed_tasks(context.cluster, context.ledger, {p.node for o in owners for p in o.places})
    for owner in owners:
        made.add(owner, tasks_on)
    return made
