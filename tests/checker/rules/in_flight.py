"""Every in-flight group has exactly one status, and its reservations do not change."""

from collections import Counter
from collections.abc import Iterable, Iterator

from tenure.v1 import decision_pb2, snapshot_pb2
from tenure.v1.decision_pb2 import (
    IN_FLIGHT_GROUP_STATE_CANCELLED,
    IN_FLIGHT_GROUP_STATE_COMPLETED,
    IN_FLIGHT_GROUP_STATE_EXPIRED,
    IN_FLIGHT_GROUP_STATE_IN_FLIGHT,
    IN_FLIGHT_GROUP_STATE_SUPERSEDED,
)

from tests.checker.in_flight_overlay import open_bindings, open_evictions
from tests.checker.snapshot_index import SnapshotIndex

FULFILL = "fulfill"
OPEN_STATES = (IN_FLIGHT_GROUP_STATE_IN_FLIGHT, IN_FLIGHT_GROUP_STATE_SUPERSEDED)


def in_flight_violations(world: SnapshotIndex) -> Iterator[str]:
    """Report groups without a status, statuses that contradict the decisions, and changed reservations."""
    groups = {group.id: group for group in world.taken_up_snapshot.in_flight_groups}
    status_ids = [status.id for status in world.response.in_flight_group_statuses]
    if status_ids != sorted(groups):
        yield f"in flight: told of {status_ids}, not of {sorted(groups)}"
    for status in world.response.in_flight_group_statuses:
        if status.id in groups:
            for problem in _problems(world, groups[status.id], status):
                yield f"in flight: group {status.id}: {problem}"
    yield from _invalid_fulfillments(world)
    yield from _evicted_bindings(world, groups.values())


def _problems(
    world: SnapshotIndex, group: snapshot_pb2.InFlightGroup, status: decision_pb2.InFlightGroupStatus
) -> Iterator[str]:
    result, is_over = (
        status.state,
        world.taken_up_snapshot.now.ToNanoseconds() >= group.expire_time.ToNanoseconds(),
    )
    if is_over != (result == IN_FLIGHT_GROUP_STATE_EXPIRED):
        yield f"its time is {'over' if is_over else 'not over'}, and it ends as {result}"
    if not status.reason.code or not status.reason.message:
        yield "it is given no reason"
    if status.reservations and result != IN_FLIGHT_GROUP_STATE_IN_FLIGHT:
        yield "room is kept for a group that is not kept"
    pods = {pod.uid: pod for pod in world.taken_up_snapshot.pods}
    is_open = any(open_evictions(pods, group)) or any(open_bindings(pods, group))
    bound = [step for other in fulfilling_groups(world, group.id) for step in _bindings(other)]
    if result == IN_FLIGHT_GROUP_STATE_COMPLETED and (is_open or bound):
        yield "it is called finished, and is not"
    if result == IN_FLIGHT_GROUP_STATE_SUPERSEDED and not bound:
        yield "it is called superseded, and binds nobody"
    if bound and result not in OPEN_STATES:
        yield "it is dropped, and its reservations are fulfilled"
    if result == IN_FLIGHT_GROUP_STATE_CANCELLED and is_over:
        yield "it is called cancelled, and its time is over"
    yield from _changed(world, group, [*bound, *status.reservations])


def _changed(
    world: SnapshotIndex,
    group: snapshot_pb2.InFlightGroup,
    given: Iterable[decision_pb2.Reserve | decision_pb2.Bind],
) -> Iterator[str]:
    """Report capacity outside of reservations.

    A reservation is for its pod. If the pod is gone, another pod of its pod group can use it.
    """
    own = {hold.pod: hold.node for hold in group.reservations if hold.pod in world.pods}
    rest = Counter((hold.pod_group, hold.node) for hold in group.reservations if hold.pod not in world.pods)
    for step in given:
        if step.pod in own:
            if own[step.pod] != step.node:
                yield f"pod {step.pod} was promised {own[step.pod]} and is given {step.node}"
            continue
        place = (world.pods[step.pod].pod_group, step.node)
        if rest[place] <= 0:
            yield f"pod {step.pod} is given room on {step.node}, which nobody promised"
        rest[place] -= 1


def fulfilling_groups(world: SnapshotIndex, group: str) -> Iterator[decision_pb2.DecisionGroup]:
    """Return the decision groups of the response that fulfill reservations of this in-flight group."""
    return (other for other in world.response.groups if other.fulfills_group_id == group)


def _bindings(group: decision_pb2.DecisionGroup) -> list[decision_pb2.Bind]:
    return [step.bind for step in group.decisions if step.WhichOneof("kind") == "bind"]


def _invalid_fulfillments(world: SnapshotIndex) -> Iterator[str]:
    known = {group.id for group in world.taken_up_snapshot.in_flight_groups}
    for group in world.response.groups:
        if (group.action == FULFILL) != bool(group.fulfills_group_id):
            yield f"in flight: group {group.id} of {group.action} fulfills {group.fulfills_group_id!r}"
        elif group.fulfills_group_id and group.fulfills_group_id not in known:
            yield f"in flight: group {group.id} fulfills {group.fulfills_group_id}, which the snapshot lacks"
        kinds = {step.WhichOneof("kind") for step in group.decisions}
        if group.action == FULFILL and not kinds <= {"bind", "patch"}:
            yield f"in flight: group {group.id} does more than fulfill: {sorted(map(str, kinds))}"


def _evicted_bindings(world: SnapshotIndex, groups: Iterable[snapshot_pb2.InFlightGroup]) -> Iterator[str]:
    bound = {step.pod for group in groups for step in group.bindings}
    waiting = {
        pod.uid for pod in world.taken_up_snapshot.pods if pod.status == snapshot_pb2.POD_STATUS_PENDING
    }
    for pod in sorted(world.victims & bound & waiting):
        yield f"in flight: pod {pod} is evicted while its binding is under way"
