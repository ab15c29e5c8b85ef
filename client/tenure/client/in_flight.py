"""Groups in flight: what a caller keeps of the groups it accepted, and for how long.

    kept = still_in_flight(kept, response)
    kept += [in_flight(group) for group in response.groups if accept(group)]

and `kept` goes with the next snapshot, as its `in_flight_groups`.
"""

from collections.abc import Collection, Iterable

from tenure.v1.decision_pb2 import (
    IN_FLIGHT_RESULT_KEPT,
    IN_FLIGHT_RESULT_UNSPECIFIED,
    DecisionGroup,
)
from tenure.v1.decision_service_pb2 import DecideResponse
from tenure.v1.snapshot_pb2 import InFlightGroup

_GOES_ON = (IN_FLIGHT_RESULT_KEPT, IN_FLIGHT_RESULT_UNSPECIFIED)


def in_flight(group: DecisionGroup, refused: Collection[str] = ()) -> InFlightGroup:
    """What to keep of a group from when it is accepted: its evictions, promises and bindings.

    `refused` are ids of decisions that could not be taken. They are left out, and all promises with them, for
    the group will not be what it was to be; what was taken is to be kept all the same until it is seen.
    """
    kept = InFlightGroup(id=group.id, action=group.action, beneficiary=group.beneficiary)
    kept.expire_time.CopyFrom(group.expire_time)
    for decision in group.decisions:
        if decision.id in refused:
            continue
        match decision.WhichOneof("step"):
            case "evict":
                step = decision.evict
                kept.evictions.add(pod=step.pod, node=step.node, pod_group=step.pod_group)
            case "hold" if not refused:
                promise = decision.hold
                kept.holds.add(
                    pod=promise.pod,
                    node=promise.node,
                    gpu_groups=promise.gpu_groups,
                    numa_placement=promise.numa_placement,
                    pod_group=promise.pod_group,
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


def still_in_flight(groups: Iterable[InFlightGroup], response: DecideResponse) -> list[InFlightGroup]:
    """The groups that the answer to a snapshot with them keeps; the others are to be dropped."""
    kept = {status.id for status in response.in_flight_groups if status.result in _GOES_ON}
    return [group for group in groups if group.id in kept]
