"""Groups in flight: what a caller keeps of the groups it accepted, and for how long.

    kept = retain_in_flight(kept, response)
    kept += [track_group(group) for group in response.groups if accept(group)]

and `kept` goes with the next snapshot, as its `in_flight_groups`.
"""

from collections.abc import Collection, Iterable

from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.decision_pb2 import (
    IN_FLIGHT_GROUP_STATE_IN_FLIGHT,
    IN_FLIGHT_GROUP_STATE_UNSPECIFIED,
    DecisionGroup,
)
from tenure.v1.snapshot_pb2 import InFlightGroup

_IN_FLIGHT_STATES = (IN_FLIGHT_GROUP_STATE_IN_FLIGHT, IN_FLIGHT_GROUP_STATE_UNSPECIFIED)


def track_group(group: DecisionGroup, failed: Collection[str] = ()) -> InFlightGroup:
    """What to keep of a group from when it is accepted: its evictions, promises and bindings.

    `failed` are ids of decisions that could not be taken. They are left out, and all promises with them, for
    the group will not be what it was to be; what was taken is to be kept all the same until it is seen.
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
            case "reserve" if not failed:
                promise = decision.reserve
                kept.reservations.add(
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


def retain_in_flight(groups: Iterable[InFlightGroup], response: DecideResponse) -> list[InFlightGroup]:
    """The groups that the answer to a snapshot with them keeps; the others are to be dropped."""
    kept = {status.id for status in response.in_flight_group_statuses if status.state in _IN_FLIGHT_STATES}
    return [group for group in groups if group.id in kept]
