"""The in-flight row of a decision group: what of it callers send with their snapshots.

The server computes it from reported results, and clients without reports from what they know themselves.
"""

from collections.abc import Collection, Iterable, Mapping

from tenure.v1.decision_pb2 import ATOMICITY_BEST_EFFORT, Decision, DecisionGroup
from tenure.v1.report_pb2 import APPLY_STATUS_APPLIED, APPLY_STATUS_FAILED, DecisionResult
from tenure.v1.snapshot_pb2 import InFlightGroup


def in_flight_row(group: DecisionGroup, excluded: Collection[str] = ()) -> InFlightGroup:
    """Notices, evictions, reservations and bindings of a group, without those with an excluded id.

    With an excluded decision, the group can no longer be completed: it keeps no reservation.
    """
    row = InFlightGroup(id=group.id, action=group.action, beneficiary=group.beneficiary)
    row.expire_time.CopyFrom(group.expire_time)
    for decision in group.decisions:
        if decision.id not in excluded:
            _add(row, decision, keeps_reservations=not excluded)
    return row


def is_empty(row: InFlightGroup) -> bool:
    """Whether nothing of a group is in flight."""
    return not (row.evictions or row.reservations or row.bindings or row.notices)


def reported_row(
    group: DecisionGroup, results: Iterable[DecisionResult], is_stopped: bool = False
) -> InFlightGroup | None:
    """In-flight row of a group by the results of its decisions so far; None: nothing is in flight.

    What failed for good is not in flight. In an all-or-nothing group, or if `is_stopped`, nothing is then
    applied any more, so that only applied decisions are in flight.
    """
    known = {each.decision_id: each for each in results}
    failed = {name for name, each in known.items() if is_final_failure(each)}
    if is_stopped or (failed and group.atomicity != ATOMICITY_BEST_EFFORT):
        failed = {each.id for each in group.decisions if not _is_applied(each, known)}
    row = in_flight_row(group, failed)
    return None if is_empty(row) else row


def is_final_failure(result: DecisionResult) -> bool:
    """Whether a decision was not applied, and cannot be any more."""
    return result.status != APPLY_STATUS_APPLIED and not (
        result.status == APPLY_STATUS_FAILED and result.retryable
    )


def _is_applied(decision: Decision, known: Mapping[str, DecisionResult]) -> bool:
    result = known.get(decision.id)
    return result is not None and result.status == APPLY_STATUS_APPLIED


def _add(row: InFlightGroup, decision: Decision, keeps_reservations: bool) -> None:
    match decision.WhichOneof("kind"):
        case "evict":
            step = decision.evict
            row.evictions.add(pod=step.pod, node=step.node, pod_group=step.pod_group)
        case "notify":
            notice = decision.notify
            row.notices.add(pod=notice.pod, node=notice.node, pod_group=notice.pod_group)
            row.evict_time.CopyFrom(notice.evict_time)
        case "reserve" if keeps_reservations:
            promise = decision.reserve
            row.reservations.add(
                pod=promise.pod,
                node=promise.node,
                gpu_groups=promise.gpu_groups,
                numa_placement=promise.numa_placement,
                pod_group=promise.pod_group,
                sub_group=promise.sub_group,
            )
        case "bind":
            binding = decision.bind
            row.bindings.add(
                pod=binding.pod,
                node=binding.node,
                gpu_groups=binding.gpu_groups,
                numa_placement=binding.numa_placement,
            )
