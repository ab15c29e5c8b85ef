"""The checker reports in-flight groups without a status, changed reservations and repeated decisions."""

from collections.abc import Callable

import pytest
from tenure.v1 import decision_pb2 as pb

from tests.checker import verify
from tests.checker.detection import sound_response
from tests.checker.detection.mutations import (
    Break,
    Response,
    Snapshot,
    Table,
    drop_decisions,
    find,
    rows,
    set_fields,
)

IN_FLIGHT, CANCELLED = pb.IN_FLIGHT_GROUP_STATE_IN_FLIGHT, pb.IN_FLIGHT_GROUP_STATE_CANCELLED


def in_flight_cycle() -> tuple[Snapshot, Response]:
    """Build the next cycle: the reclaim group was accepted, and the snapshot shows none of its decisions."""
    snapshot, response = sound_response.snapshot(), sound_response.response()
    group = snapshot.in_flight_groups.add(id="g2", action="reclaim", beneficiary="new")
    group.expire_time.seconds = sound_response.NOW_S + 60
    status = response.in_flight_group_statuses.add(id="g2", state=IN_FLIGHT)
    status.reason.code, status.reason.message = pb.REASON_CODE_VICTIMS_EVICTED, "because"
    for i in range(2):
        group.evictions.add(pod=f"old-{i}", node="n1", pod_group="old")
        group.reservations.add(pod=f"new-{i}", node="n1", pod_group="new")
        status.reservations.add(pod=f"new-{i}", node="n1", pod_group="new")
    del response.groups[1]
    return snapshot, response


def find_violations(breaks: Break) -> list[str]:
    snapshot, response = in_flight_cycle()
    breaks(snapshot, response)
    return verify(snapshot, response)


def fulfilled(snapshot: Snapshot, response: Response) -> None:
    """Remove the victims from the snapshot and bind the pods of `new`."""
    gone = [pod for pod in snapshot.pods if pod.pod_group == "old"]
    for pod in gone:
        snapshot.pods.remove(pod)
    group = response.groups.add(id="r", action="fulfill", beneficiary="new", fulfills_group_id="g2")
    group.decisions.extend([sound_response.bind("new-0", "n1"), sound_response.bind("new-1", "n1")])
    group.decisions.append(sound_response.patch("new", "last_start_time"))
    status = response.in_flight_group_statuses[0]
    status.state = pb.IN_FLIGHT_GROUP_STATE_SUPERSEDED
    del status.reservations[:]
    set_fields(response.outcomes[0], kind=pb.OUTCOME_KIND_BOUND, reserved=0, bound=2)


def with_changes(breaks: Break) -> Break:
    """Apply a change after `fulfilled`."""

    def both(snapshot: Snapshot, response: Response) -> None:
        fulfilled(snapshot, response)
        breaks(snapshot, response)

    return both


def beside_terminating(snapshot: Snapshot, response: Response) -> None:
    """On the node of `new-0` a pod terminates that avoids it and has its port."""
    pod, shape = find(snapshot, "pods", "new-0"), snapshot.shapes.add()
    shape.CopyFrom(find(snapshot, "shapes", pod.shape))
    shape.id = pod.shape = "with-port"
    port = shape.host_ports.add(port=80)
    pod.labels["app"] = "x"
    guest = find(snapshot, "nodes", "n1").other_pods.add(count=1, terminating=True, host_ports=[port])
    guest.pod_anti_affinity.add(match_labels={"app": "x"}, topology_key="zone")


def provider_leaves(snapshot: Snapshot, response: Response, *others: str) -> None:
    """`new-0` is reserved near `stretch-1`, which is evicted, and near other pods."""
    for node in snapshot.nodes:
        node.labels["room"] = "r"
    for name in ("stretch-1", *others):
        find(snapshot, "pods", name).labels["app"] = "x"
    pod, shape = find(snapshot, "pods", "new-0"), snapshot.shapes.add()
    shape.CopyFrom(find(snapshot, "shapes", pod.shape))
    shape.id = pod.shape = "near"
    shape.pod_affinity.add(match_labels={"app": "x"}, topology_key="room")
    response.groups[0].decisions.append(sound_response.evict("stretch-1", "n2", "small"))


def far_pod_comes_first(snapshot: Snapshot, response: Response, far: str, *, leaves: bool) -> None:
    """`new-0` may be the first of its kind in its room, but for `far`. A pod near it leaves, or another."""
    node = snapshot.nodes.add()
    node.CopyFrom(find(snapshot, "nodes", "n2"))
    node.name = "n3"
    provider_leaves(snapshot, response, "new-0", "new-1", far)
    node.labels["room"] = "far"
    if not leaves:
        del find(snapshot, "pods", "stretch-1").labels["app"]
    evict = response.groups[0].decisions.pop()
    response.groups.add(id="g3", action="preempt", beneficiary="small").decisions.append(evict)
    holds = [*snapshot.in_flight_groups[0].reservations, *response.in_flight_group_statuses[0].reservations]
    for hold in [each for each in holds if each.pod == far]:
        hold.node = "n3"
    for step in response.groups[0].decisions:
        if step.bind.pod == far:
            step.bind.node = "n3"


@pytest.mark.parametrize("goes_on", [lambda s, r: None, fulfilled, beside_terminating])
def test_sound_response_has_no_violations(goes_on: Callable[[Snapshot, Response], object]) -> None:
    assert find_violations(goes_on) == []


BROKEN: Table = {
    "no verdict": (lambda s, r: r.in_flight_group_statuses.pop(), "in flight: told of [], not of ['g2']"),
    "kept beyond its time": (
        lambda s, r: set_fields(s.in_flight_groups[0].expire_time, seconds=sound_response.NOW_S),
        "group g2: its time is over",
    ),
    "no reason": (
        lambda s, r: r.in_flight_group_statuses[0].ClearField("reason"),
        "group g2: it is given no reason",
    ),
    "room kept for a group that is dropped": (
        lambda s, r: set_fields(r.in_flight_group_statuses[0], state=CANCELLED),
        "group g2: room is kept for a group that is not kept",
    ),
    "called finished": (
        lambda s, r: set_fields(r.in_flight_group_statuses[0], state=pb.IN_FLIGHT_GROUP_STATE_COMPLETED),
        "group g2: it is called finished, and is not",
    ),
    "called superseded": (
        lambda s, r: set_fields(r.in_flight_group_statuses[0], state=pb.IN_FLIGHT_GROUP_STATE_SUPERSEDED),
        "group g2: it is called superseded, and binds nobody",
    ),
    "another node": (
        lambda s, r: set_fields(r.in_flight_group_statuses[0].reservations[0], node="n2"),
        "pod new-0 was promised n1 and is given n2",
    ),
    "another pod": (
        lambda s, r: set_fields(r.in_flight_group_statuses[0].reservations[0], pod="small-0"),
        "pod small-0 is given room on n1, which nobody promised",
    ),
    "evicted twice": (
        lambda s, r: r.groups[0].decisions.append(sound_response.evict("old-0", "n1", "small")),
        "identity: pod old-0 is evicted from n1, but does not run there",
    ),
    "more kept than there is": (
        lambda s, r: set_fields(find(s, "nodes", "n1").allocatable, gpu_milli=3000),
        "capacity: node n1 after the evictions",
    ),
    "evicted while it is being bound": (
        lambda s, r: (
            s.in_flight_groups[0].bindings.add(pod="small-0", node="n2"),
            drop_decisions(r, "bind-small-0", "patch-small"),
            r.groups[0].decisions.append(sound_response.evict("small-0", "n2", "new")),
        ),
        "in flight: pod small-0 is evicted while its binding is under way",
    ),
    "made to wait for another reserved pod": (
        lambda s, r: provider_leaves(s, r, "new-1"),
        "affinity: pod new-0 on node n1 comes to wait for a pod that has not started",
    ),
    "made to wait, as one far from it may start first": (
        lambda s, r: far_pod_comes_first(s, r, "new-1", leaves=True),
        "affinity: pod new-0 on node n1 comes to wait for a pod that has not started",
    ),
    "fulfilled and dropped": (
        with_changes(lambda s, r: set_fields(r.in_flight_group_statuses[0], state=CANCELLED)),
        "group g2: it is dropped, and its reservations are fulfilled",
    ),
    "fulfills a group that nobody sent": (
        with_changes(lambda s, r: set_fields(r.groups[1], fulfills_group_id="g9")),
        "in flight: group r fulfills g9, which the snapshot lacks",
    ),
    "fulfills by another action": (
        with_changes(lambda s, r: set_fields(r.groups[1], action="allocate")),
        "in flight: group r of allocate fulfills 'g2'",
    ),
    "fulfills and evicts": (
        with_changes(
            lambda s, r: r.groups[1].decisions.append(sound_response.evict("stretch-0", "n2", "new"))
        ),
        "in flight: group r does more than fulfill",
    ),
    "fulfills half of a gang": (
        with_changes(lambda s, r: drop_decisions(r, "bind-new-1")),
        "gang: pod group new is placed without its minimum",
    ),
}


@pytest.mark.parametrize(("breaks", "violation"), rows(BROKEN))
def test_broken_reservation_is_reported(breaks: Break, violation: str) -> None:
    lines = find_violations(breaks)
    assert any(violation in line for line in lines), lines


@pytest.mark.parametrize("other", ["stretch-0", "small-0"], ids=["it runs", "it is bound"])
def test_reservation_near_another_pod_that_runs_is_not_reported(other: str) -> None:
    lines = find_violations(lambda s, r: provider_leaves(s, r, "new-1", other))
    assert [line for line in lines if line.startswith("affinity")] == []


@pytest.mark.parametrize("far", ["new-1", "small-0"], ids=["it has a reservation", "it is bound"])
def test_no_eviction_is_to_blame_for_a_pod_that_starts_far_from_a_reservation(far: str) -> None:
    lines = find_violations(lambda s, r: far_pod_comes_first(s, r, far, leaves=False))
    assert [line for line in lines if "comes to wait" in line] == []
