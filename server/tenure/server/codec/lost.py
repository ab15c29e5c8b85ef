"""Pods and device claims on nodes that are not in the snapshot.

In a real cluster a node goes before its pods do, or a pod is bound to a node before the caller has seen the
node. One such pod must not stop the decisions on all others, so it is left out, with a warning: it takes no
room, and nobody is told to evict it. A pod that names no node at all is malformed. A pod that waits with a
claim whose devices are on such a node is left out likewise, for it can go nowhere else.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from tenure.solver.model.column import Column
from tenure.solver.model.doubt import Doubt, DoubtCode
from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.model.specs import TaskSpec
from tenure.solver.model.workload import PodGroup
from tenure.v1 import snapshot_pb2 as pb

LOST: Final = Placement(TaskStatus.UNKNOWN)
"""Where a pod on such a node is: this very object."""
_CLAIM_LOST: Final = Placement(TaskStatus.UNKNOWN)
"""Where a pod is that waits with such a claim: this very object."""
_WAITS: Final = (TaskStatus.PENDING, TaskStatus.GATED)
_SAID: Final = (
    (LOST, "pods are left out because their nodes are not in the snapshot"),
    (_CLAIM_LOST, "pods that wait are left out because nodes of their device claims are not in the snapshot"),
)


def without_lost_claims(
    tasks: list[TaskSpec],
    claims: Sequence[pb.DeviceClaim],
    ranks: Mapping[str, int],
    nodes: Mapping[str, int],
) -> list[TaskSpec]:
    """The tasks; those that wait with a lost claim are nowhere. `ranks` gives the index of a claim's id."""
    lost = {ranks.get(claim.id, -1) for claim in claims if claim.node and claim.node not in nodes}
    return [_nowhere(task) if _waits_with(task, lost) else task for task in tasks] if lost else tasks


def is_lost(task: TaskSpec) -> bool:
    """Whether it is left out for one of these reasons."""
    return task.placement is LOST or task.placement is _CLAIM_LOST


def lost_doubts(tasks: Iterable[TaskSpec], pod_groups: Column[PodGroup]) -> Iterator[Doubt]:
    """One doubt about all pods that are left out for the same reason."""
    specs = list(tasks)
    for place, said in _SAID:
        of_lost = [task.pod_group for task in specs if task.placement is place]
        if of_lost:
            uids = set(of_lost)
            groups = tuple(index for index, group in enumerate(pod_groups) if group.uid in uids)
            yield Doubt(DoubtCode.UNKNOWN_NODE, groups, f"{said}: {len(of_lost)}")


def _waits_with(task: TaskSpec, lost: set[int]) -> bool:
    return task.placement.status in _WAITS and not lost.isdisjoint(task.claims)


def _nowhere(task: TaskSpec) -> TaskSpec:
    return replace(task, placement=_CLAIM_LOST)
