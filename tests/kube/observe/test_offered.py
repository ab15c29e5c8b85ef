"""Resources that nodes offer are told, and who asks for others is not placed."""

from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from tenure.client.kubernetes.observe.offered import MOST_NAMES
from tenure.v1 import snapshot_pb2 as pb

from tests.kube.observe.world import NOW, World, node, pod, running

NIC = "example.com/nic"
WITH_NIC = {"cpu": "8", "pods": "10", NIC: "2"}


def told(world: World) -> dict[str, tuple[str, dict[str, int]]]:
    """Of each pod, what blocks it, and what it asks for beyond cores."""
    snapshot = world.snapshot()
    shapes = {shape.id: dict(shape.requests.extended) for shape in snapshot.shapes}
    return {row.name: (row.blocked_by, shapes[row.shape]) for row in snapshot.pods}


@pytest.mark.parametrize(
    ("requests", "blocked_by"),
    [
        ({NIC: "2"}, ""),
        ({NIC: "3"}, ""),
        ({NIC: "1", "example.com/x": "1"}, "no node offers example.com/x"),
        ({"example.com/z": "1", "example.com/x": "1"}, "no node offers example.com/x, ..."),
        ({NIC: "1", "memory": "32Ti"}, "it asks for more memory than any node has"),
    ],
)
def test_a_pod_that_asks_for_what_no_node_has_is_blocked(requests: dict[str, str], blocked_by: str) -> None:
    world = World()
    world.put("nodes", node(allocatable=WITH_NIC))
    world.put("pods", pod("waits", requests=requests))
    world.put("pods", running("runs", requests=requests))
    named = {NIC: int(requests[NIC])} if NIC in requests else {}
    assert told(world) == {"waits": (blocked_by, named), "runs": ("", named)}


def test_a_device_plugin_that_restarts_blocks_nobody() -> None:
    world = World()
    world.put("nodes", node(allocatable={**WITH_NIC, NIC: "0"}))
    world.put("pods", pod("waits", requests={NIC: "1"}))
    assert told(world) == {"waits": ("", {NIC: 1})}


def rows(snapshot: pb.ClusterSnapshot) -> dict[str, Any]:
    return {name: MessageToDict(snapshot)[name] for name in ("nodes", "pods", "shapes")}


def test_nodes_that_come_and_go_change_what_is_told() -> None:
    world = World()
    world.put("nodes", node("plain", allocatable={"cpu": "8"}))
    world.put("pods", pod("waits", requests={NIC: "1"}))
    picture = world.picture()
    assert [row.blocked_by for row in picture.snapshot(NOW).pods] == [f"no node offers {NIC}"]
    uid = world.put("nodes", node("other", allocatable=WITH_NIC))
    assert [row.blocked_by for row in picture.delta(NOW).upserts.pods] == [""]
    assert rows(picture.snapshot(NOW)) == rows(world.snapshot())
    picture = world.picture()
    picture.snapshot(NOW)
    world.remove("nodes", uid)
    assert [row.blocked_by for row in picture.delta(NOW).upserts.pods] == [f"no node offers {NIC}"]
    assert rows(picture.snapshot(NOW)) == rows(world.snapshot())


def test_of_too_many_names_the_first_are_told_whichever_came_first() -> None:
    world = World()
    late = {f"example.com/late-{i:03}": "1" for i in range(MOST_NAMES)}
    world.put("nodes", node("late", allocatable={"cpu": "8", **late}))
    picture = world.picture()
    assert len(picture.snapshot(NOW).nodes[0].allocatable.extended) == MOST_NAMES
    assert not picture.warnings.open
    world.put("nodes", node("early", allocatable={"example.com/early": "1"}))
    delta = picture.delta(NOW)
    assert [len(row.allocatable.extended) for row in delta.upserts.nodes] == [1, MOST_NAMES - 1]
    assert [warned.subject for warned in picture.warnings.open] == ["Node late"]


def test_an_amount_beyond_all_sense_is_bounded_and_told() -> None:
    world = World()
    world.put("nodes", node(allocatable={"memory": "9E"}))
    picture = world.picture()
    assert picture.snapshot(NOW).nodes[0].allocatable.memory_bytes == 2**45 - 1
    assert "memory" in picture.warnings.open[0].text
