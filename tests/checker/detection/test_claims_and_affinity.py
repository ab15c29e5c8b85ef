"""The checker reports violations of resource claims, NUMA zones and pod affinity."""

from typing import Any

import pytest
from tenure.v1 import resources_pb2, snapshot_pb2

from tests.checker.detection.mutations import (
    Break,
    Response,
    Snapshot,
    Table,
    assert_harmless,
    assert_reported,
    find,
    find_decision,
    rows,
    set_fields,
)

GPU, NIC = "gpu.example.com", "nic.example.com"


def _claim(snapshot: Snapshot, *pods: str, device_class: str = NIC, count: int = 1, **fields: Any) -> None:
    """Add a claim that these pods use. Both nodes have four devices of either class."""
    for node in snapshot.nodes:
        node.devices.update({GPU: 4, NIC: 4})
    requests = [snapshot_pb2.DeviceRequest(device_class=device_class, count=count)]
    snapshot.resource_claims.add(id="c", requests=requests, **fields)
    for pod in pods:
        find(snapshot, "pods", pod).resource_claims.append("c")


def _zone(snapshot: Snapshot, response: Response, cpu_milli: int, available: int | None = None) -> None:
    """Assign cores of a NUMA zone to pod small-0. The zone has four cores; stretch-0 uses one of them."""
    node = find(snapshot, "nodes", "n2")
    zone = node.numa_zones.add(id="z", allocatable=resources_pb2.Resources(cpu_milli=4000))
    if available is not None:
        zone.available.cpu_milli = available
    one = resources_pb2.Resources(cpu_milli=1000)
    find(snapshot, "pods", "stretch-0").numa_placement.add(zone="z", amounts=one)
    placement = find_decision(response, "bind-small-0").bind.numa_placement
    placement.add(zone="z", amounts=resources_pb2.Resources(cpu_milli=cpu_milli))


def _near(snapshot: Snapshot, kind: str, pod: str, key: str = "zone", owner: str = "small-0") -> None:
    """Add a term to the shape of a pod that selects only this pod."""
    find(snapshot, "pods", pod).labels["name"] = pod
    shape = snapshot_pb2.PodShape()
    shape.CopyFrom(find(snapshot, "shapes", find(snapshot, "pods", owner).shape))
    shape.id = "picky"
    getattr(shape, kind).add(match_labels={"name": pod}, topology_key=key)
    snapshot.shapes.append(shape)
    find(snapshot, "pods", owner).shape = "picky"


def _terminating(snapshot: Snapshot, pod: str) -> None:
    find(snapshot, "pods", pod).status = snapshot_pb2.POD_STATUS_RELEASING


BROKEN: Table = {
    "a claim on two nodes": (
        lambda s, r: _claim(s, "small-0", "old-0"),
        "c now: it is used on 2 nodes: n1, n2",
    ),
    "a claim that is in use elsewhere": (
        lambda s, r: _claim(s, "small-0", node="n1"),
        "c now: it is used on 2 nodes: n1, n2",
    ),
    "too many consumers": (lambda s, r: _claim(s, "small-0", other_consumers=256), "c now: 257 pods use it"),
    "more devices than there are": (
        lambda s, r: _claim(s, "small-0", count=5),
        "n2 now: 5 devices of nic.example.com used, 4 there",
    ),
    "more GPUs than there are": (
        lambda s, r: _claim(s, "small-0", device_class=GPU, count=9, from_template=True),
        "n2 now: 12 gpu devices used, 8 there",
    ),
    "a claim of another queue": (
        lambda s, r: _claim(s, "small-0", device_class=GPU, queue="b"),
        "pod small-0 of queue a uses c of queue 'b'",
    ),
    "GPUs of a claim over the limit": (
        lambda s, r: (
            _claim(s, "small-0", device_class=GPU, queue="a", count=2),
            set_fields(find(s, "queues", "a").gpu_milli, limit=6000),
        ),
        "use of gpu in a is 7000, over its limit of 6000",
    ),
    "a blocked pod": (
        lambda s, r: set_fields(find(s, "pods", "small-0"), blocked_reason="no volume"),
        "pod small-0 is placed though it is blocked by: no volume",
    ),
    "a zone is too small": (lambda s, r: _zone(s, r, 3001), "zone z of node n2 now: 3001 given, 3000 left"),
    "a zone is in use": (
        lambda s, r: _zone(s, r, 2000, available=1999),
        "zone z of node n2 now: 2000 given, 1999 left",
    ),
    "away from whom it wants": (
        lambda s, r: _near(s, "pod_affinity", "old-0"),
        "small-0 on node n2 is far from a pod it must be near to",
    ),
    "on a node without the label": (
        lambda s, r: _near(s, "pod_affinity", "stretch-0", key="rack"),
        "small-0 on node n2 is far from a pod it must be near to",
    ),
    "near whom it avoids": (
        lambda s, r: _near(s, "pod_anti_affinity", "stretch-0"),
        "small-0 on node n2 avoids a pod that is near",
    ),
    "near a pod that terminates": (
        lambda s, r: (_near(s, "pod_affinity", "stretch-0"), _terminating(s, "stretch-0")),
        "small-0 on node n2 is far from a pod it must be near to",
    ),
    "near its own victim": (
        lambda s, r: _near(s, "pod_affinity", "old-0", owner="new-0"),
        "new-0 on node n1 is far from a pod it must be near to",
    ),
    "away from a pod that terminates": (
        lambda s, r: (_near(s, "pod_anti_affinity", "stretch-0"), _terminating(s, "stretch-0")),
        "small-0 on node n2 avoids a pod that is near",
    ),
    "near who avoids it": (
        lambda s, r: (
            find(s, "pods", "small-0").labels.update({"name": "small"}),
            find(s, "shapes", "one").pod_anti_affinity.add(
                match_labels={"name": "small"}, topology_key="zone"
            ),
        ),
        "small-0 on node n2 is avoided by stretch-0",
    ),
}

SOUND: dict[str, Break] = {
    "pods of one node share a claim": lambda s, r: _claim(s, "small-0", "stretch-0", count=4),
    "a claim counts once": lambda s, r: (
        _claim(s, "new-0", "new-1", device_class=GPU, queue="a", count=1),
        set_fields(find(s, "queues", "a").gpu_milli, limit=6000),
    ),
    "a zone has room": lambda s, r: _zone(s, r, 3000),
    "near whom it wants": lambda s, r: _near(s, "pod_affinity", "stretch-0"),
    "away from whom it avoids": lambda s, r: _near(s, "pod_anti_affinity", "old-0"),
    "away from its own victim": lambda s, r: _near(s, "pod_anti_affinity", "old-0", owner="new-0"),
    "the first of those who want themselves": lambda s, r: _near(s, "pod_affinity", "small-0"),
}


@pytest.mark.parametrize(("breaks", "violation"), rows(BROKEN))
def test_misuse_is_reported(breaks: Break, violation: str) -> None:
    assert_reported(breaks, violation)


@pytest.mark.parametrize("changes", SOUND.values(), ids=SOUND)
def test_proper_use_is_not_reported(changes: Break) -> None:
    assert_harmless(changes)
