"""Pods and resource claims on nodes that are not in the snapshot.

In a real cluster a node can disappear before its pods, and a pod can be bound to a node that the caller has
not seen yet. One such pod must not block decisions about all others. It is therefore ignored, with a warning:
it uses no capacity and is not evicted. A pending pod with a resource claim on such a node is ignored too,
because it cannot run elsewhere. A running pod without a node is invalid input.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from tenure.solver.model.facts import TaskFacts
from tenure.solver.model.persistent_vector import PersistentVector
from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.model.snapshot_warning import SnapshotWarning, WarningCode
from tenure.solver.model.workload import PodGroup
from tenure.terms.formatting import format_count
from tenure.v1 import snapshot_pb2 as pb

LEFT_OUT: Final = Placement(TaskStatus.UNKNOWN)
"""Placement of a pod on such a node. Compared by identity."""
_CLAIM_NODE_MISSING: Final = Placement(TaskStatus.UNKNOWN)
"""Placement of a pending pod with such a claim. Compared by identity."""
_WAITS: Final = (TaskStatus.PENDING, TaskStatus.GATED)
_DETAILS: Final = (
    (LEFT_OUT, "ignored: {pods} on nodes that are not in the snapshot"),
    (_CLAIM_NODE_MISSING, "ignored: {pods} with resource claims on nodes that are not in the snapshot"),
)


def drop_claims_on_missing_nodes(
    tasks: list[TaskFacts],
    claims: Sequence[pb.ResourceClaim],
    ranks: Mapping[str, int],
    nodes: Mapping[str, int],
) -> list[TaskFacts]:
    """The tasks, without the pending ones that have a claim on a missing node.

    `ranks` maps the ID of a claim to its index.
    """
    lost = {ranks.get(claim.id, -1) for claim in claims if claim.node and claim.node not in nodes}
    return [_nowhere(task) if _is_pending_with(task, lost) else task for task in tasks] if lost else tasks


def is_left_out(task: TaskFacts) -> bool:
    """Whether the task is ignored for one of these reasons."""
    return task.placement is LEFT_OUT or task.placement is _CLAIM_NODE_MISSING


def collect_missing_node_warnings(
    tasks: Iterable[TaskFacts], pod_groups: PersistentVector[PodGroup]
) -> Iterator[SnapshotWarning]:
    """One warning for all pods that are ignored for the same reason."""
    specs = list(tasks)
    for placement, detail in _DETAILS:
        owners = [task.pod_group for task in specs if task.placement is placement]
        if owners:
            uids = set(owners)
            groups = tuple(index for index, group in enumerate(pod_groups) if group.facts.uid in uids)
            pods = format_count(len(owners), "pod")
            yield SnapshotWarning(WarningCode.UNKNOWN_NODE, groups, detail.format(pods=pods))


def _is_pending_with(task: TaskFacts, left_out: set[int]) -> bool:
    return task.placement.status in _WAITS and not left_out.isdisjoint(task.claims)


def _nowhere(task: TaskFacts) -> TaskFacts:
    return replace(task, placement=_CLAIM_NODE_MISSING)
