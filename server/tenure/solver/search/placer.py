"""Placement of a pod group: all of its next tasks, or none (semantics R3.30-R3.47)."""

from collections.abc import Iterable
from typing import Final

from tenure.solver.framework.ledger import NO, NOW
from tenure.solver.framework.session import Session
from tenure.solver.framework.statement import Statement
from tenure.solver.model.placement import TaskStatus, Zones
from tenure.solver.model.rejection import NOT_YET, Rejection, first_rejection
from tenure.solver.model.workload import Member, PodGroup, SubGroupSet, Task, leaves
from tenure.solver.model.workload_parts import TaskShape, TopologyConstraint
from tenure.solver.search.devices import DeviceSelector
from tenure.solver.search.node_order import AllowedNodes, NodeOrder
from tenure.solver.search.preferred_order import in_preferred_order, preferences_of
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

    def __init__(self, session: Session, allowed: AllowedNodes, nodes: NodeOrder) -> None:
        self._session = session
        self._ledger = session.ledger
        self._devices = DeviceSelector(session)
        self._allowed = allowed
        self.nodes = nodes
        self._placement_filters = session.chains.placement_filters
        self._has_preferences = bool(session.chains.node_preferences)
        self._zones = next(iter(session.chains.numa_zone_selectors), None)

    def place(
        self, statement: Statement, pod_group: int, tasks: list[int], nodes: int, simulation: bool = False
    ) -> Rejection | None:
        """Place the tasks of one pod group on nodes of the set, or leave the statement unchanged.

        In a simulation every task is pipelined. Otherwise tasks that fit idle capacity are bound, and a gang
        that cannot start completely is pipelined completely (semantics R3.32).
        """
        rejection = self.capacity(pod_group, tasks)
        if rejection is not None:
            return rejection
        mark, group = statement.checkpoint(), self._session.cluster.pod_groups[pod_group]
        run = _Run(statement, simulation, prefers=not simulation and self._has_preferences)
        is_placed = self._place_all(run, group, tasks, nodes)
        if not is_placed and run.has_preferred and len(tasks) > 1:  # preferences keep none pending
            statement.rollback(mark)
            run = _Run(statement)
            is_placed = self._place_all(run, group, tasks, nodes)
        if not is_placed:
            statement.rollback(mark)
            return run.failure
        if not simulation and self.cannot_start(pod_group):
            statement.replace_by_pipelined(pod_group, mark)
        return None

    def place_anywhere(self, statement: Statement, tasks: list[int], nodes: int) -> bool:
        """Place tasks without regard to topology constraints; if it fails, some of them stay placed."""
        return all(self._place_task(_Run(statement, simulation=True), task, nodes) for task in tasks)

    def place_reserved(
        self, statement: Statement, index: int, node: int, gpu_groups: tuple[str, ...], simulation: bool
    ) -> Rejection | None:
        """Place a task on the node of its reservation: bound if the capacity is idle, else pipelined.

        In a simulation, and while it still releases another placement, it is pipelined. It uses its reserved
        shared devices while they have capacity.
        """
        task = self._session.cluster.tasks[index]
        name = self._session.cluster.nodes[node].facts.name
        if not self._allowed.of(task.shape) >> node & 1:
            return Rejection(ReasonCode.NO_NODE_MATCHES, f"node {name} no longer accepts its pods")
        waits = self._ledger.placements[index].status is TaskStatus.PENDING
        run = _Run(statement, simulation=simulation or not waits)
        checks = self._session.chains.placement_checks(index) if self._placement_filters else []
        fit, problem = self._ledger.fit(task.shape, node), first_rejection(checks, node)
        if fit == NO or not (problem is None or problem is NOT_YET):
            detail = f"node {name} no longer has capacity for its pods"
            return Rejection(ReasonCode.INSUFFICIENT_RESOURCES, detail)
        if not self._put(run, task, node, fit == NOW and problem is None, gpu_groups):
            detail = f"node {name} no longer has devices for its pods"
            return Rejection(ReasonCode.INSUFFICIENT_RESOURCES, detail)
        return None

    def has_capacity(self, shape: TaskShape, nodes: int) -> bool:
        """Whether any node of the set may have capacity for a task of this shape, now or later."""
        return self.nodes.has_capacity(shape, nodes & self._allowed.of(shape))

    def capacity(self, pod_group: int, tasks: list[int]) -> Rejection | None:
        """Rejection by limits and quotas of the queues for these tasks of a pod group."""
        demand = self._session.ledger.least_demand(tasks)
        return self._session.chains.has_capacity(pod_group, tasks, demand)

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
            for task in tasks:
                if not self._place_task(run, task, nodes):
                    break
            else:
                return True
            return False
        return self._place_member(run, group.root, _by_pod_set(self._session, tasks), nodes)

    def _place_member(self, run: "_Run", member: Member, tasks: dict[int, list[int]], nodes: int) -> bool:
        """Place one subgroup within the first set of nodes that takes all of it (semantics R3.34).

        If it fails with only one set, the caller rolls back its moves.
        """
        if member.topology is None or not self._session.chains.node_subset_providers:
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
            return all(self._place_member(run, inner, tasks, nodes) for inner in ordered)
        return all(self._place_task(run, task, nodes) for task in tasks.get(member.index, ()))

    def _node_sets(
        self, topology: TopologyConstraint, member: Member, tasks: dict[int, list[int]], nodes: int
    ) -> Iterable[int]:
        concerned = [task for leaf in leaves(member) for task in tasks.get(leaf.index, ())]
        return self._session.chains.node_subset_providers[0].node_sets(topology, concerned, nodes)

    def _place_task(self, run: "_Run", index: int, nodes: int) -> bool:
        self._session.stop.check()
        self._session.counters.placement_attempts += 1
        task = self._session.cluster.tasks[index]
        allowed = nodes & self._allowed.of(task.shape)
        if not allowed:
            run.failure = NO_NODE
            return False
        checks = self._session.chains.placement_checks(index) if self._placement_filters else []
        later: list[int] = []
        candidates = self.nodes.in_order(task, allowed)
        if run.prefers and (preferences := preferences_of(self._session.chains, index)):
            run.has_preferred = True
            candidates = in_preferred_order(preferences, task, candidates, checks)
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
            chosen = again or self._devices.select(task.shape, node)
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
        return self._session.chains.has_capacity(task.pod_group, [task.index], share) is None


class _Run:
    """One attempt: its statement, its mode, whether preferences count and there were any, why it failed."""

    __slots__ = ("failure", "has_preferred", "prefers", "simulation", "statement")

    def __init__(self, statement: Statement, simulation: bool = False, prefers: bool = False) -> None:
        self.statement = statement
        self.simulation = simulation
        self.prefers, self.has_preferred = prefers, False
        self.failure = NO_DOMAIN


def binds_any(statement: Statement, session: Session) -> bool:
    """Whether the statement binds tasks, rather than only pipelining them."""
    placements = session.ledger.placements
    return any(placements[move.task].is_allocated for move in statement.moves)


def _by_pod_set(session: Session, tasks: list[int]) -> dict[int, list[int]]:
    by_pod_set: dict[int, list[int]] = {}
    for task in tasks:
        pod_set = session.cluster.tasks[task].pod_set
        assert pod_set is not None
        by_pod_set.setdefault(pod_set, []).append(task)
    return by_pod_set
