"""Every group in flight is told, once, what became of it, and its promises are kept to the letter."""

from collections import Counter
from collections.abc import Iterable, Iterator

from tenure.v1 import decision_pb2, snapshot_pb2
from tenure.v1.decision_pb2 import (
    IN_FLIGHT_RESULT_CANCELLED,
    IN_FLIGHT_RESULT_FINISHED,
    IN_FLIGHT_RESULT_KEPT,
    IN_FLIGHT_RESULT_LAPSED,
    IN_FLIGHT_RESULT_REDEEMED,
)

from tests.verify.takingup import open_bindings, open_evictions
from tests.verify.world import World

REDEEM = "redeem"
GOES_ON = (IN_FLIGHT_RESULT_KEPT, IN_FLIGHT_RESULT_REDEEMED)


def in_flight_violations(world: World) -> Iterator[str]:
    """Groups without a verdict, verdicts that contradict the rest of the answer, and promises that change."""
    groups = {group.id: group for group in world.asked.in_flight_groups}
    told = [status.id for status in world.response.in_flight_groups]
    if told != sorted(groups):
        yield f"in flight: told of {told}, not of {sorted(groups)}"
    for status in world.response.in_flight_groups:
        if status.id in groups:
            for problem in _problems(world, groups[status.id], status):
                yield f"in flight: group {status.id}: {problem}"
    yield from _strange_redemptions(world)
    yield from _evicted_bindings(world, groups.values())


def _problems(
    world: World, group: snapshot_pb2.InFlightGroup, status: decision_pb2.InFlightStatus
) -> Iterator[str]:
    result, is_over = status.result, world.asked.now.ToNanoseconds() >= group.expire_time.ToNanoseconds()
    if is_over != (result == IN_FLIGHT_RESULT_LAPSED):
        yield f"its time is {'over' if is_over else 'not over'}, and it ends as {result}"
    if not status.reason.code or not status.reason.message:
        yield "it is given no reason"
    if status.holds and result != IN_FLIGHT_RESULT_KEPT:
        yield "room is kept for a group that is not kept"
    pods = {pod.uid: pod for pod in world.asked.pods}
    is_open = any(open_evictions(pods, group)) or any(open_bindings(pods, group))
    bound = [step for other in redeeming(world, group.id) for step in _bindings(other)]
    if result == IN_FLIGHT_RESULT_FINISHED and (is_open or bound):
        yield "it is called finished, and is not"
    if result == IN_FLIGHT_RESULT_REDEEMED and not bound:
        yield "it is called redeemed, and binds nobody"
    if bound and result not in GOES_ON:
        yield "it is dropped, and its promises are redeemed"
    if result == IN_FLIGHT_RESULT_CANCELLED and is_over:
        yield "it is called cancelled, and its time is over"
    yield from _changed(world, group, [*bound, *status.holds])


def _changed(
    world: World,
    group: snapshot_pb2.InFlightGroup,
    given: Iterable[decision_pb2.Hold | decision_pb2.Bind],
) -> Iterator[str]:
    """Room that was not promised. A promise is for its pod; if that is gone, for another of its pod group."""
    own = {hold.pod: hold.node for hold in group.holds if hold.pod in world.pods}
    rest = Counter((hold.pod_group, hold.node) for hold in group.holds if hold.pod not in world.pods)
    for step in given:
        if step.pod in own:
            if own[step.pod] != step.node:
                yield f"pod {step.pod} was promised {own[step.pod]} and is given {step.node}"
            continue
        place = (world.pods[step.pod].pod_group, step.node)
        if rest[place] <= 0:
            yield f"pod {step.pod} is given room on {step.node}, which nobody promised"
        rest[place] -= 1


def redeeming(world: World, group: str) -> Iterator[decision_pb2.DecisionGroup]:
    """Groups of the answer that keep promises of this one."""
    return (other for other in world.response.groups if other.in_flight_group == group)


def _bindings(group: decision_pb2.DecisionGroup) -> list[decision_pb2.Bind]:
    return [step.bind for step in group.decisions if step.WhichOneof("step") == "bind"]


def _strange_redemptions(world: World) -> Iterator[str]:
    known = {group.id for group in world.asked.in_flight_groups}
    for group in world.response.groups:
        if (group.action == REDEEM) != bool(group.in_flight_group):
            yield f"in flight: group {group.id} of {group.action} redeems {group.in_flight_group!r}"
        elif group.in_flight_group and group.in_flight_group not in known:
            yield f"in flight: group {group.id} redeems {group.in_flight_group}, which is not in the snapshot"
        kinds = {step.WhichOneof("step") for step in group.decisions}
        if group.action == REDEEM and not kinds <= {"bind", "patch"}:
            yield f"in flight: group {group.id} does more than to redeem a promise: {sorted(map(str, kinds))}"


def _evicted_bindings(world: World, groups: Iterable[snapshot_pb2.InFlightGroup]) -> Iterator[str]:
    bound = {step.pod for group in groups for step in group.bindings}
    waiting = {pod.uid for pod in world.asked.pods if pod.status == snapshot_pb2.POD_STATUS_PENDING}
    for pod in sorted(world.victims & bound & waiting):
        yield f"in flight: pod {pod} is evicted while its binding is under way"
