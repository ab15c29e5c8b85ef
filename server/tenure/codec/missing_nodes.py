"""Pods and device claims on nodes that are not in the snapshot.

In a real cluster a node goes before its pods do, or a pod is bound to a node before the caller has seen the
node. One such pod must not stop the decisions on all others, so it is left out, with a warning: it takes no
room, and nobody is told to evict it. A pod that names no node at all is malformed. A pod that waits with a
claim whose devices are on such a node is left out likewise, for it can go nowhere else.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from tenure.solver.model.facts import TaskSpec
from tenure.solver.model.persistent_vector import PersistentVector
from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.model.snapshot_warning import SnapshotWarning, WarningCode
from tenure.solver.model.workload import PodGroup
from tenure.v1 import snapshot_pb2 as pb

LEFT_OUT: Final = Placement(TaskStatus.UNKNOWN)
"""Where a pod on such a node is: this very object."""
_CLAIM_NODE_MISSING: Final = Placement(TaskStatus.UNKNOWN)
"""Where a pod is that waits with such a claim: this very object."""
_WAITS: Final = (TaskStatus.PENDING, TaskStatus.GATED)
_MESSAGES: Final = (
    (LEFT_OUT, "pods are left out because their nodes are not in the snapshot"),
    (
        _CLAIM_NODE_MISSING,
        "pods that wait are left out because nodes of their device claims are not in the snapshot",
    ),
)


def drop_claims_on_missing_nodes(
    tasks: list[TaskSpec],
    claims: Sequence[pb.ResourceClaim],
    ranks: Mapping[str, int],
    nodes: Mapping[str, int],
) -> list[TaskSpec]:
    """The tasks; those that wait with a lost claim are nowhere. `ranks` gives the index of a claim's id."""
    lost = {ranks.get(claim.id, -1) for claim in claims if claim.node and claim.node not in nodes}
    return [_nowhere(task) if _is_pending_with(task, lost) else task for task in tasks] if lost else tasks


def is_left_out(task: TaskSpec) -> bool:
    """Whether it is left out for one of these reasons."""
    return task.placement is LEFT_OUT or task.placement is _CLAIM_NODE_MISSING


def collect_missing_node_warnings(
    tasks: Iterable[TaskSpec], pod_groups: PersistentVector[PodGroup]
) -> Iterator[SnapshotWarning]:
    """One doubt about all pods that are left out for the same reason."""
    specs = list(tasks)
    for place, said in _MESSAGES:
        of_lost = [task.pod_group for task in specs if task.placement is place]
        if of_lost:
            uids = set(of_lost)
            groups = tuple(index for index, group in enumerate(pod_groups) if group.uid in uids)
            yield SnapshotWarning(WarningCode.UNKNOWN_NODE, groups, f"{said}: {len(of_lost)}")


def _is_pending_with(task: TaskSpec, left_out: set[int]) -> bool:
    return task.placement.status in _WAITS and not left_out.isdisjoint(task.claims)


def _nowhere(task: TaskSpec) -> TaskSpec:
    return replace(task, placement=_CLAIM_NODE_MISSING)
