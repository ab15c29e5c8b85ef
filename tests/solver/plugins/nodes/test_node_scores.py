"""Node scores: the score of each plugin, and the selected node."""

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.framework.session import Session
from tenure.solver.model.placement import TaskStatus
from tenure.solver.plugins.nodes.node_scores import GpuPack, GpuSpread, NodePlacement
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder, statuses
from tenure.solver.testing.options import PodOptions

from tests.solver.sessions import open_session, plugin_of


def nodes() -> ClusterBuilder:
    """Free GPUs: a 1 of 4, b 3 of 4. c has no GPUs and the most CPUs."""
    builder = ClusterBuilder().queue("q", quota=-1)
    builder.node("a", gpus=4, cpus=10).node("b", gpus=4, cpus=20).node("c", cpus=40)
    return builder.running("x", queue="q", gpus=3, node="a").running("y", queue="q", gpus=1, node="b")


def session(**pod: object) -> Session:
    return open_session(nodes().pending("job", queue="q", **pod).build())  # type: ignore[arg-type]


def scores(found: Session, plugin: object) -> list[float]:
    return [round(score, 3) for score in plugin.scores(0, [0, 1, 2])]  # type: ignore[attr-defined]


PLACEMENT = {
    "R3.51 binpack: the fullest, and 0 without GPUs": ({"gpus": 1}, {}, [9, 0, 0]),
    "R3.51 binpack of CPUs": ({}, {}, [9, 6.097, 0]),
    "R3.52 spread: free part of the node": ({"gpus": 1}, {"gpu": "spread"}, [0.25, 0.75, 0]),
    "R3.52 spread of CPUs": ({}, {"cpu": "spread"}, [0.9, 0.95, 1]),
    "R3.56 shares are placed by whole GPUs": ({"gpus": 0.5}, {}, [9, 0, 0]),
}


@pytest.mark.parametrize(("pod", "arguments", "expected"), PLACEMENT.values(), ids=PLACEMENT)
def test_node_placement_scores_match(
    pod: PodOptions, arguments: dict[str, str], expected: list[float]
) -> None:
    found = session(**pod)
    assert scores(found, NodePlacement(found.plugin_context(), arguments)) == expected


def test_all_nodes_equally_free_score_the_most_r3_51() -> None:
    builder = ClusterBuilder().node("a", gpus=2).node("b", gpus=2).queue("q").pending("j", queue="q", gpus=1)
    found = open_session(builder.build())
    assert list(NodePlacement(found.plugin_context(), {}).scores(0, [0, 1])) == [9, 9]


def test_nodes_without_free_gpu_score_zero_r3_51() -> None:
    builder = ClusterBuilder().node("a", gpus=1).queue("q").pending("j", queue="q", gpus=1)
    found = open_session(builder.running("x", queue="q", gpus=1, node="a").build())
    assert list(NodePlacement(found.plugin_context(), {}).scores(0, [0])) == [0]


BY_NAME = {
    "R3.54 nodes on which it fits now": ("nodeavailability", {"gpus": 2}, [0, 1000, 0]),
    "R3.53 CPU-only pods on CPU-only nodes": ("resourcetype", {}, [0, 0, 10]),
    "R3.53 others have no such place": ("resourcetype", {"gpus": 1}, [0, 0, 0]),
    "R3.57 the nominated node": ("nominatednode", {"nominated_node": "b"}, [0, 10_000_000, 0]),
    "R3.57 nobody nominated": ("nominatednode", {}, [0, 0, 0]),
}


@pytest.mark.parametrize(("plugin", "pod", "expected"), BY_NAME.values(), ids=BY_NAME)
def test_node_scores_match(plugin: str, pod: PodOptions, expected: list[float]) -> None:
    found = session(**pod)
    assert scores(found, plugin_of(found, plugin)) == expected


SHARING = {
    "R3.55 a device with room for the share": ({"gpus": 0.4}, [0, 10_000, 0]),
    "R3.55 no device has room": ({"gpus": 0.6}, [0, 0, 0]),
    "R3.55 a CPU-only pod asks for no GPU memory": ({}, [0, 10_000, 0]),
    "R3.55 whole GPUs share nothing": ({"gpus": 1}, [0, 0, 0]),
}


@pytest.mark.parametrize(("pod", "expected"), SHARING.values(), ids=SHARING)
def test_gpu_sharing_scores_match(pod: PodOptions, expected: list[float]) -> None:
    """Half of a device is in use on node b."""
    builder = nodes().pending("job", queue="q", **pod).running("z", queue="q", gpus=0.5, node="b")
    found = open_session(builder.build())
    assert scores(found, plugin_of(found, "gpusharingorder")) == expected


def test_devices_are_packed_or_spread_r3_45() -> None:
    found = open_session(ClusterBuilder().build())
    pack, spread = GpuPack(found.plugin_context(), {}), GpuSpread(found.plugin_context(), {})
    assert (pack.gpu_score(0.0), pack.gpu_score(0.7)) == (0.0, 0.7)
    assert (spread.gpu_score(0.0), spread.gpu_score(0.25)) == (1.0, 0.75)


PLACES: dict[str, tuple[PodOptions, str]] = {
    "R3.51 the fullest node": ({"gpus": 1}, "a"),
    "R3.44 a node that can start it now": ({"gpus": 3}, "b"),
    "R3.53 a CPU-only node, however free": ({}, "c"),
    "R3.50 nomination beats all": ({"gpus": 1, "nominated_node": "b"}, "b"),
}


@pytest.mark.parametrize(("pod", "expected"), PLACES.values(), ids=PLACES)
def test_pod_is_bound_to_the_best_node_r3_42(pod: PodOptions, expected: str) -> None:
    cluster = nodes().pending("job", queue="q", **pod).build()
    state = statuses(cluster, answer(cluster, default_profile()))["job-0"]
    assert state == (TaskStatus.BINDING, expected)


def test_equal_nodes_are_ordered_by_name_as_text_r3_41() -> None:
    builder = ClusterBuilder().node("node2", gpus=1).node("node10", gpus=1).queue("q")
    cluster = builder.pending("job", queue="q", gpus=1).build()
    assert statuses(cluster, answer(cluster, default_profile()))["job-0"].node == "node10"
