"""Resources that nodes offer are in the snapshot; pods that request other resources are not placed."""

from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from tenure.kubernetes.observe.nodes import MAX_NAMES
from tenure.v1 import snapshot_pb2 as pb

from tests.kubernetes.observe.cached_cluster import NOW, CachedCluster, node, pod, running

NIC = "example.com/nic"
WITH_NIC = {"cpu": "8", "pods": "10", NIC: "2"}


def pod_resources(world: CachedCluster) -> dict[str, tuple[str, dict[str, int]]]:
    """Return the blocked reason and the requests beyond cores of each pod."""
    snapshot = world.snapshot()
    shapes = {shape.id: dict(shape.requests.extended) for shape in snapshot.shapes}
    return {row.name: (row.blocked_reason, shapes[row.shape]) for row in snapshot.pods}


@pytest.mark.parametrize(
    ("requests", "blocked_reason"),
    [
        ({NIC: "2"}, ""),
        ({NIC: "3"}, ""),
        ({NIC: "1", "example.com/x": "1"}, "no node offers example.com/x"),
        ({"example.com/z": "1", "example.com/x": "1"}, "no node offers example.com/x, ..."),
        ({NIC: "1", "memory": "32Ti"}, "it requests more memory than any node has"),
    ],
)
def test_pod_that_requests_a_resource_of_no_node_is_blocked(
    requests: dict[str, str], blocked_reason: str
) -> None:
    world = CachedCluster()
    world.put("nodes", node(allocatable=WITH_NIC))
    world.put("pods", pod("waits", requests=requests))
    world.put("pods", running("runs", requests=requests))
    named = {NIC: int(requests[NIC])} if NIC in requests else {}
    assert pod_resources(world) == {"waits": (blocked_reason, named), "runs": ("", named)}


def test_restarting_device_plugin_blocks_no_pod() -> None:
    world = CachedCluster()
    world.put("nodes", node(allocatable={**WITH_NIC, NIC: "0"}))
    world.put("pods", pod("waits", requests={NIC: "1"}))
    assert pod_resources(world) == {"waits": ("", {NIC: 1})}


def rows(snapshot: pb.ClusterSnapshot) -> dict[str, Any]:
    return {name: MessageToDict(snapshot)[name] for name in ("nodes", "pods", "shapes")}


def test_added_and_removed_nodes_change_the_offered_resources() -> None:
    world = CachedCluster()
    world.put("nodes", node("plain", allocatable={"cpu": "8"}))
    world.put("pods", pod("waits", requests={NIC: "1"}))
    picture = world.builder()
    assert [row.blocked_reason for row in picture.snapshot(NOW).pods] == [f"no node offers {NIC}"]
    uid = world.put("nodes", node("other", allocatable=WITH_NIC))
    assert [row.blocked_reason for row in picture.delta(NOW).upserts.pods] == [""]
    assert rows(picture.snapshot(NOW)) == rows(world.snapshot())
    picture = world.builder()
    picture.snapshot(NOW)
    world.remove("nodes", uid)
    assert [row.blocked_reason for row in picture.delta(NOW).upserts.pods] == [f"no node offers {NIC}"]
    assert rows(picture.snapshot(NOW)) == rows(world.snapshot())


def test_first_names_up_to_the_limit_are_listed_in_any_arrival_order() -> None:
    world = CachedCluster()
    late = {f"example.com/late-{i:03}": "1" for i in range(MAX_NAMES)}
    world.put("nodes", node("late", allocatable={"cpu": "8", **late}))
    picture = world.builder()
    assert len(picture.snapshot(NOW).nodes[0].allocatable.extended) == MAX_NAMES
    assert not picture.warnings.active
    world.put("nodes", node("early", allocatable={"example.com/early": "1"}))
    delta = picture.delta(NOW)
    assert [len(row.allocatable.extended) for row in delta.upserts.nodes] == [1, MAX_NAMES - 1]
    assert [warned.subject for warned in picture.warnings.active] == ["Node late"]


def test_excessive_amount_is_bounded_with_a_warning() -> None:
    world = CachedCluster()
    world.put("nodes", node(allocatable={"memory": "9E"}))
    picture = world.builder()
    assert picture.snapshot(NOW).nodes[0].allocatable.memory_bytes == 2**45 - 1
    assert "memory" in picture.warnings.active[0].text
