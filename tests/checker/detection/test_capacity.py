"""The checker reports overcommitment of nodes and of shared devices."""

import pytest
from tenure.v1 import snapshot_pb2

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
    find_decision,
    rows,
    set_fields,
)

CAPACITY: Table = {
    "cpu for a binding": (
        lambda s, r: set_fields(find(s, "nodes", "n2").allocatable, cpu_milli=2999),
        "capacity: node n2 now: 3000 cpu used, 2999 there",
    ),
    "memory for a binding": (
        lambda s, r: set_fields(find(s, "nodes", "n2").allocatable, memory_bytes=2 * sound_response.GIB),
        "capacity: node n2 now: 3221225472 memory used",
    ),
    "pod slots": (
        lambda s, r: set_fields(find(s, "nodes", "n2").allocatable, pods=2),
        "capacity: node n2 now: 3 pods used, 2 there",
    ),
    "an extended resource": (
        lambda s, r: find(s, "shapes", "one").requests.extended.update({"example.com/nic": 1}),
        "capacity: node n2 now: 3 example.com/nic used, 0 there",
    ),
    "GPUs of a releasing pod are not free for a binding": (
        lambda s, r: (
            set_fields(find(s, "nodes", "n2").allocatable, gpu_milli=2000),
            set_fields(find(s, "pods", "stretch-0"), status=snapshot_pb2.POD_STATUS_RELEASING),
        ),
        "capacity: node n2 now: 3 gpu devices used, 2 there",
    ),
    "GPUs of a victim are not free for a binding": (
        lambda s, r: set_fields(find_decision(r, "bind-small-0").bind, node="n1"),
        "capacity: node n1 now: 5 gpu devices used, 4 there",
    ),
    "a promise without a victim": (
        lambda s, r: drop_decisions(r, "evict-old-0"),
        "capacity: node n1 after the evictions: 6 gpu devices used, 4 there",
    ),
    "a pod that is stuck in termination keeps its room": (
        lambda s, r: (
            drop_decisions(r, "evict-old-0"),
            set_fields(find(s, "pods", "old-0"), status=snapshot_pb2.POD_STATUS_STUCK_IN_RELEASING),
        ),
        "capacity: node n1 after the evictions: 6 gpu devices used",
    ),
}


def _share(snapshot: Snapshot, response: Response, **gpu: int) -> object:
    """Change the pods of shape `one` to request a share of one device; two of them run on device `d`."""
    request = find(snapshot, "shapes", "one").gpu
    request.Clear()
    set_fields(request, **({"devices": 1} | gpu))
    for pod in ("stretch-0", "stretch-1"):
        find(snapshot, "pods", pod).gpu_groups.append("d")
    find_decision(response, "bind-small-0").bind.gpu_groups.append("d")
    return response


SHARED: Table = {
    "portions of more than a device": (
        lambda s, r: _share(s, r, portion_milli=340),
        "capacity: node n2 now: device d is given away 1020 milli",
    ),
    "memory of more than a device": (
        lambda s, r: _share(s, r, memory_mib=334),
        "capacity: node n2 now: device d is given away 1002 milli",
    ),
    "more devices opened than there are": (
        lambda s, r: (
            _share(s, r, portion_milli=100),
            set_fields(find(s, "nodes", "n2").allocatable, gpu_milli=1000),
            find(s, "pods", "stretch-1").gpu_groups.__setitem__(0, "e"),
        ),
        "capacity: node n2 now: 2 gpu devices used, 1 there",
    ),
    "no device named": (
        lambda s, r: (
            _share(s, r, portion_milli=100),
            find_decision(r, "bind-small-0").bind.gpu_groups.pop(),
        ),
        "constraint: pod small-0 on node n2: 1 distinct devices are to be named, got []",
    ),
    "memory unknown": (
        lambda s, r: (_share(s, r, memory_mib=1), set_fields(find(s, "nodes", "n2"), gpu_memory_mib=0)),
        "the request is sized by GPU memory, which is unknown here",
    ),
}


HARMLESS: dict[str, Break] = {
    "shares that fill a device": lambda s, r: _share(s, r, portion_milli=333),
    "room of a pod that leaves, for a promise": lambda s, r: (
        drop_decisions(r, "evict-old-0"),
        set_fields(find(s, "pods", "old-0"), status=snapshot_pb2.POD_STATUS_RELEASING),
        set_fields(find(s, "pod_groups", "old"), min_member=1),
    ),
    "over capacity before, and nothing added": lambda s, r: (
        drop_decisions(r, "bind-small-0", "patch-small"),
        r.groups.pop(0),
        set_fields(r.outcomes[1], bound=0, pending=1),
        set_fields(find(s, "nodes", "n2").allocatable, cpu_milli=1),
    ),
}


@pytest.mark.parametrize(("breaks", "violation"), rows(CAPACITY))
def test_overcommitted_node_is_reported(breaks: Break, violation: str) -> None:
    assert_reported(breaks, violation)


@pytest.mark.parametrize(("breaks", "violation"), rows(SHARED))
def test_overcommitted_shared_device_is_reported(breaks: Break, violation: str) -> None:
    assert_reported(breaks, violation)


@pytest.mark.parametrize("changes", HARMLESS.values(), ids=HARMLESS)
def test_fitting_usage_is_not_reported(changes: Break) -> None:
    assert_harmless(changes)
