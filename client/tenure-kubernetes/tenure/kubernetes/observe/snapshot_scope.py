"""What part of a cluster is looked at.

Topologies: hierarchies of node labels.

Priorities by name of their class (semantics R1.81).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from tenure.kubernetes.objects.kai import Topology
from tenure.kubernetes.objects.node import PriorityClass
from tenure.v1 import snapshot_pb2 as pb


def topology_row(topology: Topology) -> pb.Topology | None:
    """The row; None when it has no level, or one twice: nothing can refer to it."""
    levels = [level.node_label for level in topology.spec.levels]
    if not levels or "" in levels or len(set(levels)) != len(levels):
        return None
    return pb.Topology(name=topology.metadata.name, levels=levels)


_NO_CLASS: Final = 50
"""Priority where no class is named that exists, and none is the cluster's default."""


class Priorities(NamedTuple):
    """Values by name, and that of whoever names none that exists."""

    values: Mapping[str, int] = {}
    default: int = _NO_CLASS

    @classmethod
    def of(cls, classes: Iterable[PriorityClass]) -> "Priorities":
        """From the classes of a cluster; of several defaults the one with the first name counts."""
        known = sorted(classes, key=lambda one: one.metadata.name)
        default = next((one.value for one in known if one.global_default), _NO_CLASS)
        return cls({one.metadata.name: one.value for one in known}, default)

    def of_class(self, name: str, warnings: list[str]) -> int:
        """The priority of a class; one that does not exist is a doubt."""
        if name and name not in self.values:
            warnings.append(f"there is no priority class {name!r}: its priority is {self.default}")
        return self.values.get(name, self.default)


@dataclass(frozen=True, slots=True)
class SnapshotScope:
    """Whose pods are scheduled, and on which nodes.

    `scheduler_name` is KAI-Scheduler's own by default: its users change nothing in their workloads.
    """

    cluster_id: str
    scheduler_name: str = "kai-scheduler"
    node_pool: str = ""
    """Value of the label; empty: nodes, queues and pod groups without it."""
    node_pool_label: str = "kai.scheduler/node-pool"
    """Empty: all nodes, queues and pod groups are of the pool."""
    derive: bool = True
    """Whether pods that name no pod group get one from their owner. To be turned off where somebody else
    makes pod groups for all pods, for a pod may be seen before its pod group is named."""
    default_queue: str = "default-queue"
    """Of derived pod groups that name no queue."""

    def has(self, labels: Mapping[str, str]) -> bool:
        """Whether what has these labels belongs to the node pool."""
        if not self.node_pool_label:
            return True
        return labels.get(self.node_pool_label, "") == self.node_pool
