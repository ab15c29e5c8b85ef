"""Pods on nodes that are not in the snapshot.

In a real cluster a node goes before its pods do, or a pod is bound to a node before the caller has seen the
node. One such pod must not stop the decisions on all others, so it is left out, with a warning: it takes no
room, and nobody is told to evict it. A pod that names no node at all is malformed.
"""

from collections.abc import Iterable
from typing import Final

from tenure.solver.model.doubt import Doubt, DoubtCode
from tenure.solver.model.linking import TaskSpec
from tenure.solver.model.workload import Placement, PodGroup, TaskStatus

LOST: Final = Placement(TaskStatus.UNKNOWN)
"""Where such a pod is: this very object."""


def lost_doubts(tasks: Iterable[TaskSpec], pod_groups: Iterable[PodGroup]) -> tuple[Doubt, ...]:
    """One doubt about all of them; none when there are none."""
    of_lost = [task.pod_group for task in tasks if task.placement is LOST]
    if not of_lost:
        return ()
    uids = set(of_lost)
    groups = tuple(index for index, group in enumerate(pod_groups) if group.uid in uids)
    message = f"pods are left out because their nodes are not in the snapshot: {len(of_lost)}"
    return (Doubt(DoubtCode.UNKNOWN_NODE, groups, message),)
