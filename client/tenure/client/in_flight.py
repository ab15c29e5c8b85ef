"""In-flight groups: what a caller stores of accepted groups, and for how long.

    in_flight = retain_in_flight(in_flight, response)
    in_flight += [track_group(group) for group in response.groups if accept(group)]

Send `in_flight` with the next snapshot, as its `in_flight_groups`.
"""

from collections.abc import Collection, Iterable

from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.decision_pb2 import (
    IN_FLIGHT_GROUP_STATE_IN_FLIGHT,
    IN_FLIGHT_GROUP_STATE_UNSPECIFIED,
    DecisionGroup,
    InFlightGroupStatus,
)
from tenure.v1.snapshot_pb2 import InFlightGroup

_IN_FLIGHT_STATES = (IN_FLIGHT_GROUP_STATE_IN_FLIGHT, IN_FLIGHT_GROUP_STATE_UNSPECIFIED)


def track_group(group: DecisionGroup, failed: Collection[str] = ()) -> InFlightGroup:
    """In-flight group of an accepted decision group: its notices, evictions, reservations and bindings.

    `failed` are IDs of decisions that could not be applied. They are omitted, with all reservations, since
    the group can no longer be completed; the applied decisions must still be sent until the snapshot shows
    them.
    """
    kept = InFlightGroup(id=group.id, action=group.action, beneficiary=group.beneficiary)
    kept.expire_time.CopyFrom(group.expire_time)
    for decision in group.decisions:
        if decision.id in failed:
            continue
        match decision.WhichOneof("kind"):
            case "evict":
                step = decision.evict
                kept.evictions.add(pod=step.pod, node=step.node, pod_group=step.pod_group)
            case "notify":
                notice = decision.notify
                kept.notices.add(pod=notice.pod, node=notice.node, pod_group=notice.pod_group)
                kept.evict_time.CopyFrom(notice.evict_time)
            case "reserve" if not failed:
                promise = decision.reserve
                kept.reservations.add(
                    pod=promise.pod,
                    node=promise.node,
                    gpu_groups=promise.gpu_groups,
                    numa_placement=promise.numa_placement,
                    pod_group=promise.pod_group,
                    sub_group=promise.sub_group,
                )
            case "bind":
                binding = decision.bind
                kept.bindings.add(
                    pod=binding.pod,
                    node=binding.node,
                    gpu_groups=binding.gpu_groups,
                    numa_placement=binding.numa_placement,
                )
    return kept


def retain_in_flight(groups: Iterable[InFlightGroup], response: DecideResponse) -> list[InFlightGroup]:
    """In-flight groups to send again after a response; drop the others.

    Their reservations are changed in place: each names the pod that has it now.
    """
    statuses = {
        each.id: each for each in response.in_flight_group_statuses if each.state in _IN_FLIGHT_STATES
    }
    kept = [group for group in groups if group.id in statuses]
    for group in kept:
        replace_pods(group, statuses[group.id])
    return kept


def replace_pods(group: InFlightGroup, status: InFlightGroupStatus) -> None:
    """Give reservations of pods that no longer exist to those that replace them."""
    replaced = {each.pod: each.by for each in status.replaced_pods}
    for hold in group.reservations if replaced else ():
        hold.pod = replaced.get(hold.pod, hold.pod)
