"""Builds a cluster from a few words. Everything is deterministic, and linked as the server links it."""

from collections.abc import Mapping, Sequence
from typing import Self, Unpack

from tenure.solver.model.cluster import Cluster, Topology
from tenure.solver.model.linking import SubGroupSpec, link_queues, link_workloads
from tenure.solver.model.workload import TaskStatus, TopologyConstraint
from tenure.solver.testing.options import GroupOptions, JobOptions, NodeOptions, QueueOptions, split
from tenure.solver.testing.shapes import Shapes
from tenure.solver.testing.specs import NOW, GroupPlan, PodPlan, group_spec, node, queue_spec, task_spec


class ClusterBuilder:
    """Say what there is, then `build()`. Nodes, queues and pod groups may be added in any order.

    ValueError for a name that is added twice, and for amounts and durations that mean nothing; KeyError for
    a node, queue or pod group that was not added.
    """

    def __init__(self) -> None:
        self._nodes: dict[str, NodeOptions] = {}
        self._queues: dict[str, QueueOptions] = {}
        self._groups: dict[str, GroupPlan] = {}
        self._pods: list[PodPlan] = []
        self._topologies: list[Topology] = []

    def node(self, name: str, **options: Unpack[NodeOptions]) -> Self:
        """Add a node."""
        _demand_new(name, self._nodes)
        self._nodes[name] = options
        return self

    def topology(self, name: str, *levels: str) -> Self:
        """Add a topology: node labels from the widest to the narrowest level."""
        self._topologies.append(Topology(name, levels))
        return self

    def queue(self, name: str, **options: Unpack[QueueOptions]) -> Self:
        """Add a queue; of two queues that tie, the one added first goes first."""
        _demand_new(name, self._queues)
        self._queues[name] = options
        return self

    def pod_group(self, name: str, **options: Unpack[GroupOptions]) -> Self:
        """Add a pod group without pods; `running`, `pending` and `pods` then add pods to it."""
        _demand_new(name, self._groups)
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
        """Add a part to a pod group that was added before; pods name it with `sub_group`."""
        self._groups[pod_group].parts.append(SubGroupSpec(name, parent, min_member, min_sub_groups, topology))
        return self

    def pending(self, name: str, *, count: int = 1, **options: Unpack[JobOptions]) -> Self:
        """Add pods that wait to a pod group, and the pod group itself when it is new."""
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

    def build(self) -> Cluster:
        """The cluster, at the time `NOW`."""
        asked = [*self._nodes.values(), *(pod.options for pod in self._pods)]
        shapes = Shapes(sorted({name for options in asked for name in options.get("extended", {})}))
        nodes = tuple(node(i, name, self._nodes[name], shapes) for i, name in enumerate(sorted(self._nodes)))
        index = {each.name: each.index for each in nodes}
        queues = link_queues(
            queue_spec(i, name, options) for i, (name, options) in enumerate(self._queues.items())
        )
        groups = [group_spec(i, name, plan) for i, (name, plan) in enumerate(self._groups.items())]
        tasks = [task_spec(pod, shapes.of(pod.options), index) for pod in self._pods]
        pod_groups, linked, warnings = link_workloads(groups, tasks, queues)
        return Cluster(
            now=NOW,
            nodes=nodes,
            queues=queues,
            pod_groups=pod_groups,
            tasks=linked,
            shapes=tuple(shapes.all),
            topologies=tuple(self._topologies),
            resource_names=shapes.names,
            warnings=warnings,
        )


def _demand_new(name: str, known: Mapping[str, object]) -> None:
    if name in known:
        raise ValueError(f"{name} was added before: names are unique")
