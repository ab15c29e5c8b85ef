"""Cluster builder: deterministic, with the same resolution as in the server."""

from collections.abc import Mapping, Sequence
from typing import Self, Unpack

from tenure.solver.model.carried import NO_CARRIED_ROWS, CarriedChange, Row, RowKind
from tenure.solver.model.cluster import Cluster, Topology
from tenure.solver.model.disruption_limits import DisruptionBudget
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.resources import device_slot
from tenure.solver.model.workload_parts import SubGroupFacts, TopologyConstraint
from tenure.solver.resolution.claim_resolution import resolve_claims
from tenure.solver.resolution.reference_resolution import resolve_queues, resolve_workloads
from tenure.solver.testing.facts import (
    NOW,
    GroupPlan,
    PodPlan,
    claim,
    group_spec,
    node,
    queue_spec,
    task_spec,
)
from tenure.solver.testing.options import (
    ClaimOptions,
    GroupOptions,
    InFlightOptions,
    JobOptions,
    NodeOptions,
    QueueOptions,
    ShapeFactory,
    check_names,
    check_zones,
    split,
)
from tenure.solver.testing.result import in_flight_groups


class ClusterBuilder:
    """Builds a cluster. Nodes, queues and pod groups may be added in any order.

    Raises TypeError for an option that does not exist, ValueError for duplicate names and invalid amounts and
    durations, KeyError for a node, queue or pod group that was not added.
    """

    def __init__(self) -> None:
        self._nodes: dict[str, NodeOptions] = {}
        self._queues: dict[str, QueueOptions] = {}
        self._groups: dict[str, GroupPlan] = {}
        self._pods: list[PodPlan] = []
        self._topologies: list[Topology] = []
        self._budgets: dict[str, DisruptionBudget] = {}
        self._carried = NO_CARRIED_ROWS
        self._claims: dict[str, tuple[Mapping[str, int], ClaimOptions]] = {}
        self._in_flight: dict[str, InFlightOptions] = {}

    def node(self, name: str, **options: Unpack[NodeOptions]) -> Self:
        """Add a node."""
        _demand_new(name, self._nodes)
        check_names(f"node {name}", options, NodeOptions)
        check_zones(f"node {name}", options.get("numa_zones", {}))
        self._nodes[name] = options
        return self

    def topology(self, name: str, *levels: str) -> Self:
        """Add a topology: node labels from the widest to the narrowest level."""
        self._topologies.append(Topology(name, levels))
        return self

    def claim(self, name: str, devices: Mapping[str, int], **options: Unpack[ClaimOptions]) -> Self:
        """Add a resource claim with numbers of devices by class; pods name it with `claims`."""
        _demand_new(name, self._claims)
        check_names(f"claim {name}", options, ClaimOptions)
        self._claims[name] = (devices, options)
        return self

    def disruption_budget(
        self,
        name: str,
        allowed: int,
        *,
        counted_pods: Sequence[str] = (),
        next_allowed: int | None = None,
    ) -> Self:
        """Add a disruption budget; pods name it with `disruption_budgets`."""
        _demand_new(name, self._budgets)
        self._budgets[name] = DisruptionBudget(name, allowed, frozenset(counted_pods), next_allowed)
        return self

    def carrying(self, kind: RowKind[Row], *rows: Row) -> Self:
        """Add rows that the caller stored. Times are in nanoseconds; `NOW` is that of the cluster."""
        self._carried = self._carried.after([CarriedChange(kind, rows)])
        return self

    def queue(self, name: str, **options: Unpack[QueueOptions]) -> Self:
        """Add a queue; of two queues that tie, the one added first precedes."""
        _demand_new(name, self._queues)
        check_names(f"queue {name}", options, QueueOptions)
        self._queues[name] = options
        return self

    def pod_group(self, name: str, **options: Unpack[GroupOptions]) -> Self:
        """Add a pod group without pods; `running`, `pending` and `pods` then add pods to it."""
        _demand_new(name, self._groups)
        check_names(f"pod group {name}", options, GroupOptions)
        self._groups[name] = GroupPlan(options, [])
        return self

    def sub_group(
        self,
        pod_group: str,
        name: str,
        *,
        parent: str = "",
        min_member: int | None = None,
        min_sub_groups: int | None = None,
        topology: TopologyConstraint | None = None,
    ) -> Self:
        """Add a subgroup to a pod group that was added before; pods name it with `sub_group`."""
        self._groups[pod_group].sub_groups.append(
            SubGroupFacts(name, parent, min_member, min_sub_groups, topology)
        )
        return self

    def pending(self, name: str, *, count: int = 1, **options: Unpack[JobOptions]) -> Self:
        """Add pending pods to a pod group, and the pod group itself if it is new."""
        return self.pods(name, TaskStatus.PENDING, count=count, **options)

    def running(self, name: str, *, node: str, count: int = 1, **options: Unpack[JobOptions]) -> Self:
        """Add running pods, all on one node; see `pods` for shares of a GPU."""
        return self.pods(name, TaskStatus.RUNNING, node=node, count=count, **options)

    def pods(
        self,
        name: str,
        status: TaskStatus,
        *,
        node: str = "",
        gpu_groups: Sequence[str] = (),
        count: int = 1,
        **options: Unpack[JobOptions],
    ) -> Self:
        """Add pods of any status. Uids are the pod group's name and a number: `job-0`, `job-1`.

        `gpu_groups` names the devices that a pod with a share of a GPU uses; by default the first of the
        node: `NODE/gpu-0`.
        """
        check_names(f"pod group {name}", options, JobOptions)
        check_zones(f"pod group {name}", options.get("numa_placement", {}))
        group, pod = split(options)
        if name not in self._groups:
            self.pod_group(name, **group)
        elif group:
            raise ValueError(f"{name} was added before: say {', '.join(group)} there")
        plan = self._groups[name]
        for _ in range(count):
            self._pods.append(PodPlan(name, f"{name}-{plan.pods}", status, node, tuple(gpu_groups), pod))
            plan.pods += 1
        return self

    def in_flight(self, name: str, **options: Unpack[InFlightOptions]) -> Self:
        """Add an in-flight group. It may refer to names that do not exist."""
        _demand_new(name, self._in_flight)
        check_names(f"in-flight group {name}", options, InFlightOptions)
        self._in_flight[name] = options
        return self

    def build(self) -> Cluster:
        """The cluster, at the time `NOW`."""
        shapes = ShapeFactory(self._resources())
        nodes = tuple(node(i, name, self._nodes[name], shapes) for i, name in enumerate(sorted(self._nodes)))
        by_name = {each.facts.name: each for each in nodes}
        claims = [
            claim(i, name, *self._claims[name], shapes, by_name)
            for i, name in enumerate(sorted(self._claims))
        ]
        claim_index = {each.id: each.index for each in claims}
        queues = resolve_queues(
            queue_spec(i, name, options) for i, (name, options) in enumerate(self._queues.items())
        )
        groups = [group_spec(i, name, plan) for i, (name, plan) in enumerate(self._groups.items())]
        specs = [task_spec(pod, shapes.of(pod.options), by_name, claim_index, shapes) for pod in self._pods]
        tasks, all_shapes = resolve_claims(specs, shapes.all, claims)
        pod_groups, linked, warnings, delayed, changed_grants = resolve_workloads(groups, tasks, queues)
        return Cluster(
            now=NOW,
            nodes=nodes,
            queues=queues,
            pod_groups=pod_groups,
            tasks=linked,
            shapes=all_shapes,
            topologies=tuple(self._topologies),
            claims=tuple(claims),
            resource_names=shapes.names,
            warnings=warnings,
            in_flight=in_flight_groups(self._in_flight, pod_groups, linked, by_name),
            carried=self._carried,
            disruption_budgets=tuple([self._budgets[budget] for budget in sorted(self._budgets)]),
            delayed=delayed,
            changed_grants=changed_grants,
        )

    def _resources(self) -> list[str]:
        """Names of all resources besides the fixed ones."""
        all_options = [*self._nodes.values(), *(pod.options for pod in self._pods)]
        classes = [devices for devices, _ in self._claims.values()]
        classes += [options.get("devices", {}) for options in self._nodes.values()]
        extended = {name for options in all_options for name in options.get("extended", {})}
        return sorted(extended | {device_slot(name) for devices in classes for name in devices})


def _demand_new(name: str, known: Mapping[str, object]) -> None:
    if name in known:
        raise ValueError(f"{name} was added before: names are unique")
