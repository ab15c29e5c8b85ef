"""What becomes of a cluster: the state of every pod after a decision."""

from collections.abc import Iterator
from typing import NamedTuple

from tenure.solver.carryout import placements
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import Decision
from tenure.solver.model.placement import NOWHERE, TaskStatus


class TaskState(NamedTuple):
    """Where a pod is, by node name (empty: nowhere), and in which state."""

    status: TaskStatus
    node: str


def statuses(cluster: Cluster, decision: Decision) -> dict[str, TaskState]:
    """Status and node of every pod once the decision is carried out, by uid."""
    names = {NOWHERE: "", **{node.index: node.name for node in cluster.nodes}}
    after = placements(cluster, decision.groups)
    return {
        task.uid: TaskState(after[task.index].status, names[after[task.index].node]) for task in cluster.tasks
    }


def evictions(decision: Decision) -> Iterator[int]:
    """Tasks that are evicted, moved ones included."""
    return (evict.task for group in decision.groups for evict in group.evictions)
