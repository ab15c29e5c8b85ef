"""The observed part of a cluster; its topologies and priorities (semantics R1.81)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from tenure.kubernetes.objects.kai import Topology
from tenure.kubernetes.objects.node import PriorityClass
from tenure.v1 import snapshot_pb2 as pb


def topology_row(topology: Topology) -> pb.Topology | None:
    """The row of a topology; None: it has no levels, or a repeated one, so it cannot be referenced."""
    levels = [level.node_label for level in topology.spec.levels]
    if not levels or "" in levels or len(set(levels)) != len(levels):
        return None
    return pb.Topology(name=topology.metadata.name, levels=levels)


_NO_CLASS: Final = 50
"""Default priority of pods without an existing class, if the cluster has no default."""


class Priorities(NamedTuple):
    """Priorities by class, and the default."""

    values: Mapping[str, int] = {}
    default: int = _NO_CLASS

    @classmethod
    def of(cls, classes: Iterable[PriorityClass]) -> "Priorities":
        """Priorities of the classes of a cluster. Of several defaults the first name counts."""
        known = sorted(classes, key=lambda one: one.metadata.name)
        default = next((one.value for one in known if one.global_default), _NO_CLASS)
        return cls({one.metadata.name: one.value for one in known}, default)

    def of_class(self, name: str, warnings: list[str]) -> int:
        """Priority of a class. A missing class is a warning."""
        if name and name not in self.values:
            warnings.append(f"priority class {name!r} does not exist: priority {self.default} is used")
        return self.values.get(name, self.default)


@dataclass(frozen=True, slots=True)
class SnapshotScope:
    """The scheduled pods and nodes.

    The default of `scheduler_name` is that of KAI-Scheduler, so that workloads need no change.
    """

    cluster_id: str
    scheduler_name: str = "kai-scheduler"
    node_pool: str = ""
    """Value of the label; "": nodes, queues and pod groups without the label."""
    node_pool_label: str = "kai.scheduler/node-pool"
    """Empty: all nodes, queues and pod groups belong to the pool."""
    derive: bool = True
    """Whether pods without a pod group get one that is derived from their owner.

    Turn it off if another controller creates pod groups: a pod may be observed before it names its pod group.
    """
    default_queue: str = "default-queue"
    """Queue of derived pod groups without a queue."""

    def has(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels belongs to the node pool."""
        if not self.node_pool_label:
            return True
        return labels.get(self.node_pool_label, "") == self.node_pool
