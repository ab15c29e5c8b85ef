"""What part of a cluster is looked at."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PictureConfig:
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
