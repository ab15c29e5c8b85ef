"""The checker reports host ports in use, uneven spreads, split topologies, and pods that wait in vain."""

from typing import Any

import pytest
from tenure.v1 import snapshot_pb2

from tests.checker import verify
from tests.checker.detection import sound_response
from tests.checker.detection.mutations import (
    Break,
    Response,
    Snapshot,
    Table,
    assert_harmless,
    assert_reported,
    drop_decisions,
    find,
    rows,
)
from tests.checker.detection.sound_response import reserve

RELEASING = snapshot_pb2.POD_STATUS_RELEASING


def _own_shape(snapshot: Snapshot, pod: str) -> snapshot_pb2.PodShape:
    """Give a pod a shape of its own."""
    row = find(snapshot, "pods", pod)
    shape = snapshot.shapes.add()
    shape.CopyFrom(find(snapshot, "shapes", row.shape))
    shape.id = row.shape = f"of-{pod}"
    return shape


def _ports(snapshot: Snapshot, *pods: str, ip: str = "") -> None:
    """All these pods use port 80; the first one of an address."""
    for pod in pods:
        _own_shape(snapshot, pod).host_ports.add(port=80, ip=ip if pod == pods[0] else "")


def _spread(snapshot: Snapshot, pod: str, *counted: str, **fields: Any) -> None:
    """A topology spread over the two zones, of a pod that it counts together with these."""
    shape = _own_shape(snapshot, pod)
    shape.topology_spread.add(topology_key="zone", max_skew=1, match_labels={"app": "x"}, **fields)
    for name in (pod, *counted):
        find(snapshot, "pods", name).labels["app"] = "x"


def _topology(snapshot: Snapshot, pod_group: str, level: str) -> None:
    snapshot.topologies.add(name="t", levels=["zone"])
    constraint = find(snapshot, "pod_groups", pod_group).topology_constraint
    constraint.topology, constraint.required_level = "t", level


def _guest(snapshot: Snapshot, node: str, *, terminating: bool = False, **fields: Any) -> None:
    find(snapshot, "nodes", node).other_pods.add(count=1, terminating=terminating, **fields)


def _near(key: str, **labels: str) -> snapshot_pb2.PodAffinityTerm:
    return snapshot_pb2.PodAffinityTerm(match_labels=labels, topology_key=key)


def _wait_for_each_other(snapshot: Snapshot) -> None:
    """Both reserved pods need the other one, and old pods of that kind stay elsewhere."""
    for pod in ("new-0", "new-1", "stretch-0"):
        find(snapshot, "pods", pod).labels["app"] = "x"
    for pod in ("new-0", "new-1"):
        _own_shape(snapshot, pod).pod_affinity.append(_near("zone", app="x"))


def _stays_without(snapshot: Snapshot, *of_its_app: str) -> None:
    """A pod on n1 requires a pod of an app; `old-0`, which leaves, and these are of that app."""
    pod = snapshot.pods.add()
    pod.CopyFrom(find(snapshot, "pods", "stretch-0"))
    pod.uid, pod.node = "stretch-2", "n1"
    shape = _own_shape(snapshot, "stretch-2")
    shape.ClearField("gpu")
    shape.pod_affinity.append(_near("zone", app="x"))
    for name in ("old-0", *of_its_app):
        find(snapshot, "pods", name).labels["app"] = "x"


def _move(response: Response) -> None:
    """`old-0` is placed again, on n2."""
    response.groups[1].decisions.append(reserve("old-0", "n2"))


BROKEN: Table = {
    "a port of a pod that runs": (
        lambda s, r: _ports(s, "small-0", "stretch-0"),
        "pod small-0 on node n2 now: 80 is in use",
    ),
    "a port of a pod that terminates": (
        lambda s, r: (
            _ports(s, "small-0", "stretch-0"),
            setattr(find(s, "pods", "stretch-0"), "status", RELEASING),
        ),
        "pod small-0 on node n2 end: 80 is in use",
    ),
    "a port of two reserved pods": (
        lambda s, r: _ports(s, "new-0", "new-1"),
        "pod new-0 on node n1 end: 80 is in use",
    ),
    "a port of one address and of all": (
        lambda s, r: _ports(s, "small-0", "stretch-0", ip="10.0.0.1"),
        "80 is in use",
    ),
    "a port of a pod that is listed with its node": (
        lambda s, r: (
            _ports(s, "small-0"),
            _guest(s, "n2", host_ports=[snapshot_pb2.HostPort(port=80)]),
        ),
        "80 is in use",
    ),
    "an uneven spread of a bound pod": (
        lambda s, r: _spread(s, "small-0", "stretch-0", "stretch-1"),
        "spread: pod small-0 on node n2: 3 pods in",
    ),
    "an uneven spread of reserved pods": (
        lambda s, r: (_spread(s, "new-0", "new-1"), _spread(s, "new-1")),
        "spread: pod new-0 on node n1: 2 pods in",
    ),
    "a spread in a domain without the label": (
        lambda s, r: (_spread(s, "small-0"), find(s, "nodes", "n2").labels.pop("zone")),
        "spread: pod small-0 on node n2 is in no domain of zone",
    ),
    "a spread with too few domains": (
        lambda s, r: _spread(s, "small-0", "stretch-0", "new-0", "new-1", min_domains=3),
        "spread: pod small-0 on node n2: 2 pods in",
    ),
    "a spread that a pod listed with its node fills": (
        lambda s, r: (_spread(s, "small-0", "stretch-0"), _guest(s, "n2", labels={"app": "x"})),
        "spread: pod small-0 on node n2: 3 pods in",
    ),
    "a pod group in two domains": (
        lambda s, r: (
            _topology(s, "new", "zone"),
            setattr(r.groups[1].decisions[3].reserve, "node", "n2"),
        ),
        "topology: pod group new  is in 2 domains",
    ),
    "a pod that a pod listed with its node avoids": (
        lambda s, r: (
            find(s, "pods", "small-0").labels.update({"app": "x"}),
            _guest(s, "n2", terminating=True, pod_anti_affinity=[_near("zone", app="x")]),
        ),
        "small-0 on node n2 is avoided by a pod of its node",
    ),
    "a pod moves away from one that requires it": (
        lambda s, r: (_stays_without(s), _move(r)),
        "pod old-0 moves away from stretch-2, which requires it",
    ),
    "a pod moves away from one of its own app": (
        lambda s, r: (_stays_without(s, "stretch-2"), _move(r)),
        "pod old-0 moves away from stretch-2, which requires it",
    ),
    "pods that wait for each other": (
        lambda s, r: _wait_for_each_other(s),
        "pod new-0 on node n1 waits for pods that wait for it",
    ),
}

SOUND: dict[str, Break] = {
    "a port of a victim": lambda s, r: _ports(s, "new-0", "old-0"),
    "a port on another node": lambda s, r: _ports(s, "small-0", "old-0"),
    "an even spread": lambda s, r: _spread(s, "small-0", "new-0"),
    "a spread that a terminating pod would exceed": lambda s, r: (
        _spread(s, "small-0", "stretch-0", "new-0"),
        setattr(find(s, "pods", "stretch-0"), "status", RELEASING),
    ),
    "a pod leaves one that requires it": lambda s, r: _stays_without(s),
    "a pod group in one domain": lambda s, r: _topology(s, "new", "zone"),
}


@pytest.mark.parametrize(("breaks", "violation"), rows(BROKEN))
def test_broken_relation_is_reported(breaks: Break, violation: str) -> None:
    assert_reported(breaks, violation)


@pytest.mark.parametrize("changes", SOUND.values(), ids=SOUND)
def test_kept_relation_is_not_reported(changes: Break) -> None:
    assert_harmless(changes)


@pytest.mark.parametrize(
    ("group", "is_reported"),
    [
        pytest.param(0, True, id="evicted before"),
        pytest.param(1, True, id="evicted by the same decision"),
        pytest.param(2, False, id="evicted later"),
    ],
)
def test_pod_may_move_while_another_one_is_near(group: int, is_reported: bool) -> None:
    """Beside `old-0`, which moves, `old-1` is near the pod that requires one of them."""
    snapshot, response = sound_response.snapshot(), sound_response.response()
    _stays_without(snapshot, "old-1")
    _move(response)
    drop_decisions(response, "evict-old-1")
    response.groups.add(id="g3", action="preempt", beneficiary="new")
    response.groups[group].decisions.append(sound_response.evict("old-1", "n1", "new"))
    found = [line for line in verify(snapshot, response) if "moves away" in line]
    assert bool(found) is is_reported
