"""Placement of a pod group: all of its next tasks, or none (semantics R3.30-R3.47)."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from tenure.solver.framework.chains import Chains
from tenure.solver.framework.ledger import NO, NOW
from tenure.solver.framework.session import Session
from tenure.solver.framework.statement import Statement
from tenure.solver.framework.stop_signal import SliceOver
from tenure.solver.model.placement import TaskStatus, Zones
from tenure.solver.model.rejection import NOT_YET, Rejection, first_rejection
from tenure.solver.model.workload import Member, PodGroup, SubGroupSet, Task, leaves
from tenure.solver.model.workload_parts import TaskShape, TopologyConstraint
from tenure.solver.search.devices import DeviceSelector
from tenure.solver.search.node_order import AllowedNodes, NodeOrder
from tenure.solver.search.preferred_order import in_preferred_order, preferences_of
from tenure.solver.search.related_places import RelatedPlaces
from tenure.solver.search.search import SLICE_OVER
from tenure.terms.reasons import ReasonCode

NO_DOMAIN: Final = Rejection(
    ReasonCode.INSUFFICIENT_RESOURCES, "it does not fit within its topology constraint"
)
NO_NODE: Final = Rejection(ReasonCode.NO_NODE_MATCHES, "no node meets its constraints")
INSUFFICIENT_RESOURCES: Final = Rejection(
    ReasonCode.INSUFFICIENT_RESOURCES, "no node that meets its constraints has enough free capacity"
)


class Placer:
    """Finds nodes for tasks and places the tasks there, within a statement."""

    def __init__(
        self, session: Session, allowed: AllowedNodes, nodes: NodeOrder, chains: Chains | None = None
    ) -> None:
        """`chains` are the plugins that decide; by default those of the session."""
        self._session = session
        self._chains: Final = chains or session.chains
        self._ledger = session.ledger
        self._devices = DeviceSelector(session)
        self._allowed = allowed
        self.nodes = nodes
        self.related: Final = RelatedPlaces(session, self._chains, allowed, nodes)
        self._placement_filters = self._chains.placement_filters
        self._has_preferences = bool(self._chains.node_preferences)
        self._zones = next(iter(self._chains.numa_zone_selectors), None)

    def place(
        self,
        statement: Statement,
        pod_group: int,
        tasks: list[int],
        nodes: int,
        simulation: bool = False,
        *,
        tries_others: bool = True,
    ) -> Rejection | None:
        """Place the tasks of one pod group on nodes of the set, or leave the statement unchanged.

        In a simulation every task is pipelined. Otherwise tasks that fit idle capacity are bound, and a gang
        that cannot start completely is pipelined completely (semantics R3.32). `tries_others`: tasks that
        depend on each other are tried on other nodes, if the first ones do not suffice for all.
        """
        rejection = self.capacity(pod_group, tasks)
        if rejection is not None:
            return rejection
        self.related.begin_attempt(is_search=simulation)
        mark = statement.checkpoint()
        prefers = not simulation and self._has_preferences and self._allowed.are_possible(tasks)
        run = _Run(statement, simulation, prefers)  # without preferences also where some task fits nowhere
        rejection = self._place_attempt(run, pod_group, tasks, nodes, tries_others)
        if rejection is None and not simulation and self.cannot_start(pod_group):
            statement.replace_by_pipelined(pod_group, mark)
            # A reservation is restricted for longer than a binding.
            if any(map(self._is_violated, tasks)) or not self._chains.can_stay(tasks, ()):
                statement.rollback(mark)
                run = _Run(statement, simulation=True)
                rejection = self._place_attempt(run, pod_group, tasks, nodes, tries_others)
        return rejection

    def _place_attempt(
        self, run: "_Run", pod_group: int, tasks: list[int], nodes: int, tries_others: bool
    ) -> Rejection | None:
        """Place all tasks, or none. SLICE_OVER: the slice ended before it was known whether they fit."""
        mark = run.statement.checkpoint()
        try:
            rejection = self._place_somehow(run, pod_group, tasks, nodes, tries_others)
        except SliceOver:
            rejection = SLICE_OVER
        if rejection is not None:
            run.statement.rollback(mark)
        return rejection

    def _place_somehow(
        self, run: "_Run", pod_group: int, tasks: list[int], nodes: int, tries_others: bool
    ) -> Rejection | None:
        """Place all tasks; if it fails, some of them stay placed."""
        statement, mark = run.statement, run.statement.checkpoint()
        group = self._session.cluster.pod_groups[pod_group]
        is_placed = self._place_all(run, group, tasks, nodes)
        if not is_placed and run.has_preferred and len(tasks) > 1:  # preferences keep none pending
            statement.rollback(mark)
            run = _Run(statement)
            is_placed = self._place_all(run, group, tasks, nodes)
        if not is_placed and tries_others and len(tasks) > 1 and self.related.are_related(tasks):
            statement.rollback(mark)
            run.tries_others = True
            is_placed = self._place_all(run, group, tasks, nodes)
        return None if is_placed else run.failure

    def place_anywhere(self, statement: Statement, tasks: list[int], nodes: int) -> bool:
        """Place tasks without regard to topology constraints; if it fails, some of them stay placed."""
        return all(self._place_task(_Run(statement, simulation=True), task, nodes) for task in tasks)

    def place_reserved(
        self,
        statement: Statement,
        index: int,
        node: int,
        gpu_groups: tuple[str, ...],
        simulation: bool,
        *,
        is_checked: bool = True,
    ) -> Rejection | None:
        """Place a task on the node of its reservation: bound if the capacity is idle, else pipelined.

        In a simulation, and while it still releases another placement, it is pipelined. It uses its reserved
        shared devices while they have capacity. `is_checked`: other pods may be in the way; if not, the
        caller asks `violation` when all are placed.
        """
        task = self._session.cluster.tasks[index]
        name = self._session.cluster.nodes[node].facts.name
        if not self._allowed.of(task.shape) >> node & 1:
            return Rejection(ReasonCode.NO_NODE_MATCHES, f"node {name} no longer accepts its pods")
        waits = self._ledger.placements[index].status is TaskStatus.PENDING
        run = _Run(statement, simulation=simulation or not waits)
        checks = self._chains.placement_checks(index) if is_checked and self._placement_filters else []
        fit, problem = self._ledger.fit(task.shape, node), first_rejection(checks, node)
        if fit == NO or not (problem is None or problem is NOT_YET):
            detail = f"node {name} no longer has capacity for its pods"
            return Rejection(ReasonCode.INSUFFICIENT_RESOURCES, detail)
        if not self._put(run, task, node, fit == NOW and problem is None, gpu_groups):
            detail = f"node {name} no longer has devices for its pods"
            return Rejection(ReasonCode.INSUFFICIENT_RESOURCES, detail)
        return None

    def violation(self, index: int) -> Rejection | None:
        """Why other pods do not permit a task where it is placed; NOT_YET: it may not start there yet."""
        if not self._placement_filters:
            return None
        return first_rejection(self._chains.placement_checks(index), self._ledger.placements[index].node)

    def _is_violated(self, index: int) -> bool:
        """Whether other pods do not permit a task where it is placed, even later."""
        problem = self.violation(index)
        return not (problem is None or problem is NOT_YET)

    def has_capacity(self, shape: TaskShape, nodes: int) -> bool:
        """Whether any node of the set may have capacity for a task of this shape, now or later."""
        return self.nodes.has_capacity(shape, nodes & self._allowed.of(shape))

    def capacity(self, pod_group: int, tasks: Sequence[int]) -> Rejection | None:
        """Rejection by limits and quotas of the queues for these tasks of a pod group."""
        demand = self._session.ledger.least_demand(tasks)
        return self._chains.has_capacity(pod_group, tasks, demand)

    def cannot_start(self, pod_group: int) -> bool:
        """Whether a pod set with pipelined tasks has fewer other tasks than its minimum (semantics R3.32)."""
        promised, active = self._ledger.pipelined, self._ledger.active_allocated
        for pod_set in self._session.cluster.pod_groups[pod_group].pod_sets:
            waiting = promised[pod_set.index]
            if waiting and active[pod_set.index] - waiting < pod_set.min_available:
                return True
        return False

    def _place_all(self, run: "_Run", group: PodGroup, tasks: list[int], nodes: int) -> bool:
        if group.is_plain:
            return self._place_in_order(run, tasks, nodes)
        return self._place_member(run, group.root, _by_pod_set(self._session, tasks), nodes)

    def _place_in_order(self, run: "_Run", tasks: Sequence[int], nodes: int) -> bool:
        """Place tasks one after the other; one that must be near a later one follows that (R3.76)."""
        if run.tries_others and len(tasks) > 1:
            return self.related.place(run.statement, tasks, nodes, partial(self._put, run))
        if len(tasks) == 1:
            return self._place_task(run, tasks[0], nodes)
        waiting = tasks
        while waiting:
            left = list[int]()
            for place, task in enumerate(waiting):
                if self._place_task(run, task, nodes):
                    continue
                shape, later = self._session.cluster.tasks[task].shape, waiting[place + 1 :]
                is_needed = later and self._chains.needed((task,), later, near=True)
                if not is_needed or not self.has_capacity(shape, nodes):
                    return False
                left.append(task)
            waiting = left
        return True

    def _place_member(self, run: "_Run", member: Member, tasks: dict[int, list[int]], nodes: int) -> bool:
        """Place one subgroup within the first set of nodes that takes all of it (semantics R3.34).

        If it fails with only one set, the caller rolls back its moves.
        """
        if member.topology is None or not self._chains.node_subset_providers:
            return self._place_within(run, member, tasks, nodes)
        for node_set in self._node_sets(member.topology, member, tasks, nodes):
            mark = run.statement.checkpoint()
            if self._place_within(run, member, tasks, node_set):
                return True
            run.statement.rollback(mark)
        return False

    def _place_within(self, run: "_Run", member: Member, tasks: dict[int, list[int]], nodes: int) -> bool:
        if isinstance(member, SubGroupSet):
            concerned = [inner for inner in member.members if any(s.index in tasks for s in leaves(inner))]
            ordered = self._session.order.members(concerned, self._ledger.active_allocated)
            if run.tries_others and not any(map(has_topology, ordered)):
                return self._place_in_order(run, _of_members(ordered, tasks), nodes)
            return self._place_members(run, ordered, tasks, nodes)
        return self._place_in_order(run, tasks.get(member.index, ()), nodes)

    def _place_members(
        self, run: "_Run", members: Sequence[Member], tasks: dict[int, list[int]], nodes: int
    ) -> bool:
        """Place members one after the other; one that must be near a later one follows that (R3.76)."""
        waiting = members
        while waiting:
            left = list[Member]()
            for place, member in enumerate(waiting):
                mark = run.statement.checkpoint()
                if self._place_member(run, member, tasks, nodes):
                    continue
                own, later = _of_members((member,), tasks), _of_members(waiting[place + 1 :], tasks)
                if not (later and self._chains.needed(own, later, near=True)):
                    return False
                run.statement.rollback(mark)
                left.append(member)
            waiting = left
        return True

    def _node_sets(
        self, topology: TopologyConstraint, member: Member, tasks: dict[int, list[int]], nodes: int
    ) -> Iterable[int]:
        concerned = _of_members((member,), tasks)
        return self._chains.node_subset_providers[0].node_sets(topology, concerned, nodes)

    def _place_task(self, run: "_Run", index: int, nodes: int) -> bool:
        if run.simulation:
            self._session.stop.check()
        else:
            self._session.stop.check_slice()
        self._session.counters.placement_attempts += 1
        task = self._session.cluster.tasks[index]
        allowed = nodes & self._allowed.of(task.shape)
        if not allowed:
            run.failure = NO_NODE
            return False
        checks = self._chains.placement_checks(index) if self._placement_filters else []
        later: list[int] = []
        candidates = self.nodes.in_order(task, allowed)
        if run.prefers and (preferences := preferences_of(self._chains, index)):
            run.has_preferred = True
            candidates = in_preferred_order(preferences, task, candidates, checks, self._session.stop.check)
        for node, is_now in candidates:
            problem = first_rejection(checks, node) if checks else None
            if problem is NOT_YET:
                later.append(node)
            elif problem is None and self._put(run, task, node, is_now):
                return True
        if any(self._put(run, task, node, fits_now=False) for node in later):
            return True
        if not (checks or task.shape.gpu.memory_mib or task.shape.shared_claims):
            self.nodes.note_full(task.shape, allowed)
        run.failure = INSUFFICIENT_RESOURCES
        return False

    def _put(self, run: "_Run", task: Task, node: int, fits_now: bool, wanted: tuple[str, ...] = ()) -> bool:
        """Place the task on the node; False if its shared devices or NUMA zones do not suffice.

        `wanted` are shared devices to use if they have capacity.
        """
        groups: tuple[str, ...] = ()
        if task.shape.shares_devices and task.shape.gpu.is_shared:
            again = self._devices.reselect(task.shape, node, wanted) if wanted else None
            chosen = again or self._devices.select(task, node)
            if chosen is None or not self._has_node_capacity(task, node):
                return False
            groups, fits_idle_gpus = chosen
            fits_now = fits_now and fits_idle_gpus
        now = fits_now and not run.simulation
        zones: Zones | None = ()
        if self._zones is not None:
            zones = self._zones.zones(task.index, node, soon=not now)
            if zones is None and now:
                now, zones = False, self._zones.zones(task.index, node, soon=True)
        if zones is None:
            return False
        if now:
            run.statement.allocate(task.index, node, groups, zones)
        else:
            run.statement.pipeline(task.index, node, groups, zones)
        return True

    def _has_node_capacity(self, task: Task, node: int) -> bool:
        """Memory-sized requests count by the node's own devices (semantics R1.18 c, R4.63)."""
        if not task.shape.gpu.memory_mib:
            return True
        share = self._ledger.share(task, node)
        return self._chains.has_capacity(task.pod_group, [task.index], share) is None


class _Run:
    """One attempt: its statement, its mode, whether preferences count and there were any, why it failed."""

    __slots__ = ("failure", "has_preferred", "prefers", "simulation", "statement", "tries_others")

    def __init__(self, statement: Statement, simulation: bool = False, prefers: bool = False) -> None:
        self.statement = statement
        self.simulation = simulation
        self.prefers, self.has_preferred = prefers, False
        self.failure = NO_DOMAIN
        self.tries_others = False


def binds_any(statement: Statement, session: Session) -> bool:
    """Whether the statement binds tasks, rather than only pipelining them."""
    placements = session.ledger.placements
    return any(placements[move.task].is_allocated for move in statement.moves)


def has_topology(member: Member) -> bool:
    """Whether a subgroup, or one within it, has a topology constraint."""
    if isinstance(member, SubGroupSet) and any(map(has_topology, member.members)):
        return True
    return member.topology is not None


def _of_members(members: Sequence[Member], tasks: dict[int, list[int]]) -> list[int]:
    """Tasks of these subgroups, in order."""
    return [task for member in members for leaf in leaves(member) for task in tasks.get(leaf.index, ())]


def _by_pod_set(session: Session, tasks: list[int]) -> dict[int, list[int]]:
    by_pod_set: dict[int, list[int]] = {}
    for task in tasks:
        pod_set = session.cluster.tasks[task].pod_set
        assert pod_set is not None
        by_pod_set.setdefault(pod_set, []).append(task)
    return by_pod_set
